package endpoints

import (
	"net/http"
	"strconv"
)

// recorder is a ResponseWriter that remembers the code of the answer.
type recorder struct {
	http.ResponseWriter
	code int            // 0 until the answer has begun
	done func(code int) // told of the code; may be nil
}

// WriteHeader begins the answer.
func (w *recorder) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
		if w.done != nil {
			w.done(code)
		}
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write sends a part of the body.
func (w *recorder) Write(b []byte) (int, error) {
	if w.code == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// send sends a whole answer.
func (w *recorder) send(code int, media string, data []byte) {
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(code)
	// An error means that the client has gone; there is nobody to tell.
	_, _ = w.Write(data)
}
