//lint:file-ignore SA1019 What client-go has deprecated is offered here, deprecated as well.

package workqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// TypedRateLimiter is client-go's limiter: it says how long an item waits.
type TypedRateLimiter[T comparable] = workqueue.TypedRateLimiter[T]

// TypedBucketRateLimiter is client-go's limiter of all items together.
type TypedBucketRateLimiter[T comparable] = workqueue.TypedBucketRateLimiter[T]

// TypedItemExponentialFailureRateLimiter is client-go's limiter whose wait doubles
// with each failure of an item.
type TypedItemExponentialFailureRateLimiter[T comparable] = workqueue.TypedItemExponentialFailureRateLimiter[T]

// TypedItemFastSlowRateLimiter is client-go's limiter with a short wait for the
// first failures of an item and a long one for the others.
type TypedItemFastSlowRateLimiter[T comparable] = workqueue.TypedItemFastSlowRateLimiter[T]

// TypedMaxOfRateLimiter is client-go's limiter that waits as long as the slowest of
// several.
type TypedMaxOfRateLimiter[T comparable] = workqueue.TypedMaxOfRateLimiter[T]

// TypedWithMaxWaitRateLimiter is client-go's limiter that cuts the waits of another.
type TypedWithMaxWaitRateLimiter[T comparable] = workqueue.TypedWithMaxWaitRateLimiter[T]

// The limiters of client-go from before it had type parameters.
type (
	// RateLimiter says how long an item waits.
	//
	// Deprecated: Use TypedRateLimiter instead.
	RateLimiter = workqueue.RateLimiter
	// BucketRateLimiter limits all items together.
	//
	// Deprecated: Use TypedBucketRateLimiter instead.
	BucketRateLimiter = workqueue.BucketRateLimiter
	// ItemExponentialFailureRateLimiter doubles the wait with each failure.
	//
	// Deprecated: Use TypedItemExponentialFailureRateLimiter instead.
	ItemExponentialFailureRateLimiter = workqueue.ItemExponentialFailureRateLimiter
	// ItemFastSlowRateLimiter has a short wait for the first failures.
	//
	// Deprecated: Use TypedItemFastSlowRateLimiter instead.
	ItemFastSlowRateLimiter = workqueue.ItemFastSlowRateLimiter
	// MaxOfRateLimiter waits as long as the slowest of several.
	//
	// Deprecated: Use TypedMaxOfRateLimiter instead.
	MaxOfRateLimiter = workqueue.MaxOfRateLimiter
	// WithMaxWaitRateLimiter cuts the waits of another.
	//
	// Deprecated: Use TypedWithMaxWaitRateLimiter instead.
	WithMaxWaitRateLimiter = workqueue.WithMaxWaitRateLimiter
)

// DefaultTypedControllerRateLimiter returns client-go's default limiter: from 5
// milliseconds to 1000 seconds for each item, and no more than 10 items for each
// second over all with a burst of 100.
func DefaultTypedControllerRateLimiter[T comparable]() TypedRateLimiter[T] {
	return workqueue.DefaultTypedControllerRateLimiter[T]()
}

// DefaultTypedItemBasedRateLimiter returns client-go's limiter from 1 millisecond to
// 1000 seconds for each item.
func DefaultTypedItemBasedRateLimiter[T comparable]() TypedRateLimiter[T] {
	return workqueue.DefaultTypedItemBasedRateLimiter[T]()
}

// NewTypedItemExponentialFailureRateLimiter returns client-go's limiter that waits
// baseDelay after the first failure of an item, twice that after the second, and so
// on up to maxDelay.
func NewTypedItemExponentialFailureRateLimiter[T comparable](baseDelay, maxDelay time.Duration) TypedRateLimiter[T] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[T](baseDelay, maxDelay)
}

// NewTypedItemFastSlowRateLimiter returns client-go's limiter that waits fastDelay
// after each of the first maxFastAttempts failures of an item, and slowDelay after the
// others.
func NewTypedItemFastSlowRateLimiter[T comparable](fastDelay, slowDelay time.Duration, maxFastAttempts int) TypedRateLimiter[T] {
	return workqueue.NewTypedItemFastSlowRateLimiter[T](fastDelay, slowDelay, maxFastAttempts)
}

// NewTypedMaxOfRateLimiter returns client-go's limiter that asks several and waits as
// long as the longest says.
func NewTypedMaxOfRateLimiter[T comparable](limiters ...TypedRateLimiter[T]) TypedRateLimiter[T] {
	return workqueue.NewTypedMaxOfRateLimiter(limiters...)
}

// NewTypedWithMaxWaitRateLimiter returns client-go's limiter that asks another and
// waits maxDelay at most.
func NewTypedWithMaxWaitRateLimiter[T comparable](limiter TypedRateLimiter[T], maxDelay time.Duration) TypedRateLimiter[T] {
	return workqueue.NewTypedWithMaxWaitRateLimiter(limiter, maxDelay)
}

// DefaultControllerRateLimiter returns client-go's default limiter.
//
// Deprecated: Use DefaultTypedControllerRateLimiter instead.
func DefaultControllerRateLimiter() RateLimiter { return workqueue.DefaultControllerRateLimiter() }

// DefaultItemBasedRateLimiter returns client-go's default limiter without that of
// all items together.
//
// Deprecated: Use DefaultTypedItemBasedRateLimiter instead.
func DefaultItemBasedRateLimiter() RateLimiter { return workqueue.DefaultItemBasedRateLimiter() }

// NewItemExponentialFailureRateLimiter returns client-go's limiter whose wait
// doubles.
//
// Deprecated: Use NewTypedItemExponentialFailureRateLimiter instead.
func NewItemExponentialFailureRateLimiter(baseDelay, maxDelay time.Duration) RateLimiter {
	return workqueue.NewItemExponentialFailureRateLimiter(baseDelay, maxDelay)
}

// NewItemFastSlowRateLimiter returns client-go's limiter with two waits.
//
// Deprecated: Use NewTypedItemFastSlowRateLimiter instead.
func NewItemFastSlowRateLimiter(fastDelay, slowDelay time.Duration, maxFastAttempts int) RateLimiter {
	return workqueue.NewItemFastSlowRateLimiter(fastDelay, slowDelay, maxFastAttempts)
}

// NewMaxOfRateLimiter returns client-go's limiter that waits longest.
//
// Deprecated: Use NewTypedMaxOfRateLimiter instead.
func NewMaxOfRateLimiter(limiters ...TypedRateLimiter[any]) RateLimiter {
	return workqueue.NewMaxOfRateLimiter(limiters...)
}

// NewWithMaxWaitRateLimiter returns client-go's limiter that cuts waits.
//
// Deprecated: Use NewTypedWithMaxWaitRateLimiter instead.
func NewWithMaxWaitRateLimiter(limiter RateLimiter, maxDelay time.Duration) RateLimiter {
	return workqueue.NewWithMaxWaitRateLimiter(limiter, maxDelay)
}
