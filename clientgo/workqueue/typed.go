package workqueue

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/util/workqueue"

	ours "heliograph.example/workqueue"
)

// metricsPeriod is how often the gauges of unfinished work are set: as often as
// client-go does.
const metricsPeriod = 500 * time.Millisecond

// Typed is the queue of this package, and takes the place of client-go's type of the
// same name. Each item is in it at most once, and at most one worker has it; what
// is added while it runs makes it run once more. All methods are safe for use by any
// number of goroutines. Make one with [NewTyped]; the zero value is not a queue.
type Typed[T comparable] struct {
	queue   backend[T]
	name    string
	metrics *metrics[T] // nil: none
	// ending is set once nothing can be added any more.
	ending atomic.Bool

	mu sync.Mutex
	// drains is the context of those who wait in ShutDownWithDrain. A ShutDown
	// cancels it, and puts another in its place for later ones.
	drains context.Context
	cancel context.CancelFunc
}

// backend is what holds the items of a Typed.
type backend[T comparable] interface {
	add(item T, after time.Duration) error
	len() int
	get() (item T, shutdown bool)
	done(item T) error
	// begin refuses items from now on, and drops those that are delayed.
	begin()
	// drain waits, after begin, until no item is left or ctx has ended.
	drain(ctx context.Context)
}

// NewTyped makes a queue without a name.
func NewTyped[T comparable]() *Typed[T] {
	return NewTypedWithConfig(TypedQueueConfig[T]{})
}

// NewTypedWithConfig makes a queue as config says: it has metrics if it has a name
// and there is a provider, here or in [SetProvider]; its times are those of Clock,
// nil meaning the real one; and Queue, if not nil, holds the items that are ready and
// decides on their order.
func NewTypedWithConfig[T comparable](config TypedQueueConfig[T]) *Typed[T] {
	return newTyped(config, metricsPeriod)
}

func newTyped[T comparable](config TypedQueueConfig[T], period time.Duration) *Typed[T] {
	q := &Typed[T]{name: config.Name}
	q.drains, q.cancel = context.WithCancel(context.Background())
	q.metrics = newMetrics[T](config.MetricsProvider, config.Name, delayed(config.Clock), period)
	if config.Queue != nil {
		q.queue = newStored(config.Queue, q.metrics)
		return q
	}
	opts := ours.Options[T]{Name: config.Name, Clock: delayed(config.Clock)}
	if q.metrics != nil {
		opts.Tracer = q.metrics
	}
	q.queue = newShared(opts)
	return q
}

// Add makes an item ready, unless it is already. If a worker has it, it becomes
// ready when it is Done. After ShutDown or ShutDownWithDrain, Add does nothing.
func (q *Typed[T]) Add(item T) { q.add(item, 0) }

// add adds an item, after a while if that is positive.
func (q *Typed[T]) add(item T, after time.Duration) {
	if err := q.queue.add(item, after); err != nil && !errors.Is(err, ours.ErrClosed) {
		q.report(err, "An item cannot be added to the queue", item)
	}
}

// Len is the number of items that are ready.
func (q *Typed[T]) Len() int { return q.queue.len() }

// Get waits for an item and hands it out. After ShutDown or ShutDownWithDrain it
// does not wait any more: shutdown is true if nothing is ready, although an item that
// was added while it runs may be once it is Done.
func (q *Typed[T]) Get() (item T, shutdown bool) { return q.queue.get() }

// Done gives back an item that Get has handed out. Of an item that no worker has, it
// does nothing but tell the error handlers of apimachinery.
func (q *Typed[T]) Done(item T) {
	if err := q.queue.done(item); err != nil {
		q.report(err, "An item cannot be done", item)
	}
}

// ShutDown ends the queue: nothing can be added any more, what is delayed is
// dropped, and Get goes on handing out what is ready without waiting for more. It
// does not wait for that, and ends the waits of all ShutDownWithDrain.
func (q *Typed[T]) ShutDown() {
	q.begin()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.cancel()
	q.drains, q.cancel = context.WithCancel(context.Background())
}

// ShutDownWithDrain ends the queue as ShutDown does, and waits until all items are
// Done, those that are ready and those that workers have; or until somebody calls
// ShutDown. So there must be workers. Any number of callers may wait.
func (q *Typed[T]) ShutDownWithDrain() {
	q.mu.Lock()
	ctx := q.drains
	q.mu.Unlock()
	q.begin()
	q.queue.drain(ctx)
}

// begin refuses items from now on.
func (q *Typed[T]) begin() {
	q.ending.Store(true)
	q.queue.begin()
	if q.metrics != nil {
		q.metrics.stop()
	}
}

// ShuttingDown reports whether ShutDown or ShutDownWithDrain was called.
func (q *Typed[T]) ShuttingDown() bool { return q.ending.Load() }

// report tells the error handlers of apimachinery what no method can return.
func (q *Typed[T]) report(err error, what string, item T) {
	utilruntime.HandleErrorWithContext(context.Background(), err, what, "queue", q.name, "item", item)
}

// DefaultQueue returns client-go's storage: first come, first served.
func DefaultQueue[T comparable]() Queue[T] { return workqueue.DefaultQueue[T]() }

// New makes a queue without a name.
//
// Deprecated: Use NewTyped instead.
func New() *Type { return NewTyped[any]() }

// NewWithConfig makes a queue as config says.
//
// Deprecated: Use NewTypedWithConfig instead.
func NewWithConfig(config QueueConfig) *Type { return NewTypedWithConfig(config) }

// NewNamed makes a queue with a name.
//
// Deprecated: Use NewTypedWithConfig instead.
func NewNamed(name string) *Type { return NewTypedWithConfig(QueueConfig{Name: name}) }
