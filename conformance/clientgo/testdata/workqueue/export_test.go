package workqueue

import testingclock "k8s.io/utils/clock/testing"

// delaysAreKnown reports whether the queue has read all delays that it was told.
func delaysAreKnown(q DelayingInterface) bool {
	return len(q.(*delayingType[any]).waitingForAddCh) == 0
}

// metricsAreUpdated reports whether the ticker of the metrics is there.
func metricsAreUpdated(c *testingclock.FakeClock) bool { return c.HasWaiters() }
