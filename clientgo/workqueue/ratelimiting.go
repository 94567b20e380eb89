package workqueue

import (
	"context"
	"errors"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// errNoLimiter is told of when a queue was made without a limiter and needs one.
var errNoLimiter = errors.New("clientgo/workqueue: the queue has no rate limiter")

// NewTypedRateLimitingQueue makes a queue with AddRateLimited, without a name.
func NewTypedRateLimitingQueue[T comparable](rateLimiter TypedRateLimiter[T]) TypedRateLimitingInterface[T] {
	return NewTypedRateLimitingQueueWithConfig(rateLimiter, TypedRateLimitingQueueConfig[T]{})
}

// NewTypedRateLimitingQueueWithConfig makes a queue with AddRateLimited as config says.
// If DelayingQueue is not nil, it is the one below. What the limiter has counted
// stays until Forget, which the worker calls. A nil limiter is told of when it is
// first needed, and delays nothing.
func NewTypedRateLimitingQueueWithConfig[T comparable](rateLimiter TypedRateLimiter[T], config TypedRateLimitingQueueConfig[T]) TypedRateLimitingInterface[T] {
	if config.DelayingQueue == nil {
		config.DelayingQueue = NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[T]{
			Name:            config.Name,
			MetricsProvider: config.MetricsProvider,
			Clock:           config.Clock,
		})
	}
	return &rateLimiting[T]{TypedDelayingInterface: config.DelayingQueue, name: config.Name, limiter: rateLimiter}
}

// rateLimiting is a queue with AddRateLimited.
type rateLimiting[T comparable] struct {
	TypedDelayingInterface[T]
	name    string
	limiter TypedRateLimiter[T]
}

// AddRateLimited adds an item after as long as the limiter says.
func (q *rateLimiting[T]) AddRateLimited(item T) {
	if q.limiter == nil {
		utilruntime.HandleErrorWithContext(context.Background(), errNoLimiter, "An item is added at once", "queue", q.name, "item", item)
		q.Add(item)
		return
	}
	q.AddAfter(item, q.limiter.When(item))
}

// Forget lets the limiter forget an item. The item must be Done all the same.
func (q *rateLimiting[T]) Forget(item T) {
	if q.limiter != nil {
		q.limiter.Forget(item)
	}
}

// NumRequeues is how often the limiter was asked for an item since it was forgotten.
func (q *rateLimiting[T]) NumRequeues(item T) int {
	if q.limiter == nil {
		return 0
	}
	return q.limiter.NumRequeues(item)
}

// NewRateLimitingQueue makes a queue with AddRateLimited, without a name.
//
// Deprecated: Use NewTypedRateLimitingQueue instead.
func NewRateLimitingQueue(rateLimiter RateLimiter) RateLimitingInterface {
	return NewTypedRateLimitingQueue[any](rateLimiter)
}

// NewRateLimitingQueueWithConfig makes a queue with AddRateLimited as config says.
//
// Deprecated: Use NewTypedRateLimitingQueueWithConfig instead.
func NewRateLimitingQueueWithConfig(rateLimiter RateLimiter, config RateLimitingQueueConfig) RateLimitingInterface {
	return NewTypedRateLimitingQueueWithConfig[any](rateLimiter, config)
}

// NewNamedRateLimitingQueue makes a queue with AddRateLimited and a name.
//
// Deprecated: Use NewTypedRateLimitingQueueWithConfig instead.
func NewNamedRateLimitingQueue(rateLimiter RateLimiter, name string) RateLimitingInterface {
	return NewTypedRateLimitingQueueWithConfig[any](rateLimiter, RateLimitingQueueConfig{Name: name})
}

// NewRateLimitingQueueWithDelayingInterface makes a queue with AddRateLimited over di;
// nil is one of ours.
//
// Deprecated: Use NewTypedRateLimitingQueueWithConfig instead.
func NewRateLimitingQueueWithDelayingInterface(di DelayingInterface, rateLimiter RateLimiter) RateLimitingInterface {
	return NewTypedRateLimitingQueueWithConfig[any](rateLimiter, RateLimitingQueueConfig{DelayingQueue: di})
}
