package endpoints

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
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

// Frames from largeFrame bytes on do not fit into the buffer that net/http has for
// a chunk. Up to sendBuffer bytes of them are written together.
const (
	largeFrame = 2 << 10
	sendBuffer = 32 << 10
)

// watch serves a watch until its time is up, it fails, or the client goes. What
// is only needed to open it is left to stream.open: this is where thousands of
// watches wait, and the stack below is what each of them costs.
func (h *Handler) watch(ctx context.Context, q *request, f *fault.Fault) error {
	s := &stream{h: h, q: q, fault: *f}
	defer s.close()
	if err := s.open(ctx); err != nil || s.events == nil {
		return err
	}
	return s.run(s.ctx, s.events)
}

// open opens the watch and sends the header. An error is to be answered with; an
// error that belongs in the stream is told there, and then there are no events.
func (s *stream) open(ctx context.Context) error {
	h, q := s.h, s.q
	var err error
	if s.out, err = negotiate(q.Request, q.res, shapeWatch); err != nil {
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
	ctx, cancel := context.WithTimeout(life, watchTimeout(opts))
	open, remove := h.watches.add(q, end)
	s.life, s.ctx = life, ctx
	s.ends = append(s.ends, end, cancel, remove)

	w, err := store.Watch(ctx, storage.WatchOptions{
		Selection:         sel,
		ResourceVersion:   opts.ResourceVersion,
		SendInitialEvents: opts.SendInitialEvents,
		Bookmarks:         opts.AllowWatchBookmarks,
	})
	if err != nil && !belongsInStream(err) {
		return err
	}
	s.ends = append(s.ends, s.begin(ctx))
	if err != nil {
		return s.fail(err)
	}
	s.events = w
	s.ends = append(s.ends, w.Stop)
	open.follow(w)
	return nil
}

// close ends what open has begun, the last first.
func (s *stream) close() {
	for _, end := range slices.Backward(s.ends) {
		end()
	}
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
	// ctx ends at the timeout of the watch; life does not, but as ctx when the
	// client has gone or the watch is dropped.
	ctx, life context.Context
	// events is what the watch reads from; nil until it is open.
	events storage.Watch
	ends   []func()

	fault fault.Fault
	buf   []byte // frames to send, if there is a fault
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

// send writes events that are at hand together, and flushes once. Small frames
// are left to the buffers that net/http has for each connection. Large ones, of
// which each would become a write to the network, are collected, in a buffer that
// is borrowed: most watches have nothing to send at any time, and those that
// have may all be held up by their clients.
func (s *stream) send(events []storage.Event) error {
	var large *[]byte
	defer func() {
		if large != nil {
			s.h.buffers.Put(large)
		}
	}()
	for i := range events {
		framed, err := s.frame(&events[i])
		if err != nil {
			// What came before is still to be told.
			if broken := s.flush(large); broken != nil {
				return broken
			}
			return err
		}
		if large == nil && len(framed) >= largeFrame && i < len(events)-1 {
			large = s.h.buffer()
		}
		if err := s.collect(large, framed); err != nil {
			return err
		}
	}
	return s.flush(large)
}

// collect appends a frame to buf if it fits in there, perhaps after what was
// there was written, and else writes it.
func (s *stream) collect(buf *[]byte, framed []byte) error {
	if buf != nil {
		if len(*buf)+len(framed) <= cap(*buf) {
			*buf = append(*buf, framed...)
			return nil
		}
		if _, err := s.q.w.Write(*buf); err != nil {
			return err
		}
		*buf = (*buf)[:0]
		if len(framed) <= cap(*buf) {
			*buf = append(*buf, framed...)
			return nil
		}
	}
	_, err := s.q.w.Write(framed)
	return err
}

// buffer returns an empty buffer for large frames.
func (h *Handler) buffer() *[]byte {
	if buf, ok := h.buffers.Get().(*[]byte); ok {
		*buf = (*buf)[:0]
		return buf
	}
	buf := make([]byte, 0, sendBuffer)
	return &buf
}

// flush writes what was collected in buf, which may be nil, and makes the client
// see all that was written.
func (s *stream) flush(buf *[]byte) error {
	if buf != nil && len(*buf) > 0 {
		if _, err := s.q.w.Write(*buf); err != nil {
			return err
		}
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
	return event.Encoded.Get(encodingName(event.Type, s.out), encode)
}

// encodingName names what an event looks like in the form out. It puts nothing
// together, because it is asked for each event and watch.
func encodingName(event watch.EventType, out output) string {
	names := &jsonNames
	if out.media == runtime.ContentTypeProtobuf {
		names = &protobufNames
	}
	n := 0
	if out.partial {
		n = 1
	}
	switch event {
	case watch.Added:
		return names[n]
	case watch.Modified:
		return names[2+n]
	case watch.Deleted:
		return names[4+n]
	}
	// Other events are not shared by watches.
	return fmt.Sprint(event, out)
}

// The names of the encodings of events that are added, modified and deleted,
// each whole and partial.
var (
	jsonNames     = [...]string{"JSON added", "JSON added partial", "JSON modified", "JSON modified partial", "JSON deleted", "JSON deleted partial"}
	protobufNames = [...]string{"protobuf added", "protobuf added partial", "protobuf modified", "protobuf modified partial", "protobuf deleted", "protobuf deleted partial"}
)

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
	return s.flush(&framed)
}
