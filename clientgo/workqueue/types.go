//lint:file-ignore SA1019 What client-go has deprecated is offered here, deprecated as well.

package workqueue

import "k8s.io/client-go/util/workqueue"

// TypedInterface is client-go's queue of items of one type.
type TypedInterface[T comparable] = workqueue.TypedInterface[T]

// TypedDelayingInterface is client-go's queue with AddAfter.
type TypedDelayingInterface[T comparable] = workqueue.TypedDelayingInterface[T]

// TypedRateLimitingInterface is client-go's queue with AddRateLimited.
type TypedRateLimitingInterface[T comparable] = workqueue.TypedRateLimitingInterface[T]

// Queue is client-go's storage of the items that are ready, which a
// [TypedQueueConfig] may bring. It is called under the lock of the queue.
type Queue[T comparable] = workqueue.Queue[T]

// TypedQueueConfig says how [NewTypedWithConfig] makes a queue. The zero value is
// ready for use.
type TypedQueueConfig[T comparable] = workqueue.TypedQueueConfig[T]

// TypedDelayingQueueConfig says how [NewTypedDelayingQueueWithConfig] makes a queue.
// The zero value is ready for use.
type TypedDelayingQueueConfig[T comparable] = workqueue.TypedDelayingQueueConfig[T]

// TypedRateLimitingQueueConfig says how [NewTypedRateLimitingQueueWithConfig] makes a
// queue. The zero value is ready for use.
type TypedRateLimitingQueueConfig[T comparable] = workqueue.TypedRateLimitingQueueConfig[T]

// DoWorkPieceFunc does one piece of the work of [ParallelizeUntil].
type DoWorkPieceFunc = workqueue.DoWorkPieceFunc

// Options are the options of [ParallelizeUntil]; [WithChunkSize] makes one.
type Options = workqueue.Options

// The forms of client-go from before it had type parameters.
type (
	// Interface is a queue of anything.
	//
	// Deprecated: Use TypedInterface instead.
	Interface = workqueue.Interface
	// DelayingInterface is a queue of anything with AddAfter.
	//
	// Deprecated: Use TypedDelayingInterface instead.
	DelayingInterface = workqueue.DelayingInterface
	// RateLimitingInterface is a queue of anything with AddRateLimited.
	//
	// Deprecated: Use TypedRateLimitingInterface instead.
	RateLimitingInterface = workqueue.RateLimitingInterface
	// QueueConfig says how NewWithConfig makes a queue.
	//
	// Deprecated: Use TypedQueueConfig instead.
	QueueConfig = workqueue.QueueConfig
	// DelayingQueueConfig says how NewDelayingQueueWithConfig makes a queue.
	//
	// Deprecated: Use TypedDelayingQueueConfig instead.
	DelayingQueueConfig = workqueue.DelayingQueueConfig
	// RateLimitingQueueConfig says how NewRateLimitingQueueWithConfig makes one.
	//
	// Deprecated: Use TypedRateLimitingQueueConfig instead.
	RateLimitingQueueConfig = workqueue.RateLimitingQueueConfig
	// Type is a queue of anything.
	//
	// Deprecated: Use Typed instead.
	Type = Typed[any]
)

// What a [MetricsProvider] makes, all of it client-go's.
type (
	// MetricsProvider makes the metrics of named queues.
	MetricsProvider = workqueue.MetricsProvider
	// GaugeMetric is a number that goes up and down by one.
	GaugeMetric = workqueue.GaugeMetric
	// SettableGaugeMetric is a number that is set.
	SettableGaugeMetric = workqueue.SettableGaugeMetric
	// CounterMetric is a number that goes up by one.
	CounterMetric = workqueue.CounterMetric
	// SummaryMetric takes single observations.
	SummaryMetric = workqueue.SummaryMetric
	// HistogramMetric takes single observations.
	HistogramMetric = workqueue.HistogramMetric
)
