package informer

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"heliograph.example/deltafifo"
)

// processorListener delivers changes to one handler at the handler's pace. The
// controller loop pushes; one goroutine at a time delivers. Neither waits for
// the other.
type processorListener[T any] struct {
	handler Handler[T]
	opts    HandlerOptions[T]
	reg     *Registration
	// report takes failures of the handler.
	report func(*ObjectError)
	// detector looks out for writes of the handler; nil if nobody does.
	detector *detector[T]

	// cancel ends the goroutine that delivers; nil while there is none. The
	// processor guards it.
	cancel context.CancelFunc
	// wake holds at most one token: there may be something to take.
	wake chan struct{}
	// removed is closed when the handler is to be told no more.
	removed chan struct{}

	mu      sync.Mutex
	pending pending[T]
	// seeded is set once the initial objects have been pushed.
	seeded bool
	// idle is set while whoever takes waits for wake, or is about to.
	idle bool
	// marks are the waits for what was pending when they began, in order.
	marks []*mark
	// taken counts the changes taken and not given back.
	taken uint64

	// delivered counts those of them that were told.
	delivered atomic.Uint64
	panics    atomic.Uint64
}

func newListener[T any](h Handler[T], opts HandlerOptions[T], report func(*ObjectError)) *processorListener[T] {
	l := &processorListener[T]{
		handler: h,
		opts:    opts,
		report:  report,
		wake:    make(chan struct{}, 1),
		removed: make(chan struct{}),
	}
	l.reg = &Registration{name: opts.Name, synced: make(chan struct{}), done: make(chan struct{}), status: l.status}
	return l
}

// seed pushes the initial objects, however many. The batch must not be changed
// any more.
func (l *processorListener[T]) seed(batch []Change[T]) {
	l.mu.Lock()
	l.seeded = true
	l.pending.initial += len(batch)
	if len(batch) > 0 {
		l.pending.push(batch, max(l.opts.Budget, len(batch)))
	}
	l.settleSync()
	l.unlockAndWake()
}

// push appends a batch, which must not be changed any more. live is the number
// of objects in the store: as many pending changes cost no more than the store
// itself, and are not folded.
func (l *processorListener[T]) push(batch []Change[T], live int) {
	l.mu.Lock()
	l.pending.push(batch, max(l.opts.Budget, live))
	l.settleSync() // folding may have dropped the last initial object
	l.settleMarks()
	l.unlockAndWake()
}

// unlockAndWake releases mu, and wakes whoever waits for something to take.
func (l *processorListener[T]) unlockAndWake() {
	idle := l.idle
	l.idle = false
	l.mu.Unlock()
	if !idle {
		return
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take returns the next changes to deliver, nil if there are none; then wake
// tells when to try again.
func (l *processorListener[T]) take() []Change[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := l.pending.take()
	l.settleMarks()
	l.taken += uint64(len(batch))
	l.idle = batch == nil
	return batch
}

// giveBack takes changes back that were taken and not told.
func (l *processorListener[T]) giveBack(rest []Change[T]) {
	if len(rest) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken -= uint64(len(rest))
	l.pending.giveBack(rest)
	l.settleSync()
}

// told notes that the handler has returned from a change.
func (l *processorListener[T]) told(initial bool) {
	l.delivered.Add(1)
	if !initial {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending.initial--
	l.settleSync()
}

// settleSync closes synced once no initial object waits. The caller holds mu.
func (l *processorListener[T]) settleSync() {
	if l.seeded && l.pending.initial == 0 {
		l.reg.closeSynced()
	}
}

// isSeeded reports whether the initial objects have been pushed.
func (l *processorListener[T]) isSeeded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seeded
}

// run delivers until ctx ends. What is undelivered then stays pending, so that
// a later run goes on with an unbroken chain. resync is called when the handler's
// resync period is over.
func (l *processorListener[T]) run(ctx context.Context, resync func()) {
	var due <-chan time.Time
	if l.opts.Resync > 0 {
		ticker := time.NewTicker(l.opts.Resync)
		defer ticker.Stop()
		due = ticker.C
	}
	for ctx.Err() == nil {
		if batch := l.take(); batch != nil {
			l.deliverAll(ctx, batch)
			select {
			case <-due: // also if there is always something to deliver
				resync()
			default:
			}
			continue
		}
		select {
		case <-l.wake:
		case <-due:
			resync()
		case <-ctx.Done():
		}
	}
}

// deliverAll delivers a batch, or as much of it as ctx leaves time for.
func (l *processorListener[T]) deliverAll(ctx context.Context, batch []Change[T]) {
	n := 0
	// Deferred for a handler that ends its goroutine: the rest is not lost.
	defer func() { l.giveBack(batch[n:]) }()
	for n < len(batch) && ctx.Err() == nil {
		n++
		l.deliver(ctx, batch[n-1])
	}
}

// deliver calls the handler with what its filter makes of the change.
func (l *processorListener[T]) deliver(ctx context.Context, c Change[T]) {
	defer l.told(c.Initial)
	if l.opts.Filter != nil && !l.filter(&c) {
		return
	}
	if l.detector != nil {
		defer l.detector.calling(l.opts.Name, c)()
	}
	returned := false
	defer func() {
		if !returned {
			l.failed(&c, recover())
		}
	}()
	l.handler.Handle(ctx, c)
	returned = true
}

// filter turns c into what the filter lets the handler see of it, and reports
// whether that is anything. A filter that panics does not match.
func (l *processorListener[T]) filter(c *Change[T]) bool {
	switch c.Type {
	case deltafifo.Added:
		return l.matches(c, c.New)
	case deltafifo.Deleted:
		return l.matches(c, c.Old)
	}
	before, after := l.matches(c, c.Old), l.matches(c, c.New)
	switch {
	case before && !after:
		c.Type = deltafifo.Deleted
	case !before && after:
		var none T
		c.Type, c.Old = deltafifo.Added, none
	}
	return before || after
}

func (l *processorListener[T]) matches(c *Change[T], obj T) (ok bool) {
	returned := false
	defer func() {
		if !returned {
			l.failed(c, recover())
		}
	}()
	ok = l.opts.Filter(obj)
	returned = true
	return ok
}

// failed counts and reports a call of the user's code that did not return: v is
// what it panicked with, nil if it ended the goroutine.
func (l *processorListener[T]) failed(c *Change[T], v any) {
	err := errGoexit
	if v != nil {
		err = &PanicError{Value: v, Stack: debug.Stack()}
	}
	l.panics.Add(1)
	l.report(&ObjectError{
		Key: c.Key, UID: c.UID, Version: c.Version, Stage: StageHandler,
		Err: fmt.Errorf("handler %s: %w", l.opts.Name, err),
	})
}

func (l *processorListener[T]) status() HandlerStatus {
	l.mu.Lock()
	waiting, folding := l.pending.len(), l.pending.folded != nil
	delivered := l.delivered.Load()
	waiting += int(l.taken - delivered)
	l.mu.Unlock()
	return HandlerStatus{
		Name:      l.opts.Name,
		Synced:    l.reg.isSynced(),
		Pending:   waiting,
		Folding:   folding,
		Delivered: delivered,
		Panics:    l.panics.Load(),
	}
}
