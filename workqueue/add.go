package workqueue

import (
	"fmt"
	"time"
)

// AddOptions say how a key is added. The zero value is that of [Queue.Add].
type AddOptions struct {
	// Priority is the priority of the key, from MinPriority to MaxPriority;
	// others are an error. A key that is in the queue already keeps its
	// priority if that is higher.
	Priority int
	// After delays the key. 0 and negative durations, as of a time that has
	// gone by, mean now.
	After time.Duration
	// Replace lets After take the place of a delay that the key has, also if it
	// ends later. Otherwise the earlier time wins. A key that is ready stays so.
	Replace bool
	// KeepDelay lets an add and a delay of one key be two runs. With After, a
	// key that is ready, or was added while it runs, is delayed all the same
	// and comes again; without After, a delay that the key has goes on beside
	// the add. Otherwise both get one run, the earlier. A queue of client-go
	// treats all keys so.
	KeepDelay bool
	// KeepBackoff leaves a key that is waiting for its retry where it is: the
	// add is one with the retry. If the key runs, and the run fails, the add is
	// one with the retry after it. Otherwise an add makes a key ready that
	// waits for its retry.
	KeepBackoff bool
}

// Add makes a key ready, with priority 0. A key that is ready already stays where
// it is unless its priority is lower; one that is delayed becomes ready now; one
// that is running or held becomes ready when it is let go. After Drain or Close, Add
// does nothing and returns ErrClosed.
func (q *Queue[K]) Add(key K) error { return q.AddWith(key, AddOptions{}) }

// AddAfter makes a key ready after d; if d is not positive, now, as Add does.
// If the key is delayed already, the earlier time wins; if it is ready, or was
// added while it runs, nothing changes. After Drain or Close, AddAfter does
// nothing and returns ErrClosed.
func (q *Queue[K]) AddAfter(key K, d time.Duration) error {
	return q.AddWith(key, AddOptions{After: d})
}

// AddWith makes a key ready as the options say. What they leave out is as in Add
// and AddAfter. A priority out of range is ErrInvalid, and a key that no queue can
// hold is ErrBadKey.
func (q *Queue[K]) AddWith(key K, opts AddOptions) error {
	tenant, err := q.admit(key)
	if err != nil {
		return err
	}
	if opts.Priority < MinPriority || opts.Priority > MaxPriority {
		return fmt.Errorf("%w: priority %d: must be from %d to %d", ErrInvalid, opts.Priority, MinPriority, MaxPriority)
	}
	hash := q.table.hash(key)
	q.mu.Lock()
	if q.phase != open {
		q.counts.refused++
		q.mu.Unlock()
		return keyError(fmt.Errorf("%w: not added", ErrClosed), key)
	}
	merged := q.add(hash, key, tenant, opts)
	w := q.waiters.next(q.available())
	q.mu.Unlock()
	w.wake()
	if q.observer != nil {
		q.observer.Added(merged)
	}
	return nil
}

// add adds a key and reports whether the queue had it already.
func (q *Queue[K]) add(hash uint32, key K, tenant string, opts AddOptions) (merged bool) {
	q.counts.adds++
	priority := int16(opts.Priority)
	it := q.table.find(hash, key)
	if it == nil {
		it = q.table.add(hash, key)
		q.ready.join(it, tenant, priority)
		q.admitted(it, q.now(), opts)
		return false
	}
	q.counts.merged++
	if it.place == ready && priority <= it.priority && !(opts.KeepDelay && opts.After > 0) {
		return true
	}
	now := q.now()
	q.prefer(it, priority, now)
	q.admitted(it, now, opts)
	return true
}

// admitted gives an added item the place that the options ask for.
func (q *Queue[K]) admitted(it *item[K], now time.Duration, opts AddOptions) {
	switch {
	case opts.KeepBackoff && it.waitsOutBackoff():
	case opts.After > 0:
		if opts.KeepDelay || it.place != ready && it.want == nothing {
			q.postpone(it, now, opts.After, opts.Replace)
		}
	case it.place == ready || it.want == wanted:
	default:
		if !opts.KeepDelay {
			q.endDelay(it)
		}
		q.makeReady(it, now)
		if opts.KeepBackoff && it.place == running {
			it.want = patient
		}
	}
}

// prefer raises the priority of an item that is added again. One that is ready
// takes a new stand if it gains by that: it is handed out no later than if each of
// its adds had been the only one.
func (q *Queue[K]) prefer(it *item[K], priority int16, now time.Duration) {
	switch {
	case it.place == running && it.pursued():
		it.pending = max(it.pending, priority)
	case it.place == running:
		it.pending = priority
	case it.place == aside && !it.pursued():
		it.priority = priority // it is only held: nothing else is asked of it
	case priority > it.priority:
		it.priority = priority
		if it.place == ready && q.ready.gains(it, priority, now) {
			q.ready.remove(it)
			q.ready.push(it, now)
		}
	}
}

// Cancel ends the delay of a key and reports whether it had one. A key that was
// delayed only, be it by AddAfter, by a wish or by its back-off, leaves the queue,
// and so do its failures. One that runs, or was added while it ran, or is held,
// stays.
func (q *Queue[K]) Cancel(key K) bool {
	if !q.isKey(key) {
		return false
	}
	hash := q.table.hash(key)
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.table.find(hash, key)
	if it == nil || it.slot == 0 {
		return false
	}
	q.endDelay(it)
	if it.place == aside && it.holds == nil {
		q.forget(it)
	}
	return true
}
