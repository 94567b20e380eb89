package workqueue

import (
	"errors"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	ours "heliograph.example/workqueue"
)

// NewTypedDelayingQueue makes a queue with AddAfter, without a name.
func NewTypedDelayingQueue[T comparable]() TypedDelayingInterface[T] {
	return NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[T]{})
}

// NewTypedDelayingQueueWithConfig makes a queue with AddAfter as config says. If Queue
// is not nil, delayed items are added to it when they are due; it then needs a
// goroutine, and whoever shuts it down shuts down the delaying queue, not the one
// below. Logger, if not nil, is told of what goes wrong with such a queue.
func NewTypedDelayingQueueWithConfig[T comparable](config TypedDelayingQueueConfig[T]) TypedDelayingInterface[T] {
	var retries CounterMetric
	if p := providerOr(config.MetricsProvider); p != nil && config.Name != "" {
		retries = p.NewRetriesMetric(config.Name)
	}
	if config.Queue != nil {
		return newFeeding(config, retries)
	}
	return &delaying[T]{
		Typed: NewTypedWithConfig(TypedQueueConfig[T]{
			Name:            config.Name,
			MetricsProvider: config.MetricsProvider,
			Clock:           config.Clock,
		}),
		retries: retries,
	}
}

// delaying is a queue with AddAfter.
type delaying[T comparable] struct {
	*Typed[T]
	retries CounterMetric // nil: not counted
}

// AddAfter adds an item after d, at once if that is not positive. It comes then
// whatever happens to it until then; of several delays of one item, the earliest
// counts. After ShutDown or ShutDownWithDrain, AddAfter does nothing.
func (q *delaying[T]) AddAfter(item T, d time.Duration) {
	if q.ShuttingDown() {
		return
	}
	if q.retries != nil {
		q.retries.Inc()
	}
	q.add(item, d)
}

// feeding is a queue with AddAfter over one of the caller's. The delays are those of
// a queue of package workqueue, whose only worker adds what is due.
type feeding[T comparable] struct {
	TypedInterface[T]
	name    string
	logger  klog.Logger
	retries CounterMetric // nil: not counted
	delays  *shared[T]
	start   sync.Once
	worker  sync.WaitGroup
}

func newFeeding[T comparable](config TypedDelayingQueueConfig[T], retries CounterMetric) *feeding[T] {
	q := &feeding[T]{
		TypedInterface: config.Queue,
		name:           config.Name,
		logger:         klog.Background(),
		retries:        retries,
		delays:         newShared(ours.Options[T]{Name: config.Name, Clock: delayed(config.Clock)}),
	}
	if config.Logger != nil {
		q.logger = *config.Logger
	}
	return q
}

// AddAfter adds an item after d, at once if that is not positive. Of several delays
// of one item, the earliest counts.
func (q *feeding[T]) AddAfter(item T, d time.Duration) {
	if q.ShuttingDown() {
		return
	}
	if q.retries != nil {
		q.retries.Inc()
	}
	if d <= 0 {
		q.Add(item)
		return
	}
	q.start.Do(func() { q.worker.Go(q.feed) })
	if err := q.delays.add(item, d); err != nil && !errors.Is(err, ours.ErrClosed) {
		utilruntime.HandleErrorWithLogger(q.logger, err, "An item cannot be delayed", "queue", q.name, "item", item)
	}
}

// feed adds what is due to the queue below, until the delays are shut down.
func (q *feeding[T]) feed() {
	defer utilruntime.HandleCrashWithLogger(q.logger)
	for {
		item, shutdown := q.delays.get()
		if shutdown {
			return
		}
		q.Add(item)
		if err := q.delays.done(item); err != nil {
			utilruntime.HandleErrorWithLogger(q.logger, err, "A delay does not end", "queue", q.name, "item", item)
		}
	}
}

// ShutDown drops what is delayed, and shuts the queue below down.
func (q *feeding[T]) ShutDown() {
	q.end()
	q.TypedInterface.ShutDown()
}

// ShutDownWithDrain drops what is delayed, and drains the queue below.
func (q *feeding[T]) ShutDownWithDrain() {
	q.end()
	q.TypedInterface.ShutDownWithDrain()
}

// end ends the goroutine. What was due already is added.
func (q *feeding[T]) end() {
	q.start.Do(func() {}) // it is not started any more
	q.delays.begin()
	q.worker.Wait()
}

// TypedNewDelayingQueue makes a queue with AddAfter, without a name.
//
// Deprecated: Use NewTypedDelayingQueue instead.
func TypedNewDelayingQueue[T comparable]() TypedDelayingInterface[T] {
	return NewTypedDelayingQueue[T]()
}

// NewDelayingQueue makes a queue with AddAfter, without a name.
//
// Deprecated: Use NewTypedDelayingQueue instead.
func NewDelayingQueue() DelayingInterface { return NewTypedDelayingQueue[any]() }

// NewDelayingQueueWithConfig makes a queue with AddAfter as config says.
//
// Deprecated: Use NewTypedDelayingQueueWithConfig instead.
func NewDelayingQueueWithConfig(config DelayingQueueConfig) DelayingInterface {
	return NewTypedDelayingQueueWithConfig(config)
}

// NewDelayingQueueWithCustomQueue makes a queue with AddAfter over q; nil is one of
// ours.
//
// Deprecated: Use NewTypedDelayingQueueWithConfig instead.
func NewDelayingQueueWithCustomQueue(q Interface, name string) DelayingInterface {
	return NewTypedDelayingQueueWithConfig(DelayingQueueConfig{Name: name, Queue: q})
}

// NewNamedDelayingQueue makes a queue with AddAfter and a name.
//
// Deprecated: Use NewTypedDelayingQueueWithConfig instead.
func NewNamedDelayingQueue(name string) DelayingInterface {
	return NewTypedDelayingQueueWithConfig(DelayingQueueConfig{Name: name})
}

// NewDelayingQueueWithCustomClock makes a queue with AddAfter that goes by a clock.
//
// Deprecated: Use NewTypedDelayingQueueWithConfig instead.
func NewDelayingQueueWithCustomClock(clock clock.WithTicker, name string) DelayingInterface {
	return NewTypedDelayingQueueWithConfig(DelayingQueueConfig{Name: name, Clock: clock})
}
