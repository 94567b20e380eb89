//lint:file-ignore U1000 What is here is used by tests that are not.

package workqueue

import (
	"time"

	"k8s.io/utils/clock"
)

// What client-go's own tests need of the inside of this package.

// newQueueWithConfig makes a queue whose metrics have another period.
func newQueueWithConfig[T comparable](config TypedQueueConfig[T], period time.Duration) *Typed[T] {
	return newTyped(config, period)
}

// delaysAreKnown reports whether the queue has read all delays that it was told.
func delaysAreKnown(DelayingInterface) bool { return true }

// metricsAreUpdated reports whether the metrics will be updated while a key is worked
// on.
func metricsAreUpdated(clock.Clock) bool { return true }
