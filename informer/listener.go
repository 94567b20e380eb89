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

	// running is true while a goroutine delivers; guarded by the processor.
	running bool
	// wake holds at most one token: there may be something to take.
	wake chan struct{}
	// life ends when the handler is to be told no more.
	life context.Context
	end  context.CancelFunc

	mu      sync.Mutex
	pending pending[T]
	// seeded is set once the initial objects have been pushed.
	seeded bool

	delivered atomic.Uint64
	panics    atomic.Uint64
}

func newListener[T any](h Handler[T], opts HandlerOptions[T], report func(*ObjectError)) *processorListener[T] {
	l := &processorListener[T]{
		handler: h,
		opts:    opts,
		report:  report,
		wake:    make(chan struct{}, 1),
	}
	l.life, l.end = context.WithCancel(context.Background())
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
	l.mu.Unlock()
	l.signal()
}

// push appends a batch, which must not be changed any more. live is the number
// of objects in the store: as many pending changes cost no more than the store
// itself, and are not folded.
func (l *processorListener[T]) push(batch []Change[T], live int) {
	l.mu.Lock()
	l.pending.push(batch, max(l.opts.Budget, live))
	l.settleSync() // folding may have dropped the last initial object
	l.mu.Unlock()
	l.signal()
}

func (l *processorListener[T]) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take returns the next changes to deliver, nil if there are none.
func (l *processorListener[T]) take() []Change[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pending.take()
}

// settled notes that the changes in taken[:n] were delivered and gives the
// others back.
func (l *processorListener[T]) settled(taken []Change[T], n int) {
	initial := 0
	for i := range taken[:n] {
		if taken[i].Initial {
			initial++
		}
	}
	l.delivered.Add(uint64(n))
	if initial == 0 && n == len(taken) {
		return
	}
	l.mu.Lock()
	l.pending.initial -= initial
	l.pending.giveBack(taken[n:])
	l.settleSync()
	l.mu.Unlock()
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

// run delivers until ctx ends or the handler is removed. What is undelivered
// then stays pending, so that a later run goes on with an unbroken chain.
// resync is called when the handler's resync period is over.
func (l *processorListener[T]) run(ctx context.Context, resync func()) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.life, cancel)()
	var due <-chan time.Time
	if l.opts.Resync > 0 {
		ticker := time.NewTicker(l.opts.Resync)
		defer ticker.Stop()
		due = ticker.C
	}
	for l.deliverAll(ctx) {
		select {
		case <-l.wake:
		case <-due:
			resync()
		case <-ctx.Done():
			return
		}
	}
}

// deliverAll delivers until nothing is pending. It reports whether to go on.
func (l *processorListener[T]) deliverAll(ctx context.Context) bool {
	for {
		batch := l.take()
		if batch == nil {
			return true
		}
		for i := range batch {
			if ctx.Err() != nil {
				l.settled(batch, i)
				return false
			}
			l.deliver(ctx, batch[i])
		}
		l.settled(batch, len(batch))
	}
}

// deliver calls the handler with what its filter makes of the change.
func (l *processorListener[T]) deliver(ctx context.Context, c Change[T]) {
	if l.opts.Filter != nil && !l.filter(&c) {
		return
	}
	defer l.recovered(&c)
	l.handler.Handle(ctx, c)
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
	defer l.recovered(c)
	return l.opts.Filter(obj)
}

// recovered is deferred around calls of the user's code.
func (l *processorListener[T]) recovered(c *Change[T]) {
	if v := recover(); v != nil {
		l.panics.Add(1)
		l.report(&ObjectError{
			Key: c.Key, UID: c.UID, Version: c.Version, Stage: StageHandler,
			Err: fmt.Errorf("handler %s: %w", l.opts.Name, &PanicError{Value: v, Stack: debug.Stack()}),
		})
	}
}

func (l *processorListener[T]) status() HandlerStatus {
	l.mu.Lock()
	waiting, folding := l.pending.len(), l.pending.folded != nil
	l.mu.Unlock()
	return HandlerStatus{
		Name:      l.opts.Name,
		Synced:    l.reg.isSynced(),
		Pending:   waiting,
		Folding:   folding,
		Delivered: l.delivered.Load(),
		Panics:    l.panics.Load(),
	}
}
