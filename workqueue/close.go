package workqueue

import (
	"context"
	"fmt"
)

// Drain lets the queue run dry and closes it. From the moment it is called, Add
// is refused. Keys that are ready, and those that were added while they run,
// are still handed out; delayed ones are made ready at once. Drain returns when
// all of them are Done.
//
// Keys do not return while a queue drains, or it might never end: one that fails
// is dropped and counted instead of retried. If that happens, or if Close drops
// keys that Drain waits for, the error is ErrDropped and says how many; the
// queue is closed all the same.
//
// If ctx ends first, the error is that of ctx and says what is left. The queue
// goes on draining: call Drain again to go on waiting, or Close to give up. Any
// number of Drains may wait at once. After Close, Drain waits for the keys that
// are still running.
func (q *Queue[K]) Drain(ctx context.Context) error {
	if ctx == nil {
		return errNilContext
	}
	before := q.beginDrain()
	select {
	case <-q.idle:
	case <-ctx.Done():
		select {
		case <-q.idle:
		default:
			s := q.Stats()
			return fmt.Errorf("workqueue: not drained, %d keys ready and %d running: %w", s.Ready, s.Running, context.Cause(ctx))
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

// beginDrain refuses new keys, makes delayed ones ready, and returns the number
// of keys that were dropped before.
func (q *Queue[K]) beginDrain() (dropped uint64) {
	q.mu.Lock()
	dropped = q.counts.dropped
	q.phase = max(q.phase, draining)
	for q.delays.len() > 0 {
		q.makeReady(q.delays.first())
	}
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
	q.counts.dropped += uint64(len(q.shelf.items) - q.running.len)
	q.shelf = shelf[K]{items: make(map[K]*item[K], q.running.len)}
	for it := q.running.head; it != nil; it = it.next {
		if it.again || it.slot > 0 {
			q.counts.dropped++
		}
		it.again, it.slot = false, 0
		q.shelf.items[it.key] = it
	}
	q.ready, q.delays = list[K]{}, delays[K]{}
}

// endIfIdle ends a queue that no key can come to once the last one has left.
func (q *Queue[K]) endIfIdle() {
	if q.phase == open || len(q.shelf.items) > 0 {
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
