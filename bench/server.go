package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

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

	// modeEvents streams the initial list, and then updates, as many as it is
	// told to (see live).
	modeEvents = "events"
	// modeRelist streams the initial list, and when it is told to, ends the watch
	// and has forgotten its version (see relist).
	modeRelist = "relist"

	// pageSize is what both sides ask for by default.
	pageSize = 500
)

// wire is the whole collection in one format, encoded once, as far as a mode
// needs it.
type wire struct {
	set  dataset
	size int
	// items has all items of a list one after the other; ends[i] is where
	// the i-th ends.
	items []byte
	ends  []int
	// stream has the frames of a streaming list: one for each object, then the
	// bookmark.
	stream [][]byte
}

func newWire(set dataset, size int, modes ...string) (*wire, error) {
	w := &wire{set: set, size: size}
	for _, mode := range modes {
		var err error
		switch {
		case mode == modeList || mode == modePaged:
			err = w.encodeItems()
		case w.stream == nil:
			err = w.encodeStream()
		}
		if err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *wire) encodeItems() error {
	if w.items != nil {
		return nil
	}
	for i := range w.size {
		item, err := w.set.format.item(w.set.object(i))
		if err != nil {
			return err
		}
		w.items = append(w.items, item...)
		w.ends = append(w.ends, len(w.items))
	}
	return nil
}

func (w *wire) encodeStream() error {
	for i := range w.size {
		frame, err := w.event("ADDED", w.set.object(i))
		if err != nil {
			return err
		}
		w.stream = append(w.stream, frame)
	}
	end, err := w.bookmark(w.size)
	w.stream = append(w.stream, end)
	return err
}

func (w *wire) event(event string, obj object) ([]byte, error) {
	return w.set.format.event(event, w.set.kind, obj)
}

// bookmark is the event that ends a streaming list.
func (w *wire) bookmark(version int) ([]byte, error) {
	end := reflect.New(reflect.TypeOf(w.set.object(0)).Elem()).Interface().(object)
	end.SetResourceVersion(strconv.Itoa(version))
	end.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return w.event("BOOKMARK", end)
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

// server answers list, watch and discovery of one collection from encoded bytes.
type server struct {
	*wire
	live   *live   // for modeEvents
	relist *relist // for modeRelist
}

func newServer(set dataset, size int, modes ...string) (*server, error) {
	w, err := newWire(set, size, modes...)
	if err != nil {
		return nil, err
	}
	s := &server{wire: w}
	if slices.Contains(modes, modeEvents) {
		if s.live, err = newLive(w); err != nil {
			return nil, err
		}
	}
	if slices.Contains(modes, modeRelist) {
		s.relist, err = newRelist(w)
	}
	return s, err
}

// serve is the job of the server's process: it prints its URL and serves until
// standard input ends.
func serve(j job) error {
	set, err := datasetNamed(j.Data)
	if err != nil {
		return err
	}
	s, err := newServer(set, j.Pods, strings.Fields(j.Mode)...)
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
	mux.HandleFunc("GET /{mode}"+s.set.groupPath(), s.discovery)
	mux.HandleFunc("GET /{mode}"+s.set.path(), func(out http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.Contains(r.Header.Get("Accept"), s.set.format.listType()):
			http.Error(out, "only "+s.set.format.listType()+" is served", http.StatusNotAcceptable)
		case isTrue(r.FormValue("watch")):
			s.watch(out, r)
		default:
			s.list(out, r)
		}
	})
	mux.HandleFunc("POST /{mode}/control", s.control)
	return mux
}

func isTrue(v string) bool { return v == "true" || v == "1" }

// control is how a child steers the server: its events may go on up to a number,
// or the watch ends and its version is too old.
func (s *server) control(out http.ResponseWriter, r *http.Request) {
	to, err := strconv.Atoi(r.FormValue("to"))
	switch mode := r.PathValue("mode"); {
	case mode == modeEvents && err == nil:
		s.live.allow(to)
	case mode == modeRelist:
		s.relist.forget()
	default:
		http.Error(out, "nothing to control: "+r.URL.String(), http.StatusBadRequest)
	}
}

// list sends a page, or everything. What cannot be sent is the client's loss: it
// has hung up.
func (s *server) list(out http.ResponseWriter, r *http.Request) {
	mode := r.PathValue("mode")
	if mode != modeList && (mode != modePaged || r.FormValue("limit") != strconv.Itoa(pageSize)) {
		http.Error(out, "mode "+mode+" does not answer "+r.URL.String(), http.StatusBadRequest)
		return
	}
	begin, limit := 0, s.size
	if token := r.FormValue("continue"); token != "" {
		begin, _ = strconv.Atoi(token)
	}
	cached := mode == modeList && r.FormValue("resourceVersion") == "0"
	if n, err := strconv.Atoi(r.FormValue("limit")); err == nil && n > 0 && !cached {
		limit = n
	}
	begin = max(0, min(begin, s.size))
	end := min(begin+limit, s.size)
	meta := metav1.ListMeta{ResourceVersion: strconv.Itoa(s.size)}
	if end < s.size {
		left := int64(s.size - end)
		meta.Continue, meta.RemainingItemCount = strconv.Itoa(end), &left
	}
	parts, err := s.set.format.list(s.set.kind, meta, s.part(begin, end))
	if err != nil {
		http.Error(out, err.Error(), http.StatusInternalServerError)
		return
	}
	out.Header().Set("Content-Type", s.set.format.listType())
	for _, p := range parts {
		if _, err := out.Write(p); err != nil {
			return
		}
	}
}

// watch sends a streaming list, if that is asked for, and then what its mode has
// until the client hangs up.
func (s *server) watch(out http.ResponseWriter, r *http.Request) {
	mode, initial := r.PathValue("mode"), isTrue(r.FormValue("sendInitialEvents"))
	switch {
	case initial && (mode == modeList || mode == modePaged):
		refuseStreaming(out)
		return
	case mode == modeRelist && !initial && s.relist.forgotten():
		tooOld(out)
		return
	case mode == modeEvents && initial:
		s.live.allow(0)
	}
	out.Header().Set("Content-Type", s.set.format.watchType())
	out.WriteHeader(http.StatusOK)
	if initial {
		for i, frame := range s.stream {
			if mode == modeRelist {
				frame = s.relist.frame(i, frame)
			}
			if _, err := out.Write(frame); err != nil {
				return
			}
		}
	}
	flush := http.NewResponseController(out).Flush
	if err := flush(); err != nil {
		return
	}
	switch mode {
	case modeEvents:
		s.live.send(r.Context(), out, flush)
	case modeRelist:
		s.relist.wait(r.Context())
	default:
		<-r.Context().Done()
	}
}

// refuse answers with a status, as a kube-apiserver does.
func refuse(out http.ResponseWriter, code int, status string) {
	out.Header().Set("Content-Type", runtime.ContentTypeJSON)
	out.WriteHeader(code)
	fmt.Fprintf(out, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":%d,%s}`, code, status)
}

// refuseStreaming is the answer where the WatchList feature is off.
func refuseStreaming(out http.ResponseWriter) {
	refuse(out, http.StatusUnprocessableEntity, `"reason":"Invalid",`+
		`"message":"ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",`+
		`"details":{"group":"meta.k8s.io","kind":"ListOptions","causes":[{"reason":"FieldValueForbidden","message":"Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled","field":"sendInitialEvents"}]}`)
}

// tooOld is the answer to a watch from a version that is compacted.
func tooOld(out http.ResponseWriter) {
	refuse(out, http.StatusGone, `"reason":"Expired","message":"too old resource version"`)
}

func (s *server) discovery(out http.ResponseWriter, _ *http.Request) {
	out.Header().Set("Content-Type", runtime.ContentTypeJSON)
	fmt.Fprintf(out, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[`+
		`{"name":%q,"singularName":%q,"namespaced":true,"kind":%q,"verbs":["get","list","watch"]}]}`,
		s.set.kind.GroupVersion(), s.set.resource, strings.ToLower(s.set.kind.Kind), s.set.kind.Kind)
}
