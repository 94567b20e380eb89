package workqueue

import (
	"math"
	"time"
)

// Result says how the work on a key has ended. The zero value is success.
type Result struct {
	// Err, if not nil, says that the work has failed: the key is retried after
	// the pause of its back-off, which grows with each failure in a row. nil
	// ends the row.
	Err error
	// After asks for the key again after this time, with success as well as
	// with failure, where it takes the place of the back-off. 0 asks for
	// nothing; a negative duration, as of a deadline that has gone by, means
	// at once.
	After time.Duration
	// Drop gives the key up: with Err, the work has failed and is not tried
	// again. The row of failures ends, and After counts for nothing. What was
	// added while the key ran is not dropped.
	Drop bool
}

// retries reports whether a result asks for a further run of the key.
func (r Result) retries() bool { return !r.Drop && (r.Err != nil || r.After != 0) }

// Done gives back a key that Get has handed out. The queue does with it what
// the result asks for; nothing else has to be called for a key to be retried
// or forgotten. If the key was added while it ran, it is ready at once, whatever
// the result; if it was added with a delay, the earlier time wins. A key that is
// held waits for that first.
//
// A key that comes again because of its result keeps its priority. One that comes
// again only because it was added while it ran has the priority of that add.
//
// Done of a key that is not running changes nothing, is counted, and returns
// ErrNotProcessing.
//
// During a drain, keys do not return for the sake of their result: one that
// failed is dropped and counted, one that asks to come after a while is let go.
func (q *Queue[K]) Done(key K, result Result) error {
	if !q.isKey(key) {
		return keyError(ErrBadKey, key)
	}
	q.mu.Lock()
	it := q.running.head // often: who starts first ends first
	if it == nil || it.key != key {
		it = q.table.find(q.table.hash(key), key)
	}
	if it == nil || it.place != running {
		q.counts.strays++
		q.mu.Unlock()
		return keyError(ErrNotProcessing, key)
	}
	now := q.now()
	worked := now - it.since
	q.counts.runs.add(worked)
	q.running.remove(it)
	if q.tracer != nil {
		q.tracer.Ended(key)
	}
	q.conclude(it, result)
	q.settle(it, result, now)
	q.endIfIdle()
	w := q.waiters.next(q.available())
	q.mu.Unlock()
	w.wake()
	if q.observer != nil {
		q.observer.Ended(worked, result.Err)
	}
	return nil
}

// conclude notes how a run has ended.
func (q *Queue[K]) conclude(it *item[K], result Result) {
	q.counts.done++
	switch {
	case it.pursued() && result.retries():
		it.priority = max(it.priority, it.pending)
	case it.pursued():
		it.priority = it.pending
	}
	if result.Err != nil {
		q.counts.failures++
	}
	if result.Drop {
		q.counts.givenUp++
	}
	if result.Err == nil || result.Drop {
		it.failures, it.err = 0, nil
		return
	}
	it.err = result.Err
	it.failures += min(1, math.MaxUint16-it.failures)
}

// settle decides where an item goes whose run has ended.
func (q *Queue[K]) settle(it *item[K], result Result, now time.Duration) {
	it.place = aside
	again := it.want == wanted || it.want == patient && it.failures == 0
	if !again {
		it.want = nothing
	}
	if !again && q.phase != open {
		if it.failures > 0 {
			q.counts.dropped++
		}
		q.letGo(it)
		return
	}
	if !again && result.retries() {
		again = q.retry(it, result, now)
	}
	if !again || it.holds != nil {
		q.setAside(it, now)
	}
	if again {
		q.makeReady(it, now)
	}
}

// retry delays an item as its result asks, and reports whether it is to run at
// once instead.
func (q *Queue[K]) retry(it *item[K], result Result, now time.Duration) (atOnce bool) {
	pause := result.After
	if it.failures > 0 {
		q.counts.retries++
		if pause == 0 {
			pause = q.backoff.pause(it.failures)
		}
	}
	if pause < 0 {
		q.endDelay(it)
		return true
	}
	q.postpone(it, now, pause, false)
	return false
}
