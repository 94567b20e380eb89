package deltafifo

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// DefaultBatchSize is the number of deltas that Pop returns at most.
	DefaultBatchSize = 1024
	// DefaultBudget is the number of deltas up to which nothing is compacted.
	DefaultBudget = 4096
)

// Options configure a [DeltaFIFO]. The zero value is ready for use.
type Options struct {
	// BatchSize is the number of deltas up to which Pop fills a batch. A
	// batch is larger only where compacted deltas must stay together. 0 means
	// DefaultBatchSize; a negative number is an error.
	BatchSize int
	// Budget is the number of queued deltas, items of a Replaced included,
	// past which the queue compacts. 0 means DefaultBudget; a negative number
	// is an error.
	Budget int
	// Holds reports whether the consumer's store holds an object under key.
	// With it the queue forgets what began and ended while it was queued; if
	// it is nil, a Deleted is never forgotten. It is called by Push with the
	// queue locked: it must be quick and must not call the queue.
	Holds func(key types.NamespacedName) bool
	// Idle is how long Pop waits for a delta before it returns [ErrIdle], for a
	// consumer that wants to end its goroutine then. After a burst it is a second,
	// if that is longer: the queue gives its buffers back only then. 0 means for as
	// long as the context of Pop lasts; a negative duration is an error.
	Idle time.Duration
}

// DeltaFIFO is an ordered, compacting queue of changes between the reader of a
// server, which must never wait, and the one loop that applies them. Use [New]
// to make one. All methods are safe for use by several goroutines, but Pop by
// one at a time.
type DeltaFIFO[T any] struct {
	opts Options

	mu     sync.Mutex
	closed bool
	buf    buffer[T]

	// weight counts the queued deltas and the items in them. fresh is the
	// part of it that no compaction has seen.
	weight, fresh int
	// whole is the number of deltas at the front that a compaction has cut
	// holes into, and that must be popped together; dropped is the number of
	// deltas it has dropped among them.
	whole, dropped int

	// batch is in flight: popped and not acknowledged. inFlight has its keys,
	// made when first needed. batchSlots is the slice that batch is part of.
	batch, batchSlots []Delta[T]
	inFlight          map[types.NamespacedName]struct{}
	// spare is an empty buffer to go on with.
	spare []Delta[T]
	// series says how long large buffers are kept. timer is for a Pop that
	// waits with such, or for as long as Options.Idle; nil while there is none.
	series series
	timer  *time.Timer

	// popping and waiting say that a Pop runs, and that it waits for wake, which
	// has room for one token. wake is nil until a Pop waits, and after it was idle.
	popping, waiting bool
	wake             chan struct{}
	// pushed, popped and acked count deltas as they were pushed: those that a
	// compaction dropped count as popped with those they were folded into.
	pushed, popped, acked uint64
	// settled is closed, and set to nil, when acked moves or the queue is closed.
	// It is nil while nobody waits.
	settled chan struct{}

	highWater   int
	compactions uint64
	compacted   uint64
}

// New returns an empty queue. It refuses negative options with an error that
// wraps [ErrInvalidOptions].
func New[T any](opts Options) (*DeltaFIFO[T], error) {
	if opts.BatchSize < 0 {
		return nil, fmt.Errorf("%w: BatchSize is %d, must not be negative", ErrInvalidOptions, opts.BatchSize)
	}
	if opts.Budget < 0 {
		return nil, fmt.Errorf("%w: Budget is %d, must not be negative", ErrInvalidOptions, opts.Budget)
	}
	if opts.Idle < 0 {
		return nil, fmt.Errorf("%w: Idle is %v, must not be negative", ErrInvalidOptions, opts.Idle)
	}
	if opts.BatchSize == 0 {
		opts.BatchSize = DefaultBatchSize
	}
	if opts.Budget == 0 {
		opts.Budget = DefaultBudget
	}
	return &DeltaFIFO[T]{opts: opts}, nil
}

// Push appends deltas in order, all of them or none, and never waits for the
// consumer. The slice itself is copied and may be used again; Items and objects
// are kept. After Close it returns [ErrClosed], for deltas that make no sense an
// [*InvalidDeltaError].
func (q *DeltaFIFO[T]) Push(deltas []Delta[T]) error {
	if err := validate(deltas); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrClosed
	}
	if len(deltas) == 0 {
		return nil
	}
	q.buf.append(deltas)
	q.pushed += uint64(len(deltas))
	added := weight(deltas)
	q.weight += added
	q.fresh += added
	q.highWater = max(q.highWater, q.buf.len())
	q.rouse()
	// Compacting only when most of the queue is new makes its cost constant
	// for each delta.
	if q.weight > q.opts.Budget && q.fresh > q.weight-q.fresh {
		q.compact()
	}
	return nil
}

// weight counts deltas and their items.
func weight[T any](deltas []Delta[T]) int {
	n := len(deltas)
	for i := range deltas {
		n += len(deltas[i].Items)
	}
	return n
}

// Close ends the queue: Push refuses from now on, Pop returns what is left and
// then [ErrClosed]. It waits for nothing and may be called more than once.
func (q *DeltaFIFO[T]) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed = true
	q.rouse()
	if q.settled != nil {
		close(q.settled)
		q.settled = nil
	}
}

// rouse lets a Pop that waits look again.
func (q *DeltaFIFO[T]) rouse() {
	if !q.waiting {
		return
	}
	q.waiting = false
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Len is the number of queued deltas; those in flight do not count.
func (q *DeltaFIFO[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.buf.len()
}

// Stats shows what a queue has done so far, for a status page.
type Stats struct {
	// Length is the number of queued deltas, and InFlight of those popped
	// and not yet acknowledged.
	Length, InFlight int
	// HighWater is the largest Length there ever was.
	HighWater int
	// Pushed is the number of deltas ever pushed, and Acknowledged of those
	// that the consumer is done with, compacted ones included.
	Pushed, Acknowledged uint64
	// Compactions is the number of times the queue was compacted, and
	// Compacted the number of deltas that this dropped.
	Compactions, Compacted uint64
	// Closed is set after Close.
	Closed bool
}

// Stats returns the figures of this moment.
func (q *DeltaFIFO[T]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Stats{
		Length:       q.buf.len(),
		InFlight:     len(q.batch),
		HighWater:    q.highWater,
		Pushed:       q.pushed,
		Acknowledged: q.acked,
		Compactions:  q.compactions,
		Compacted:    q.compacted,
		Closed:       q.closed,
	}
}
