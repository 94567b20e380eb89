package workqueue

import (
	"context"
	"fmt"
	"time"
)

// Get waits for a key and hands it out: no other worker gets this key until it
// is Done. Get returns the context's error when ctx ends, even if keys are
// ready, and an error that is ErrClosed after Close, or when a drain has ended.
func (q *Queue[K]) Get(ctx context.Context) (K, error) {
	it, waited, err := q.wait(ctx)
	if err != nil {
		var none K
		return none, err
	}
	key, w := it.key, q.waiters.next(q.available())
	q.mu.Unlock()
	w.wake()
	if q.observer != nil {
		q.observer.Started(waited)
	}
	return key, nil
}

// TryGet hands out a key as Get does if there is one that can be had now, and
// otherwise reports false, also after Close.
func (q *Queue[K]) TryGet() (K, bool) {
	q.mu.Lock()
	it, waited := q.take()
	if it == nil {
		q.mu.Unlock()
		var none K
		return none, false
	}
	key, w := it.key, q.waiters.next(q.available())
	q.mu.Unlock()
	w.wake()
	if q.observer != nil {
		q.observer.Started(waited)
	}
	return key, true
}

// GetBatch waits for a key as Get does, and hands out with it what else is ready
// at that moment, up to n keys, in the order in which Get would. It does not wait
// for a batch to fill. Each key must be given back with Done. With a rate, a batch
// is no larger than the rate allows. An n below 1 is an error.
func (q *Queue[K]) GetBatch(ctx context.Context, n int) ([]K, error) {
	if n < 1 {
		return nil, fmt.Errorf("%w: a batch of %d keys", ErrInvalid, n)
	}
	it, waited, err := q.wait(ctx)
	if err != nil {
		return nil, err
	}
	room := min(n, 1+q.ready.len)
	keys := append(make([]K, 0, room), it.key)
	var waits []time.Duration
	if q.observer != nil {
		waits = append(make([]time.Duration, 0, room), waited)
	}
	for now := it.since; len(keys) < n; {
		it, waited := q.takeAt(now)
		if it == nil {
			break
		}
		keys = append(keys, it.key)
		if q.observer != nil {
			waits = append(waits, waited)
		}
	}
	w := q.waiters.next(q.available())
	q.mu.Unlock()
	w.wake()
	for _, waited := range waits {
		q.observer.Started(waited)
	}
	return keys, nil
}

// wait waits for an item, takes it, and returns it with how long it was ready. It
// returns with the lock held if there is no error, and without it otherwise.
func (q *Queue[K]) wait(ctx context.Context) (*item[K], time.Duration, error) {
	if ctx == nil {
		return nil, 0, errNilContext
	}
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	q.mu.Lock()
	for {
		if it, waited := q.take(); it != nil {
			return it, waited, nil
		}
		if q.phase == closed {
			return nil, 0, q.giveUp(ErrClosed)
		}
		w := q.waiters.join()
		q.mu.Unlock()
		woken := w.wait(ctx)
		q.mu.Lock()
		q.waiters.leave(w, woken)
		if err := ctx.Err(); err != nil {
			return nil, 0, q.giveUp(err)
		}
	}
}

// giveUp unlocks and returns err, for a Get that goes without a key. Whoever woke
// it counts on more to follow.
func (q *Queue[K]) giveUp(err error) error {
	w := q.waiters.next(q.available())
	q.mu.Unlock()
	w.wake()
	return err
}

// take hands out the item that is next, and says how long it was ready. It returns
// nil if there is none, or if the pace forbids it for now.
func (q *Queue[K]) take() (it *item[K], waited time.Duration) {
	if q.ready.len == 0 {
		return nil, 0 // and the clock is not asked
	}
	return q.takeAt(q.now())
}

func (q *Queue[K]) takeAt(now time.Duration) (it *item[K], waited time.Duration) {
	if q.ready.len == 0 || !q.pace(now) {
		return nil, 0
	}
	it = q.ready.take()
	waited = now - it.since
	q.counts.waits.add(waited)
	if it.slot > 0 {
		it.pending = it.priority // the delay beside it asks for a further run
	}
	it.place, it.since = running, now
	q.running.push(it)
	if q.tracer != nil {
		q.tracer.Started(it.key)
	}
	return it, waited
}
