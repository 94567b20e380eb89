package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// The modes of the server, which are the first part of its paths.
const (
	// modeStream serves streaming lists, and no others: a client that falls
	// back to a list must not pass for one that streams.
	modeStream = "stream"
	// modeList refuses streaming lists. Like a watch cache, it answers a list
	// at resource version 0 whole, whatever limit it has.
	modeList = "list"
	// modePaged refuses streaming lists and heeds every limit; it must be
	// pageSize.
	modePaged = "paged"

	// pageSize is what both sides ask for by default.
	pageSize = 500
)

// wire is the whole collection in one format, encoded once.
type wire struct {
	encoding encoding
	// items has all items of a list one after the other; ends[i] is where
	// the i-th ends.
	items []byte
	ends  []int
	// stream has the frames of a streaming list: one for each pod, then the
	// bookmark.
	stream [][]byte
}

func newWire(e encoding, pods int) (*wire, error) {
	w := &wire{encoding: e}
	for i := range pods {
		pod := makePod(i)
		item, err := e.item(pod)
		if err != nil {
			return nil, err
		}
		w.items = append(w.items, item...)
		w.ends = append(w.ends, len(w.items))
		frame, err := e.event("ADDED", pod)
		if err != nil {
			return nil, err
		}
		w.stream = append(w.stream, frame)
	}
	end, err := e.event("BOOKMARK", initialEventsEnd(pods))
	w.stream = append(w.stream, end)
	return w, err
}

// initialEventsEnd is the object of the bookmark that ends a streaming list.
func initialEventsEnd(pods int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: strconv.Itoa(pods),
		Annotations:     map[string]string{metav1.InitialEventsAnnotationKey: "true"},
	}}
}

// part returns the items from begin up to end.
func (w *wire) part(begin, end int) []byte {
	from := 0
	if begin > 0 {
		from = w.ends[begin-1]
	}
	if end == begin {
		return nil
	}
	return w.items[from:w.ends[end-1]]
}

// server answers list, watch and discovery of pods from encoded bytes. Nothing
// in it ever changes.
type server struct {
	pods        int
	proto, text *wire
}

func newServer(pods int, withJSON bool) (*server, error) {
	s := &server{pods: pods}
	var err error
	if s.proto, err = newWire(protobufFormat{}, pods); err != nil {
		return nil, err
	}
	if withJSON {
		s.text, err = newWire(jsonFormat{}, pods)
	}
	return s, err
}

// serve is the job of the server's process: it prints its URL and serves until
// standard input ends.
func serve(j job) error {
	s, err := newServer(j.Pods, j.JSON)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	h := &http.Server{Handler: s.handler()}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		ended <- errors.Join(err, h.Close())
	}()
	if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{mode}/api/v1", discovery)
	mux.HandleFunc("GET /{mode}/api/v1/pods", func(out http.ResponseWriter, r *http.Request) {
		w, err := s.negotiate(r)
		switch {
		case err != nil:
			http.Error(out, err.Error(), http.StatusNotAcceptable)
		case isTrue(r.FormValue("watch")):
			s.watch(out, r, w)
		default:
			s.list(out, r, w)
		}
	})
	return mux
}

func isTrue(v string) bool { return v == "true" || v == "1" }

// negotiate picks the format: protobuf where the client takes it.
func (s *server) negotiate(r *http.Request) (*wire, error) {
	if strings.Contains(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
		return s.proto, nil
	}
	if s.text == nil {
		return nil, errors.New("this server was started without JSON")
	}
	return s.text, nil
}

// list sends a page, or everything. What cannot be sent is the client's loss: it
// has hung up.
func (s *server) list(out http.ResponseWriter, r *http.Request, w *wire) {
	mode := r.PathValue("mode")
	if mode == modeStream || mode == modePaged && r.FormValue("limit") != strconv.Itoa(pageSize) {
		http.Error(out, "mode "+mode+" does not answer "+r.URL.String(), http.StatusBadRequest)
		return
	}
	begin, limit := 0, s.pods
	if token := r.FormValue("continue"); token != "" {
		begin, _ = strconv.Atoi(token)
	}
	cached := mode == modeList && r.FormValue("resourceVersion") == "0"
	if n, err := strconv.Atoi(r.FormValue("limit")); err == nil && n > 0 && !cached {
		limit = n
	}
	begin = max(0, min(begin, s.pods))
	end := min(begin+limit, s.pods)
	meta := metav1.ListMeta{ResourceVersion: strconv.Itoa(s.pods)}
	if end < s.pods {
		left := int64(s.pods - end)
		meta.Continue, meta.RemainingItemCount = strconv.Itoa(end), &left
	}
	parts, err := w.encoding.list(meta, w.part(begin, end))
	if err != nil {
		http.Error(out, err.Error(), http.StatusInternalServerError)
		return
	}
	out.Header().Set("Content-Type", w.encoding.listType())
	for _, p := range parts {
		if _, err := out.Write(p); err != nil {
			return
		}
	}
}

// watch sends a streaming list, if that is asked for, and then nothing until the
// client hangs up.
func (s *server) watch(out http.ResponseWriter, r *http.Request, w *wire) {
	initial := isTrue(r.FormValue("sendInitialEvents"))
	if initial && r.PathValue("mode") != modeStream {
		refuseStreaming(out)
		return
	}
	out.Header().Set("Content-Type", w.encoding.watchType())
	out.WriteHeader(http.StatusOK)
	if initial {
		for _, frame := range w.stream {
			if _, err := out.Write(frame); err != nil {
				return
			}
		}
	}
	if err := http.NewResponseController(out).Flush(); err != nil {
		return
	}
	<-r.Context().Done()
}

// refuseStreaming answers as a kube-apiserver does whose WatchList feature is
// off.
func refuseStreaming(out http.ResponseWriter) {
	out.Header().Set("Content-Type", runtime.ContentTypeJSON)
	out.WriteHeader(http.StatusUnprocessableEntity)
	fmt.Fprint(out, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","reason":"Invalid","code":422,`+
		`"message":"ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",`+
		`"details":{"group":"meta.k8s.io","kind":"ListOptions","causes":[{"reason":"FieldValueForbidden","message":"Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled","field":"sendInitialEvents"}]}}`)
}

func discovery(out http.ResponseWriter, _ *http.Request) {
	out.Header().Set("Content-Type", runtime.ContentTypeJSON)
	fmt.Fprint(out, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[`+
		`{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get","list","watch"]}]}`)
}
