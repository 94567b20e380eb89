package reflector

import (
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxRetryAfter bounds the pause that a server may ask for: a mistaken one must not
// end the reading for good.
const maxRetryAfter = time.Hour

// retryAfter is the pause that the server has asked for with err, and whether it
// has.
func retryAfter(err error) (pause time.Duration, asked bool) {
	var header *headerError
	if errors.As(err, &header) {
		return header.pause, true
	}
	seconds, asked := apierrors.SuggestsClientDelay(err)
	return min(max(time.Duration(seconds)*time.Second, 0), maxRetryAfter), asked
}

// headerError is an error whose answer has named a pause in its header alone.
type headerError struct {
	error
	pause time.Duration
}

func (e *headerError) Unwrap() error { return e.error }

// heard keeps what the header of an answer has asked for. Any goroutine may tell.
type heard struct{ pause atomic.Int64 }

func (h *heard) tell(pause time.Duration) { h.pause.Store(int64(pause)) }

// in returns err with the pause of the header, if the status does not name one.
func (h *heard) in(err error) error {
	pause := time.Duration(h.pause.Load())
	if _, asked := retryAfter(err); err == nil || asked || pause <= 0 {
		return err
	}
	return &headerError{err, min(pause, maxRetryAfter)}
}

// KeepRetryAfter returns a transport over next that lets a reflector honour the
// header Retry-After of an answer with 429 or 5xx. The REST client of client-go
// drops the header where the body of the answer is a Status: then only
// details.retryAfterSeconds counts, which kube-apiserver sets where it sets the
// header, and a proxy or another server may not. The informers of a factory have this transport; for a
// client of your own, give it to its config:
//
//	config.Wrap(reflector.KeepRetryAfter)
//
// The header may hold seconds or a date. A nil next is http.DefaultTransport.
func KeepRetryAfter(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &retryAfterTransport{next}
}

type retryAfterTransport struct{ next http.RoundTripper }

// RoundTrip sends a request, and tells the trace in its context of the header.
func (t *retryAfterTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusTooManyRequests && response.StatusCode < http.StatusInternalServerError {
		return response, err
	}
	tell := SourceTraceFrom(request.Context()).RetryAfter
	if pause, ok := parseRetryAfter(response.Header.Get("Retry-After")); ok && tell != nil {
		tell(pause)
	}
	return response, nil
}

// WrappedRoundTripper is for the functions of apimachinery that look for the
// transport below.
func (t *retryAfterTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// parseRetryAfter reads the header (RFC 9110, section 10.2.3).
func parseRetryAfter(header string) (pause time.Duration, ok bool) {
	if seconds, err := strconv.Atoi(header); err == nil {
		return time.Duration(min(max(seconds, 0), int(maxRetryAfter/time.Second))) * time.Second, true
	}
	at, err := http.ParseTime(header)
	return time.Until(at), err == nil
}
