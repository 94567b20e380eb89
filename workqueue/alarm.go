package workqueue

import (
	"math"
	"time"
)

// alarm is the one timer of a queue. It is set for the next moment at which a
// delayed key is due, a hold has reached its limit or the pace allows another key,
// and runs only then.
type alarm struct {
	timer timer
	// at is when the timer runs; 0 if it is not set.
	at time.Duration
	// pace is when the next key may be handed out; 0 if that is not known to
	// be in the future.
	pace time.Duration
}

// setAlarm sets the timer if there is something to wait for that comes before
// what it is set for.
func (q *Queue[K]) setAlarm(now time.Duration) {
	at, ok := q.delays.next()
	if until, held := q.holds.next(); held && (!ok || until < at) {
		at, ok = until, true
	}
	if q.alarm.pace > 0 && (!ok || q.alarm.pace < at) {
		at, ok = q.alarm.pace, true
	}
	if !ok || q.alarm.at > 0 && q.alarm.at <= at {
		return
	}
	q.alarm.at = at
	q.startTimer(at, now)
}

// stopAlarm stops the timer for good.
func (q *Queue[K]) stopAlarm() {
	if q.alarm.timer != nil {
		q.alarm.timer.Stop()
	}
	q.alarm = alarm{}
}

// ring does what the timer was set for. It may come early, after the timer was
// set anew, and then finds nothing to do.
func (q *Queue[K]) ring() {
	q.mu.Lock()
	if q.phase == closed {
		q.mu.Unlock()
		return
	}
	now := q.now()
	q.alarm.at = 0
	if q.alarm.pace <= now {
		q.alarm.pace = 0
	}
	for {
		if due, ok := q.delays.next(); !ok || due > now {
			break
		}
		it := q.delays.first()
		q.delays.remove(it)
		q.makeReady(it, now)
	}
	expired := q.expire(now)
	q.endIfIdle()
	if q.phase != closed {
		q.setAlarm(now)
	}
	w := q.waiters.next(q.available())
	q.mu.Unlock()
	w.wake()
	for _, f := range expired {
		f()
	}
}

// expire ends the holds whose limit has passed, and returns who wants to know.
func (q *Queue[K]) expire(now time.Duration) (expired []func()) {
	for {
		if until, ok := q.holds.next(); !ok || until > now {
			return expired
		}
		h := q.holds.first()
		if h.Expired != nil {
			expired = append(expired, h.Expired)
		}
		q.counts.expired++
		q.unhold(h, now)
	}
}

// pace reports whether a key may be handed out now, and counts it. If not, it
// sets the alarm for the moment at which one may.
func (q *Queue[K]) pace(now time.Duration) bool {
	if q.limiter == nil {
		return true
	}
	t := q.start.Add(now)
	if q.limiter.AllowN(t, 1) {
		q.alarm.pace = 0
		return true
	}
	// Only one key is waited for, so a worker that gives up takes no turn
	// away from anybody.
	seconds := (1 - q.limiter.TokensAt(t)) / float64(q.limiter.Limit())
	wait := time.Duration(math.MaxInt64)
	if ns := math.Ceil(seconds * float64(time.Second)); ns < math.MaxInt64 {
		wait = max(time.Duration(ns), time.Microsecond)
	}
	q.alarm.pace = later(now, wait)
	q.setAlarm(now)
	return false
}
