package endpoints

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"heliograph.example/apiserver/fault"
	"heliograph.example/apiserver/storage"
)

// lastWrite is how long a client that does not read may hold up the end of a
// watch.
const lastWrite = time.Second

// watch serves a watch until its time is up, it fails, or the client goes.
func (h *Handler) watch(ctx context.Context, q *request, f fault.Fault) error {
	out, err := negotiate(q.Request, q.res, shapeWatch)
	if err != nil {
		return err
	}
	opts, err := parseListOptions(q.query, true)
	if err != nil {
		return err
	}
	sel, err := h.selection(q.res, q.target, opts)
	if err != nil {
		return err
	}
	store, err := q.srv.storage()
	if err != nil {
		return err
	}
	life, end := context.WithCancel(ctx)
	defer end()
	ctx, cancel := context.WithTimeout(life, watchTimeout(opts))
	defer cancel()
	open, remove := h.watches.add(q, end)
	defer remove()

	w, err := store.Watch(ctx, storage.WatchOptions{
		Selection:         sel,
		ResourceVersion:   opts.ResourceVersion,
		SendInitialEvents: opts.SendInitialEvents,
		Bookmarks:         opts.AllowWatchBookmarks,
	})
	if err != nil && !belongsInStream(err) {
		return err
	}
	s := &stream{h: h, q: q, out: out, life: life, fault: f}
	stop := s.begin(ctx)
	defer stop()
	if err != nil {
		return s.fail(err)
	}
	defer w.Stop()
	open.follow(w)
	return s.run(ctx, w)
}

// belongsInStream reports whether an error on opening a watch is told by an
// ERROR event in a stream that has been opened: kube-apiserver does so with
// versions that are too old or too new.
func belongsInStream(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || apierrors.IsTimeout(err)
}

// stream writes the events of one watch. It belongs to the goroutine of the
// request.
type stream struct {
	h   *Handler
	q   *request
	out output
	buf []byte
	// life ends when the client has gone or the watch is dropped, but not at
	// its timeout.
	life  context.Context
	fault fault.Fault
	sent  int    // events, counted if there is a fault
	held  []byte // a frame that is to be swapped with the next
}

// begin sends the header and takes care that a client which does not read
// cannot hold the request for long after ctx has ended. The function that it
// returns must be called before the request ends.
func (s *stream) begin(ctx context.Context) (stop func()) {
	media := s.out.media
	if media != runtime.ContentTypeJSON {
		media += ";stream=watch"
	}
	s.q.w.Header().Set("Content-Type", media)
	s.q.w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(s.q.w)
	done := make(chan struct{})
	cancelled := context.AfterFunc(ctx, func() {
		defer close(done)
		// An error means that the connection has no deadlines, as in tests
		// without a network, and then writes do not block.
		_ = control.SetWriteDeadline(time.Now().Add(lastWrite))
	})
	// If the connection is gone, the next write says so.
	_ = control.Flush()
	return func() {
		if !cancelled() {
			<-done
			_ = control.SetWriteDeadline(time.Time{})
		}
	}
}

// run copies events to the client until the watch ends.
func (s *stream) run(ctx context.Context, w storage.Watch) error {
	for {
		if s.isCut() {
			return s.cut()
		}
		events, err := w.Next()
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), ctx.Err() != nil:
			return nil
		default:
			return s.fail(err)
		}
		if s.fault == (fault.Fault{}) {
			err = s.send(events)
		} else {
			err = s.sendStruck(ctx, events)
		}
		if unencoded := (*encodeError)(nil); errors.As(err, &unencoded) {
			return s.fail(err)
		}
		if err != nil {
			return err
		}
	}
}

// send writes events that are at hand together, and flushes once.
func (s *stream) send(events []storage.Event) error {
	s.buf = s.buf[:0]
	for i := range events {
		framed, err := s.frame(&events[i])
		if err != nil {
			return err
		}
		s.buf = append(s.buf, framed...)
	}
	return s.flush()
}

// flush writes what was collected and makes the client see it.
func (s *stream) flush() error {
	if len(s.buf) == 0 {
		return nil
	}
	if _, err := s.q.w.Write(s.buf); err != nil {
		return err
	}
	return http.NewResponseController(s.q.w).Flush()
}

// frame encodes an event, once for all watches that share it.
func (s *stream) frame(event *storage.Event) ([]byte, error) {
	encode := func() ([]byte, error) {
		object, err := s.h.encodeItem(s.q.res, event.Object, s.out)
		if err == nil {
			object, err = frame(string(event.Type), object, s.out.media)
		}
		if err != nil {
			return nil, &encodeError{fmt.Errorf("encode a %s event of %s: %w", event.Type, s.q.res.GroupResource(), err)}
		}
		return object, nil
	}
	if event.Encoded == nil {
		return encode()
	}
	name := string(event.Type) + " " + s.out.media
	if s.out.partial {
		name += " partial"
	}
	return event.Encoded.Get(name, encode)
}

// encodeError is told to the client of a watch, unlike one of the connection.
type encodeError struct{ error }

func (e *encodeError) Unwrap() error { return e.error }

// fail tells the client of err by an ERROR event, which is the last one.
func (s *stream) fail(err error) error {
	object, err := s.h.encodeObject(toStatus(err), output{media: s.out.media})
	if err != nil {
		return err
	}
	framed, err := frame(string(watch.Error), object, s.out.media)
	if err != nil {
		return err
	}
	s.buf = framed
	return s.flush()
}
