package deltafifo

import (
	"context"
	"fmt"
	"time"
)

// Pop waits for deltas and returns those at hand, at least one, in order, up to
// Options.BatchSize. It returns more only to keep together what a compaction
// has left (see the package documentation).
//
// Calling Pop acknowledges the batch that the call before it returned: its
// deltas count as applied, its slice is cleared and will be used again. The
// acknowledgement happens first, even if Pop then waits or fails.
//
// When ctx ends, Pop returns its error, even if deltas are at hand; they stay in
// the queue. After Close it returns what is left and then [ErrClosed]. When it has
// waited for Options.Idle it returns [ErrIdle]. While another Pop runs it returns
// [ErrConcurrentPop].
func (q *DeltaFIFO[T]) Pop(ctx context.Context) ([]Delta[T], error) {
	if ctx == nil {
		return nil, ErrNilContext
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.popping {
		return nil, ErrConcurrentPop
	}
	q.popping = true
	defer func() { q.popping, q.waiting = false, false }()
	q.acknowledge()
	for idle := false; ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if q.buf.len() > 0 {
			return q.take(), nil
		}
		if q.closed {
			return nil, ErrClosed
		}
		q.trim()
		if idle && q.opts.Idle > 0 {
			q.timer, q.wake = nil, nil
			return nil, ErrIdle
		}
		idle = q.wait(ctx)
	}
}

// wait waits for a reason to look again, and reports whether that is that nothing
// has come for a while. It lets go of the lock meanwhile.
func (q *DeltaFIFO[T]) wait(ctx context.Context) (idle bool) {
	over := q.patience()
	if q.wake == nil {
		q.wake = make(chan struct{}, 1)
	}
	wake := q.wake
	q.waiting = true
	q.mu.Unlock()
	defer q.mu.Lock()
	select {
	case <-wake:
	case <-ctx.Done():
	case <-over:
		return true
	}
	return false
}

// take puts the next batch in flight.
func (q *DeltaFIFO[T]) take() []Delta[T] {
	n := min(q.buf.len(), max(q.opts.BatchSize, q.whole))
	if n == q.buf.len() {
		q.batch, q.batchSlots = q.buf.takeAll(q.spare)
	} else {
		q.batch = q.buf.takeFront(n, q.spare)
		q.batchSlots = q.batch[:0]
		if q.wasteful(q.buf.slots, q.buf.len()) {
			q.buf.moveTo(2 * q.buf.len())
		}
	}
	q.series.took(n)
	q.spare = nil
	q.weight -= weight(q.batch)
	q.fresh = min(q.fresh, q.weight)
	q.popped += uint64(n + q.dropped)
	q.whole, q.dropped = 0, 0
	// The batch has no room to append to: what follows it in the slice is not
	// the consumer's.
	return q.batch[:n:n]
}

// acknowledge ends the flight of the last batch.
func (q *DeltaFIFO[T]) acknowledge() {
	if q.batch == nil {
		return
	}
	clear(q.batch)
	if !q.wasteful(q.batchSlots, len(q.batch)) {
		q.spare = q.batchSlots
	}
	q.batch, q.batchSlots, q.inFlight = nil, nil, nil
	q.acknowledged()
}

// acknowledged moves acked to popped and tells those who wait for it.
func (q *DeltaFIFO[T]) acknowledged() {
	q.acked = q.popped
	if q.settled != nil {
		close(q.settled)
		q.settled = nil
	}
}

// wasteful reports whether a slice of which used slots were needed is to be
// given back. In a series of bursts it is not, unless it is larger than what the
// queue may hold without a compaction.
func (q *DeltaFIFO[T]) wasteful(slots []Delta[T], used int) bool {
	if !oversized(slots, used) {
		return false
	}
	return cap(slots) > capacity(q.opts.Budget) || !q.series.lasts()
}

// trim gives back what an idle queue does not need.
func (q *DeltaFIFO[T]) trim() {
	if q.wasteful(q.buf.slots, 0) {
		q.buf = buffer[T]{}
	}
	if q.wasteful(q.spare, 0) {
		q.spare = nil
	}
}

// large reports whether there is more to trim once a series is over.
func (q *DeltaFIFO[T]) large() bool {
	return max(cap(q.buf.slots), cap(q.spare)) > idleCapacity
}

// patience returns a channel that is sent to when a Pop has waited for long enough:
// for Options.Idle, and, if there is more to trim then, until a series is over. It
// is nil if neither matters.
func (q *DeltaFIFO[T]) patience() <-chan time.Time {
	limit := q.opts.Idle
	if q.large() {
		limit = max(limit, seriesGap)
	}
	switch {
	case limit == 0:
		return nil
	case q.timer == nil:
		q.timer = time.NewTimer(limit)
	default:
		q.timer.Reset(limit)
	}
	return q.timer.C
}

// Settled waits until the consumer is done with everything that was pushed
// before the call: until it was popped and acknowledged by another Pop. The
// reflector calls it before a relist compares with the store.
//
// When ctx ends first, it returns an error that wraps that of ctx. On a closed
// queue it does not wait: whatever is not acknowledged may never be, and
// [ErrClosed] is returned.
func (q *DeltaFIFO[T]) Settled(ctx context.Context) error {
	if ctx == nil {
		return ErrNilContext
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for target := q.pushed; q.acked < target; {
		unsettled := func(err error) error {
			return fmt.Errorf("%d deltas are not applied (%d queued, %d in flight): %w",
				target-q.acked, q.buf.len(), len(q.batch), err)
		}
		if q.closed {
			return unsettled(ErrClosed)
		}
		if err := ctx.Err(); err != nil {
			return unsettled(err)
		}
		if q.settled == nil {
			q.settled = make(chan struct{})
		}
		settled := q.settled
		q.mu.Unlock()
		select {
		case <-settled:
		case <-ctx.Done():
		}
		q.mu.Lock()
	}
	return nil
}
