package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"heliograph.example/deltafifo"
	"heliograph.example/internal/wire"
)

// restStream is a Stream that splits and decodes for itself, in the goroutine
// that calls Next.
type restStream[T Object] struct {
	source  *restSource[T]
	ctx     context.Context
	body    *body
	stopped atomic.Bool

	// All else belongs to the goroutine that calls Next.
	frames *wire.Frames
	decode decode[T]
	// initial is set until the initial events of a streaming list have ended.
	initial bool
	err     error
	batch   []Event[T]
}

// Stop ends the watch.
func (s *restStream[T]) Stop() {
	s.stopped.Store(true)
	s.body.close()
}

// Next waits for one frame and takes what else is at hand.
func (s *restStream[T]) Next() ([]Event[T], error) {
	s.settle()
	if s.err == nil && (s.stopped.Load() || s.ctx.Err() != nil) {
		s.err = s.ended(nil)
	}
	if s.err == nil {
		s.frames.Await()
	}
	return s.collect()
}

// collect makes the next batch. It is not in Next, which is to wait with a small
// frame on the stack.
func (s *restStream[T]) collect() ([]Event[T], error) {
	for next := s.frames.Next; s.err == nil && len(s.batch) < maxBatch; next = s.frames.TryNext {
		frame, err := next()
		if errors.Is(err, wire.ErrNotReady) {
			break
		}
		if err != nil {
			s.err = s.ended(err)
		} else {
			s.err = s.take(&frame)
		}
	}
	if len(s.batch) == 0 {
		return nil, s.err
	}
	return s.batch, nil
}

// settle clears the last batch: what it held must not live on under the next
// one. A bookmark comes in a quiet moment; then what the initial events have made
// large is given back.
func (s *restStream[T]) settle() {
	quiet := len(s.batch) > 0 && s.batch[len(s.batch)-1].Type == deltafifo.Bookmark
	clear(s.batch)
	s.batch = s.batch[:0]
	if quiet {
		s.frames.Trim()
		s.source.codec.decoders.shared.quiet()
		s.batch = nil
	}
}

// ended says why there are no more frames.
func (s *restStream[T]) ended(err error) error {
	switch {
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	case s.stopped.Load():
		return ErrStopped
	case errors.Is(err, io.EOF):
		return io.EOF
	}
	return s.source.failed(s.ctx, err)
}

// take appends the event of a frame to the batch, or says what ends the stream.
func (s *restStream[T]) take(frame *wire.Frame) (err error) {
	if s.decode == nil {
		if s.decode, err = s.source.codec.decoders.of(s.frames.Encoding()); err != nil {
			return fmt.Errorf("%s: %w", s.source.name, err)
		}
	}
	event := Event[T]{Type: deltafifo.Updated}
	switch watch.EventType(frame.Type) {
	case watch.Error:
		return s.refused(frame)
	case watch.Bookmark:
		event = s.bookmark(frame)
		s.initial = s.initial && !event.InitialEventsEnd
		s.batch = append(s.batch, event)
		return nil
	case watch.Added:
		event.Type = deltafifo.Added
	case watch.Deleted:
		event.Type = deltafifo.Deleted
	case watch.Modified:
	default:
		if frame.Err == nil {
			frame.Err = fmt.Errorf("unknown type of event %q", frame.Type)
		}
	}
	event.Item = s.item(frame, event.Type)
	s.batch = append(s.batch, event)
	return nil
}

// item makes an item of an object that is not in a list.
func (s *restStream[T]) item(frame *wire.Frame, event deltafifo.Type) Item[T] {
	codec := s.source.codec
	stage, refusal := codec.alone(frame.Kind)
	if s.initial && event == deltafifo.Added {
		if it, unchanged := skipped[T](s.source.skip, s.frames.Encoding(), frame.Item, refusal); unchanged {
			return it
		}
	}
	it := s.source.item(s.frames.Encoding(), s.decoderOf(frame, event), frame.Item, stage, refusal)
	if it.Err == nil && !codec.keepsKind {
		it.Object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return it
}

// decoderOf returns what decodes the object of a frame: by the state that is held, if
// there is one.
func (s *restStream[T]) decoderOf(frame *wire.Frame, event deltafifo.Type) decode[T] {
	against := s.source.codec.decoders.against
	if s.source.held == nil || against == nil || event == deltafifo.Added || frame.Item.Err != nil || s.frames.Encoding() != wire.Protobuf {
		return s.decode
	}
	id := wire.Identify(wire.Protobuf, frame.Item.Raw)
	old, ok := s.source.held(types.NamespacedName{Namespace: string(id.Namespace), Name: string(id.Name)})
	if !ok {
		return s.decode
	}
	return func(raw []byte) (T, error) { return against(raw, old) }
}

// refused turns an error event into an error.
func (s *restStream[T]) refused(frame *wire.Frame) error {
	err := frame.Err
	if err == nil && frame.Kind.Kind != "Status" {
		err = fmt.Errorf("an error event with %v in place of a status", frame.Kind)
	}
	var status *metav1.Status
	if err == nil {
		status, err = part[*metav1.Status](s.frames.Encoding(), frame.Raw)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %w", s.source.name, ErrDecode, err)
	}
	if !s.source.codec.keepsKind {
		status.TypeMeta = metav1.TypeMeta{}
	}
	return apierrors.FromObject(status)
}

// bookmark reads what a bookmark has: a version, and perhaps the mark of the end
// of the initial events.
func (s *restStream[T]) bookmark(frame *wire.Frame) Event[T] {
	event := Event[T]{Type: deltafifo.Bookmark}
	encoding := s.frames.Encoding()
	meta, err := bareMetadata(encoding, frame.Raw)
	if err != nil || frame.Err != nil {
		event.Version = string(wire.Identify(encoding, frame.Raw).ResourceVersion)
		return event
	}
	event.Version = meta.ResourceVersion
	event.InitialEventsEnd = meta.Annotations[metav1.InitialEventsAnnotationKey] == "true"
	return event
}
