package workqueue

import (
	"fmt"
	"time"
)

// Hold says why a key is held, and for how long at most. See [Queue.Hold].
type Hold struct {
	// Reason says what the key waits for, for those who ask [Queue.Why]: "pods
	// at version 4711". An empty reason is an error.
	Reason string
	// Limit is how long the key is held if nobody releases it. It must be
	// positive: no key waits for ever for something that may never come.
	Limit time.Duration
	// Expired, if not nil, is called when the hold has ended by its limit, and
	// not if it was released or has ended with the queue. It is called without
	// locks by a goroutine of the queue's timer, perhaps at the same time as
	// that of another hold, and should return soon.
	Expired func()
}

// hold is a hold on a key.
type hold[K comparable] struct {
	Hold
	it         *item[K] // nil once the hold has ended
	next, prev *hold[K] // of the same item
	since      time.Duration
	slot       int32 // in Queue.holds
}

func (h *hold[K]) heapSlot() *int32 { return &h.slot }

// Hold keeps a key from being handed out until release is called, or the limit of
// the hold has passed. Everything else goes on: the key can be added, delayed and
// cancelled, and is ready when it is let go if it would have been by then. Other
// keys do not wait for it.
//
// Any key can be held, at any time. A ready one steps aside. One that is running
// runs on, and is held from then on: so a worker that has written something that
// it must see before its next run holds its key first, arranges for the release,
// and then calls Done, and there is no moment at which the key could slip through.
// A key that is not in the queue is held too, and leaves the queue when it is let
// go and nobody has added it.
//
// A key may have several holds, each with a release of its own, and is let go when
// the last has ended. A release ends its own hold only, does nothing when that has
// ended already, and may be called by anybody at any time.
//
// A drain goes on holding keys that were to run. Close ends all holds. The error is
// ErrClosed if the queue is closed, or is draining and does not know the key;
// ErrInvalid for a hold without a reason or limit; ErrBadKey as for Add.
func (q *Queue[K]) Hold(key K, h Hold) (release func(), err error) {
	tenant, err := q.admit(key)
	switch {
	case err != nil:
		return nil, err
	case h.Reason == "":
		return nil, keyError(fmt.Errorf("%w: a hold without a reason", ErrInvalid), key)
	case h.Limit <= 0:
		return nil, keyError(fmt.Errorf("%w: a hold for %v", ErrInvalid, h.Limit), key)
	}
	hash := q.table.hash(key)
	q.mu.Lock()
	it := q.table.find(hash, key)
	if q.phase == closed || q.phase == draining && it == nil {
		q.mu.Unlock()
		return nil, keyError(fmt.Errorf("%w: not held", ErrClosed), key)
	}
	now := q.now()
	if it == nil {
		it = q.table.add(hash, key)
		q.ready.join(it, tenant, 0)
	}
	held := q.hold(it, h, now)
	q.setAlarm(now)
	q.mu.Unlock()
	return func() { q.release(held) }, nil
}

// hold puts a hold on an item.
func (q *Queue[K]) hold(it *item[K], h Hold, now time.Duration) *hold[K] {
	held := &hold[K]{Hold: h, it: it, next: it.holds, since: now}
	first := it.holds == nil
	if !first {
		it.holds.prev = held
	}
	it.holds = held
	q.nth++
	q.holds.set(held, later(now, h.Limit), q.nth)
	if !first || it.place == running {
		return held
	}
	if it.place == ready {
		q.ready.remove(it)
		it.want = wanted
	}
	q.setAside(it, now)
	return held
}

// release ends a hold if it has not ended yet.
func (q *Queue[K]) release(h *hold[K]) {
	q.mu.Lock()
	if h.it == nil {
		q.mu.Unlock()
		return
	}
	q.unhold(h, q.now())
	q.endIfIdle()
	w := q.waiters.next(q.available())
	q.mu.Unlock()
	w.wake()
}

// unhold ends a hold, and lets its item go if that was the last.
func (q *Queue[K]) unhold(h *hold[K], now time.Duration) {
	it := h.it
	if h.prev == nil {
		it.holds = h.next
	} else {
		h.prev.next = h.next
	}
	if h.next != nil {
		h.next.prev = h.prev
	}
	h.it, h.next, h.prev = nil, nil, nil
	q.holds.remove(h)
	if it.holds != nil || it.place == running {
		return
	}
	q.held.remove(it)
	switch {
	case it.want != nothing:
		q.makeReady(it, now)
	case it.slot == 0:
		q.forget(it)
	}
}

// letGo lets an item leave the queue that is in no list, whatever holds it.
func (q *Queue[K]) letGo(it *item[K]) {
	if it.slot > 0 {
		q.delays.remove(it)
	}
	for h := it.holds; h != nil; {
		next := h.next
		h.it, h.next, h.prev = nil, nil, nil
		q.holds.remove(h)
		h = next
	}
	it.holds = nil
	q.forget(it)
}
