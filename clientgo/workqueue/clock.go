package workqueue

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// delayed returns the clock with AfterFunc, which those of configurations need not
// have; nil stays nil.
func delayed(c clock.WithTicker) clock.WithDelayedExecution {
	switch c := c.(type) {
	case nil:
		return nil
	case clock.WithDelayedExecution:
		return c
	}
	return withAfterFunc{c}
}

// withAfterFunc adds AfterFunc to a clock that has timers.
type withAfterFunc struct{ clock.WithTicker }

// AfterFunc runs f in a goroutine of its own after d, unless the timer is stopped
// before.
func (c withAfterFunc) AfterFunc(d time.Duration, f func()) clock.Timer {
	t := &awaited{Timer: c.NewTimer(d), stopped: make(chan struct{})}
	go func() {
		select {
		case <-t.C():
			f()
		case <-t.stopped:
		}
	}()
	return t
}

// awaited is a timer that a goroutine waits for, until it is stopped. It must not be
// set once more.
type awaited struct {
	clock.Timer
	once    sync.Once
	stopped chan struct{}
}

// Stop stops the timer and ends the goroutine that waits for it.
func (t *awaited) Stop() bool {
	t.once.Do(func() { close(t.stopped) })
	return t.Timer.Stop()
}
