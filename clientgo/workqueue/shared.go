package workqueue

import (
	"context"
	"time"

	ours "heliograph.example/workqueue"
)

// shared keeps the items of a Typed in a queue of package workqueue.
type shared[T comparable] struct {
	queue *ours.Queue[T]
	// open ends when Get is to wait no more.
	open context.Context
	shut context.CancelFunc
}

// ended is a context that has.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func newShared[T comparable](opts ours.Options[T]) *shared[T] {
	queue, err := ours.New(opts)
	if err != nil {
		panic("clientgo/workqueue: the options of a queue are wrong: " + err.Error()) // they are made here
	}
	s := &shared[T]{queue: queue}
	s.open, s.shut = context.WithCancel(context.Background())
	return s
}

func (s *shared[T]) add(item T, after time.Duration) error {
	return s.queue.AddWith(item, ours.AddOptions{After: after, KeepDelay: true})
}

func (s *shared[T]) len() int { return s.queue.Len() }

func (s *shared[T]) get() (item T, shutdown bool) {
	if item, err := s.queue.Get(s.open); err == nil {
		return item, false
	}
	item, ok := s.queue.TryGet()
	return item, !ok
}

func (s *shared[T]) done(item T) error { return s.queue.Done(item, ours.Result{}) }

// begin refuses items before it lets Get go: whoever was told that the queue shuts
// down misses nothing.
func (s *shared[T]) begin() {
	s.drain(ended)
	s.shut()
}

// drain waits until no item is left or ctx has ended. The queue goes on draining then,
// and nothing but that is an error here: items never fail, and nobody closes the
// queue.
func (s *shared[T]) drain(ctx context.Context) { _ = s.queue.Drain(ctx, ours.DropDelayed) }
