package workqueue

import (
	"context"
	"reflect"
	"sync"
	"time"

	ours "heliograph.example/workqueue"
)

// stored keeps the items of a Typed that are ready in a storage of the caller's, which
// decides on their order. It has no delays.
type stored[T comparable] struct {
	metrics *metrics[T] // nil: none

	mu   sync.Mutex
	cond *sync.Cond // of everything that Get and drain wait for
	// ready holds the items of pending that no worker has.
	ready Queue[T]
	// pending are the items that are to be handed out.
	pending map[T]struct{}
	running map[T]struct{}
	ending  bool
}

func newStored[T comparable](ready Queue[T], m *metrics[T]) *stored[T] {
	s := &stored[T]{ready: ready, metrics: m, pending: map[T]struct{}{}, running: map[T]struct{}{}}
	s.cond = sync.NewCond(&s.mu)
	return s
}

func (s *stored[T]) add(item T, _ time.Duration) error {
	if !isKey(item) {
		return ours.ErrBadKey
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, pending := s.pending[item]
	_, running := s.running[item]
	switch {
	case s.ending:
		return ours.ErrClosed
	case pending && !running:
		s.ready.Touch(item)
		return nil
	case pending:
		return nil
	}
	s.pending[item] = struct{}{}
	if s.metrics != nil {
		s.metrics.Due(item)
	}
	if !running {
		s.push(item)
	}
	return nil
}

// isKey reports whether an item can be in a map, which not all can that are in an
// interface.
func isKey[T comparable](item T) bool {
	v := reflect.ValueOf(&item).Elem()
	return v.Comparable() && v.Equal(v)
}

func (s *stored[T]) push(item T) {
	s.ready.Push(item)
	s.cond.Broadcast()
}

func (s *stored[T]) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready.Len()
}

func (s *stored[T]) get() (item T, shutdown bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.ready.Len() == 0 {
		if s.ending {
			return item, true
		}
		s.cond.Wait()
	}
	item = s.ready.Pop()
	delete(s.pending, item)
	s.running[item] = struct{}{}
	if s.metrics != nil {
		s.metrics.Started(item)
	}
	return item, false
}

func (s *stored[T]) done(item T) error {
	if !isKey(item) {
		return ours.ErrBadKey
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.running[item]; !ok {
		return ours.ErrNotProcessing
	}
	delete(s.running, item)
	if s.metrics != nil {
		s.metrics.Ended(item)
	}
	if _, ok := s.pending[item]; ok {
		s.push(item)
	} else if len(s.running) == 0 {
		s.cond.Broadcast()
	}
	return nil
}

func (s *stored[T]) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ending = true
	s.cond.Broadcast()
}

func (s *stored[T]) drain(ctx context.Context) {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cond.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for ctx.Err() == nil && len(s.running)+s.ready.Len() > 0 {
		s.cond.Wait()
	}
}
