package reflector

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Untyped returns a source of the same collection whose objects are of type any, for
// those who keep objects of different types alike. It can do what source can. nil
// gives nil.
func Untyped[T any](source Source[T]) Source[any] {
	if isNil(source) {
		return nil
	}
	u := untyped[T]{source}
	if shaper, ok := source.(Shaper[T]); ok {
		return untypedShaper[T]{u, shaper}
	}
	return u
}

type untyped[T any] struct{ source Source[T] }

// untypedShaper is an untyped source that is a Shaper. New has another way for those
// that are none.
type untypedShaper[T any] struct {
	untyped[T]
	shaper Shaper[T]
}

func untypedItem[T any](it Item[T]) Item[any] {
	out := Item[any]{Key: it.Key, UID: it.UID, Version: it.Version, Unchanged: it.Unchanged, Err: it.Err}
	if !it.Unchanged && it.Err == nil {
		out.Object = it.Object
	}
	return out
}

func (u untyped[T]) List(ctx context.Context, opts metav1.ListOptions, each func(Item[any]) error) (Page, error) {
	return u.source.List(ctx, opts, func(it Item[T]) error { return each(untypedItem(it)) })
}

func (u untyped[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[any], error) {
	stream, err := u.source.Watch(ctx, opts)
	if err != nil {
		return nil, err
	}
	return &untypedStream[T]{stream: stream}, nil
}

func (u untyped[T]) Streamless() bool {
	s, ok := u.source.(Streamless)
	return ok && s.Streamless()
}

func (u untyped[T]) Unversioned() bool {
	s, ok := u.source.(Unversioned)
	return ok && s.Unversioned()
}

func (u untyped[T]) Skipping(held func(types.NamespacedName) (types.UID, string, bool)) Source[any] {
	if s, ok := u.source.(Skipper[T]); ok {
		return untyped[T]{s.Skipping(held)}
	}
	return u
}

func (u untyped[T]) Get(ctx context.Context, key types.NamespacedName) (Item[any], error) {
	s, ok := u.source.(Getter[T])
	if !ok {
		return Item[any]{}, fmt.Errorf("reading %s again: %w", key, errors.ErrUnsupported)
	}
	it, err := s.Get(ctx, key)
	return untypedItem(it), err
}

func (u untyped[T]) sharing() SharingStats {
	if s, ok := u.source.(interface{ sharing() SharingStats }); ok {
		return s.sharing()
	}
	return SharingStats{}
}

func (u untypedShaper[T]) Shaped(shape Shape) (Source[any], error) {
	source, err := u.shaper.Shaped(shape)
	if err != nil {
		return nil, err
	}
	return Untyped(source), nil
}

// untypedStream has a batch of its own, for as long as that of the other stream.
type untypedStream[T any] struct {
	stream Stream[T]
	batch  []Event[any]
}

func (s *untypedStream[T]) Next() ([]Event[any], error) {
	clear(s.batch) // what the last batch held must not live on
	events, err := s.stream.Next()
	s.batch = s.batch[:0]
	for i := range events {
		e := &events[i]
		s.batch = append(s.batch, Event[any]{Type: e.Type, Item: untypedItem(e.Item), InitialEventsEnd: e.InitialEventsEnd})
	}
	if cap(s.batch) > maxBatch { // a burst must not pin memory for good
		out := s.batch
		s.batch = nil
		return out, err
	}
	return s.batch, err
}

func (s *untypedStream[T]) Stop() { s.stream.Stop() }
