package workqueue

import "time"

// timer is what a queue needs of a timer, of package time or of a clock.
type timer interface{ Stop() bool }

// time is the time by the clock of the queue.
func (q *Queue[K]) time() time.Time {
	if q.clock == nil {
		return time.Now()
	}
	return q.clock.Now()
}

// now is the time since the queue was made.
func (q *Queue[K]) now() time.Duration {
	if q.clock == nil {
		return time.Since(q.start)
	}
	return q.clock.Since(q.start)
}

// startTimer sets the timer to at, where now is now.
func (q *Queue[K]) startTimer(at, now time.Duration) {
	if q.clock == nil {
		if t, ok := q.alarm.timer.(*time.Timer); ok {
			t.Reset(at - now)
		} else {
			q.alarm.timer = time.AfterFunc(at-now, q.ring)
		}
		return
	}
	// A clock that is set by hand differs from a real one: it may call what it
	// is given while it holds a lock, which ring needs to read the time; a timer
	// of it that has run must not be set once more; and if it was set forward
	// since now was read, the timer would run too late.
	ring := func() { go q.ring() }
	for i := 0; ; i++ {
		if q.alarm.timer != nil {
			q.alarm.timer.Stop()
		}
		q.alarm.timer = q.clock.AfterFunc(at-now, ring)
		then := now
		now = q.now()
		switch {
		case now >= at:
			ring()
			return
		case now == then || i > 0:
			return
		}
	}
}
