package workqueue

import (
	"context"
	"fmt"
)

// DrainMode says what a drain does with the keys whose time has not come.
type DrainMode int

const (
	// RunDelayed makes delayed keys ready at once.
	RunDelayed DrainMode = iota
	// DropDelayed drops them, for a program that ends soon and will start with
	// everything anyway.
	DropDelayed
)

// Drain lets the queue run dry and closes it. From the moment it is called, Add
// is refused. Keys that are ready, and those that were added while they ran or
// were held, are still handed out; what becomes of delayed ones is said by mode.
// Drain returns when all that are handed out are Done.
//
// Keys do not return while a queue drains, or it might never end: one that fails
// is dropped and counted instead of retried. If that happens, or if Close drops
// keys that Drain waits for, the error is ErrDropped and says how many; the
// queue is closed all the same. Keys that DropDelayed drops are counted, but are
// no error.
//
// If ctx ends first, the error is that of ctx and says what is left. The queue
// goes on draining: call Drain again to go on waiting, or Close to give up. Any
// number of Drains may wait at once. After Close, Drain waits for the keys that
// are still running.
func (q *Queue[K]) Drain(ctx context.Context, mode DrainMode) error {
	switch {
	case ctx == nil:
		return errNilContext
	case mode != RunDelayed && mode != DropDelayed:
		return fmt.Errorf("%w: drain mode %d", ErrInvalid, mode)
	}
	before := q.beginDrain(mode)
	select {
	case <-q.idle:
	case <-ctx.Done():
		select {
		case <-q.idle:
		default:
			s := q.Stats()
			return fmt.Errorf("workqueue: not drained, %d keys ready, %d held and %d running: %w",
				s.Ready, s.Held, s.Running, context.Cause(ctx))
		}
	}
	q.mu.Lock()
	dropped := q.counts.dropped - before
	q.mu.Unlock()
	if dropped > 0 {
		return fmt.Errorf("%w while the queue drained: %d", ErrDropped, dropped)
	}
	return nil
}

// beginDrain refuses new keys, makes delayed ones ready or drops them, lets go of
// those that are held for nothing, and returns the number of keys that were
// dropped until then.
func (q *Queue[K]) beginDrain(mode DrainMode) (dropped uint64) {
	q.mu.Lock()
	q.phase = max(q.phase, draining)
	now := q.now()
	for q.delays.len() > 0 {
		it := q.delays.first()
		q.delays.remove(it)
		if mode == RunDelayed {
			q.makeReady(it, now)
			continue
		}
		q.counts.dropped++
		if it.place == aside && it.holds == nil {
			q.forget(it)
		}
	}
	for it := q.held.head; it != nil; {
		next := it.next
		if it.want == nothing {
			q.held.remove(it)
			q.letGo(it)
		}
		it = next
	}
	if q.holds.len() == 0 && q.alarm.pace == 0 {
		q.stopAlarm()
	}
	dropped = q.counts.dropped
	q.endIfIdle()
	w := q.waiters.next(q.available())
	q.mu.Unlock()
	w.wake()
	return dropped
}

// Close closes the queue at once. Add and Get return ErrClosed, those that wait
// too. Keys that are not running are dropped and counted; those that run may
// be Done, and do not return. Use [Queue.Drain] first to lose nothing, and
// afterwards to wait for what is running. Close may be called more than once.
func (q *Queue[K]) Close() {
	q.mu.Lock()
	if q.phase != closed {
		q.phase = closed
		q.dropWaiting()
		q.endIfIdle()
	}
	w := q.waiters.next(q.available())
	q.mu.Unlock()
	w.wake()
}

// dropWaiting drops all keys but those that run, which forget that they were
// to run again.
func (q *Queue[K]) dropWaiting() {
	q.stopAlarm()
	for _, h := range q.holds.entries {
		h.of.it, h.of.next, h.of.prev = nil, nil, nil
	}
	q.table.all(func(it *item[K]) {
		if it.place == ready || it.pursued() {
			q.counts.dropped++
		}
	})
	q.table.retain(&q.running)
	q.delays, q.holds, q.held = heap[*item[K]]{}, heap[*hold[K]]{}, list[K]{}
	q.ready = newLanes[K](q.ready.step, q.ready.fair, nil)
	for it := q.running.head; it != nil; it = it.next {
		it.want, it.slot, it.holds = nothing, 0, nil
		q.ready.join(it, it.lane.id.tenant, it.priority)
	}
}

// endIfIdle ends a queue that no key can come to once the last one has left.
func (q *Queue[K]) endIfIdle() {
	if q.phase == open || q.table.len > 0 {
		return
	}
	select {
	case <-q.idle:
	default:
		q.phase = closed
		q.stopAlarm()
		close(q.idle)
	}
}
