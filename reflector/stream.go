package reflector

import (
	"context"
	"fmt"
	"io"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"heliograph.example/deltafifo"
)

// maxBatch bounds the events that one Next returns.
const maxBatch = 256

// clientStream is a Stream over a watch of client-go.
type clientStream[T any] struct {
	source *clientSource[T]
	ctx    context.Context
	watch  watch.Interface
	events <-chan watch.Event
	// unhook takes back the promise to stop when ctx ends.
	unhook func() bool
	once   sync.Once
	done   chan struct{}

	// err and batch belong to the goroutine that calls Next.
	err   error
	batch []Event[T]
}

func newClientStream[T any](ctx context.Context, source *clientSource[T], w watch.Interface) *clientStream[T] {
	s := &clientStream[T]{source: source, ctx: ctx, watch: w, events: w.ResultChan(), done: make(chan struct{})}
	// client-go's watcher waits for a reader or for Stop, and for no context:
	// its goroutine must end even if nobody calls Next any more.
	s.unhook = context.AfterFunc(ctx, s.stop)
	return s
}

// Stop ends the watch.
func (s *clientStream[T]) Stop() {
	s.unhook()
	s.stop()
}

func (s *clientStream[T]) stop() {
	s.once.Do(func() {
		close(s.done)
		s.watch.Stop()
	})
}

// Next waits for one event and takes what else is at hand.
func (s *clientStream[T]) Next() ([]Event[T], error) {
	// What the last batch held must not live on under this one.
	clear(s.batch)
	s.batch = s.batch[:0]
	if s.err != nil {
		return nil, s.err
	}
	select {
	case event, open := <-s.events:
		s.take(event, open)
	case <-s.ctx.Done():
		s.err = s.ended()
	case <-s.done:
		s.err = s.ended()
	}
	for s.err == nil && len(s.batch) < maxBatch {
		select {
		case event, open := <-s.events:
			s.take(event, open)
			continue
		default:
		}
		break
	}
	if len(s.batch) == 0 {
		return nil, s.err
	}
	return s.batch, nil
}

// ended says why the stream has ended, when the server did not say.
func (s *clientStream[T]) ended() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.done:
		return ErrStopped
	default:
		return io.EOF
	}
}

// take appends one event to the batch, or sets the error.
func (s *clientStream[T]) take(event watch.Event, open bool) {
	if !open {
		s.err = s.ended()
		return
	}
	switch event.Type {
	case watch.Error:
		s.err = s.refused(event.Object)
	case watch.Bookmark:
		s.batch = append(s.batch, s.bookmark(event.Object))
	case watch.Added:
		s.batch = append(s.batch, Event[T]{Type: deltafifo.Added, Item: s.source.item(event.Object)})
	case watch.Modified:
		s.batch = append(s.batch, Event[T]{Type: deltafifo.Updated, Item: s.source.item(event.Object)})
	case watch.Deleted:
		s.batch = append(s.batch, Event[T]{Type: deltafifo.Deleted, Item: s.source.item(event.Object)})
	default:
		it := s.source.item(event.Object)
		it.Err = objectError(s.source.name, it, StageDecode, fmt.Errorf("unknown type of event %q", event.Type))
		var zero T
		it.Object = zero
		s.batch = append(s.batch, Event[T]{Type: deltafifo.Updated, Item: it})
	}
}

// refused turns the object of an error event into an error.
func (s *clientStream[T]) refused(obj runtime.Object) error {
	if isNil(obj) {
		return fmt.Errorf("%s: %w: an error event without a status", s.source.name, ErrDecode)
	}
	return apierrors.FromObject(obj)
}

// bookmark reads what a bookmark has: a version, and perhaps the mark of the
// end of the initial events.
func (s *clientStream[T]) bookmark(obj runtime.Object) Event[T] {
	event := Event[T]{Type: deltafifo.Bookmark}
	if isNil(obj) {
		return event
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return event
	}
	event.Version = accessor.GetResourceVersion()
	event.InitialEventsEnd = accessor.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
	return event
}
