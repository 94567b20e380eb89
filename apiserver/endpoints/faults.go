package endpoints

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"heliograph.example/apiserver/fault"
	"heliograph.example/apiserver/storage"
)

// strike applies a scripted fault to a request: it waits, and returns either
// the error to answer with or what is to happen to the answer.
func (h *Handler) strike(ctx context.Context, q *request) (fault.Fault, error) {
	f, ok := h.faults.Strike(fault.Request{
		Verb:      q.verb,
		Resource:  q.res.GroupResource(),
		Namespace: q.namespace,
		Client:    q.UserAgent(),
		Streaming: q.verb == "watch" && wantsStream(q.query),
	})
	if !ok {
		return fault.Fault{}, nil
	}
	if err := sleep(ctx, f.Delay); err != nil {
		return fault.Fault{}, err
	}
	if f.Answers() {
		return fault.Fault{}, faultError(f.Code, f.RetryAfter, q.res.GroupResource())
	}
	return f, nil
}

// sleep waits, or returns the error of ctx if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lose serves a request that is no watch, and breaks its answer off.
func (h *Handler) lose(ctx context.Context, q *request, cut fault.Cut) error {
	sent := q.w
	answer := &keptAnswer{header: make(http.Header)}
	q.w = &recorder{ResponseWriter: answer, done: sent.done}
	sent.done = nil
	if err := h.serveShort(ctx, q); err != nil {
		h.fail(q, err)
	}
	if cut == fault.CutFrame {
		maps.Copy(sent.Header(), answer.header)
		sent.WriteHeader(q.w.code)
		// The connection breaks now, by the fault or before it.
		_, _ = sent.Write(answer.body.Bytes()[:answer.body.Len()/2])
		_ = http.NewResponseController(sent).Flush()
	}
	return breakOff(ctx, q, cut)
}

// keptAnswer is an answer that is not sent.
type keptAnswer struct {
	header http.Header
	body   bytes.Buffer
}

func (a *keptAnswer) Header() http.Header         { return a.header }
func (a *keptAnswer) WriteHeader(int)             {}
func (a *keptAnswer) Write(b []byte) (int, error) { return a.body.Write(b) }

// breakOff ends a request without the rest of its answer, when the time has come
// for that: at once, or when ctx ends. A panic is how net/http is told to close
// the connection.
func breakOff(ctx context.Context, q *request, cut fault.Cut) error {
	switch cut {
	case fault.CutBlackHole:
		// Without a fault.Network it is a stall.
		fault.BlackHole(q.Context())
		<-ctx.Done()
	case fault.CutStall:
		<-ctx.Done()
	}
	panic(http.ErrAbortHandler)
}

// isCut reports whether the scripted fault breaks off the watch here, between
// two frames.
func (s *stream) isCut() bool {
	return s.fault.Cut != fault.CutNone && s.fault.Cut != fault.CutFrame && s.sent >= s.fault.AfterEvents
}

// cut breaks off the watch between two frames.
func (s *stream) cut() error {
	switch s.fault.Cut {
	case fault.CutEnd:
		return nil
	case fault.CutError:
		return s.fail(faultError(s.fault.Code, s.fault.RetryAfter, s.q.res.GroupResource()))
	}
	return breakOff(s.life, s.q, s.fault.Cut)
}

// withholds reports whether the scripted fault keeps back a bookmark.
func (s *stream) withholds(event *storage.Event) bool {
	if event.Type != watch.Bookmark || !s.fault.NoBookmarks && !s.fault.NoInitialEnd {
		return false
	}
	// A bookmark that has no metadata marks nothing.
	m, err := meta.Accessor(event.Object)
	if err == nil && m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
		return s.fault.NoInitialEnd
	}
	return s.fault.NoBookmarks
}

// sendStruck is send for a watch with a scripted fault: it sends the events one
// by one.
func (s *stream) sendStruck(ctx context.Context, events []storage.Event) error {
	for i := range events {
		event := &events[i]
		if s.withholds(event) {
			continue
		}
		if s.isCut() {
			// That is up to run.
			return nil
		}
		if sleep(ctx, s.fault.Pause) != nil {
			// The watch has ended, and run will see that.
			return nil
		}
		framed, err := s.frame(event)
		if err != nil {
			return err
		}
		if s.fault.Cut == fault.CutFrame && s.sent == s.fault.AfterEvents {
			s.buf = append(s.buf[:0], framed[:len(framed)/2]...)
			// The connection breaks now, by the fault or before it.
			_ = s.flush(&s.buf)
			return breakOff(s.life, s.q, fault.CutFrame)
		}
		s.buf = s.disorder(s.buf[:0], framed)
		if err := s.flush(&s.buf); err != nil {
			return err
		}
	}
	return nil
}

// disorder appends the next frame, and breaks the order of frames where the
// scripted fault wants that.
func (s *stream) disorder(buf, framed []byte) []byte {
	if s.fault.Illegal == fault.IllegalSwap && s.sent == s.fault.AfterEvents && s.held == nil {
		s.held = framed
		return buf
	}
	buf = append(buf, framed...)
	s.sent++
	if s.held != nil {
		buf, s.held = append(buf, s.held...), nil
		s.sent++
	}
	if s.fault.Illegal == fault.IllegalReplay && s.sent == max(s.fault.AfterEvents, 1) {
		buf = append(buf, framed...)
	}
	return buf
}
