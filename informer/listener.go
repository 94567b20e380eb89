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

// The states of a listener. Whoever moves one from idle to running starts its
// goroutine, or wakes the loop that pulls.
const (
	// stateOff is that of a listener that is not run: the informer is stopped.
	stateOff uint32 = iota
	// stateIdle is that of one that has taken everything.
	stateIdle
	// stateRunning is that of one with a goroutine, or whose loop looks for
	// changes.
	stateRunning
	// stateGone is that of one that was removed. It is the last.
	stateGone
)

// processorListener delivers changes to one handler at the handler's pace. A
// goroutine delivers while there is something to deliver. A listener without a
// handler is one whose changes are pulled (see Informer.Changes).
type processorListener[T any] struct {
	handler Handler[T]
	opts    HandlerOptions[T]
	reg     *Registration
	// report takes failures of the handler.
	report func(*ObjectError)
	// detector looks out for writes of the handler; nil if nobody does.
	detector *detector[T]
	// working counts the goroutines of all listeners.
	working *sync.WaitGroup

	state atomic.Uint32
	// serving is the method serve, made once: to start a goroutine allocates
	// nothing then.
	serving func()
	// wake tells one who pulls that there may be something to take.
	wake chan struct{}
	// removed is closed when the handler is to be told no more.
	removed chan struct{}

	// ctx is that of the present run, ended early by a removal; cancel ends it.
	// resync is the timer of the resync period. The processor guards them; ctx
	// is also read by the goroutine that delivers.
	ctx    context.Context
	cancel context.CancelFunc
	resync *time.Timer

	mu      sync.Mutex
	backlog backlog[T]
	// seeded is set once the listener knows the initial objects, and told once
	// the handler has returned from the last of them.
	seeded, toldInitial bool
	// marks are the waits for what was pending when they began, in order.
	marks []*mark
	// taken counts the changes taken and not given back.
	taken uint64

	// delivered counts those of them that were told.
	delivered atomic.Uint64
	panics    atomic.Uint64
	// busySince is when the goroutine began, in nanoseconds of Unix time.
	busySince atomic.Int64
}

func newListener[T any](h Handler[T], opts HandlerOptions[T], report func(*ObjectError)) *processorListener[T] {
	l := &processorListener[T]{handler: h, opts: opts, report: report, removed: make(chan struct{})}
	if h == nil {
		l.wake = make(chan struct{}, 1)
		l.state.Store(stateRunning)
	}
	l.serving = l.serve
	l.reg = &Registration{name: opts.Name, synced: make(chan struct{}), done: make(chan struct{}), status: l.status}
	return l
}

// begin adds a walk, unless one is under way, and reports whether it did. The
// first walk is that of the initial objects. Wake follows.
func (l *processorListener[T]) begin(w *walk[T]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.backlog.closed || l.backlog.walk != nil || w.resync && !l.seeded {
		return false
	}
	l.seeded = true
	if w.left > 0 {
		l.backlog.walk = w
		return true
	}
	l.ended(w)
	return false
}

// ended is told of the end of a walk. The caller holds mu, and closes the
// snapshot.
func (l *processorListener[T]) ended(w *walk[T]) {
	if w.resync || l.toldInitial {
		return
	}
	l.toldInitial = true
	l.reg.closeSynced()
}

// follow tells a listener that the log has been written to from start on. live is
// the number of objects in the store: as many pending changes cost no more than
// the store itself, and are not folded. Only the loop calls it.
func (l *processorListener[T]) follow(start uint64, live int) {
	at := l.backlog.cursor.at.Load()
	if l.backlog.folding.Load() || start > at+uint64(max(l.opts.Budget, live)) {
		l.fold()
	}
	l.start()
}

// fold folds what waits in the log.
func (l *processorListener[T]) fold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.backlog.closed {
		return
	}
	l.backlog.fold()
	l.settleMarks() // what came and went is not told
}

// start begins delivery if the listener is idle. The processor sees to it that
// the informer runs.
func (l *processorListener[T]) start() {
	if l.state.Load() != stateIdle || !l.state.CompareAndSwap(stateIdle, stateRunning) {
		return
	}
	if l.handler == nil {
		select {
		case l.wake <- struct{}{}:
		default:
		}
		return
	}
	l.working.Add(1)
	go l.serving()
}

// park ends the running state, into idle or off. It fails if there is something
// to take after all. A listener that is gone is done then.
func (l *processorListener[T]) park(to uint32) bool {
	if !l.state.CompareAndSwap(stateRunning, to) {
		l.finish()
		return true
	}
	// Whoever adds something looks at the state after that. It may have been
	// running then.
	return to != stateIdle || l.isEmpty() || !l.state.CompareAndSwap(stateIdle, stateRunning)
}

// finish is the end of a listener that is gone.
func (l *processorListener[T]) finish() {
	l.mu.Lock()
	l.backlog.release()
	l.mu.Unlock()
	close(l.reg.done)
}

func (l *processorListener[T]) isEmpty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.backlog.empty()
}

// take returns the next changes to deliver, nil if there are none.
func (l *processorListener[T]) take() []Change[T] {
	l.mu.Lock()
	batch, over := l.backlog.take(l.nextMark())
	if over != nil {
		l.ended(over)
	}
	l.settleMarks()
	l.taken += uint64(len(batch))
	l.mu.Unlock()
	if over != nil {
		over.snapshot.Close()
	}
	return batch
}

// giveBack ends the use of what was taken last. rest is what of it was not told.
func (l *processorListener[T]) giveBack(rest []Change[T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken -= uint64(len(rest))
	l.backlog.giveBack(rest)
}

// serve is the goroutine: it delivers until nothing is left, or the run or the
// registration ends. What is undelivered then stays pending, so that a later run
// goes on with an unbroken chain.
func (l *processorListener[T]) serve() {
	returned := false
	defer func() {
		if !returned { // the handler has ended the goroutine
			l.working.Add(1)
			go l.serving()
		}
		l.working.Done()
	}()
	l.busySince.Store(time.Now().UnixNano())
	for {
		if l.ctx.Err() != nil {
			l.park(stateOff)
			break
		}
		if batch := l.take(); batch != nil {
			l.deliverAll(batch)
		} else if l.park(stateIdle) {
			break
		}
	}
	returned = true
}

// deliverAll delivers a batch, or as much of it as the context leaves time for.
func (l *processorListener[T]) deliverAll(batch []Change[T]) {
	n := 0
	// Deferred for a handler that ends its goroutine: the rest is not lost.
	defer func() {
		if n < len(batch) {
			l.giveBack(batch[n:])
		}
	}()
	for n < len(batch) && l.ctx.Err() == nil {
		l.deliver(batch, &n)
	}
}

// deliver calls the handler with what its filter makes of the changes from the
// n-th on, until a call panics.
func (l *processorListener[T]) deliver(batch []Change[T], n *int) {
	ctx, calling := l.ctx, false
	defer func() {
		if calling {
			value := recover()
			l.failed(&batch[*n-1], value)
			l.delivered.Add(1)
			if value != nil && l.opts.Crash {
				panic(value)
			}
		}
	}()
	for *n < len(batch) && ctx.Err() == nil {
		c := &batch[*n]
		*n++
		calling = true
		if l.opts.Filter == nil && l.detector == nil {
			l.handler.Handle(ctx, *c)
		} else {
			l.handle(ctx, *c)
		}
		calling = false
		l.delivered.Add(1)
	}
}

// handle calls the handler through its filter and the detector.
func (l *processorListener[T]) handle(ctx context.Context, c Change[T]) {
	if l.opts.Filter != nil && !l.filter(&c) {
		return
	}
	if l.detector != nil {
		defer l.detector.calling(l.opts.Name, c)()
	}
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
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil {
			l.failed(c, v)
			if l.opts.Crash {
				panic(v)
			}
		} // else it has ended the goroutine, and deliver sees that
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
	defer l.mu.Unlock()
	delivered := l.delivered.Load()
	s := HandlerStatus{
		Name:         l.opts.Name,
		Synced:       l.reg.isSynced(),
		Pending:      l.backlog.len() + int(l.taken-delivered),
		Unread:       l.backlog.unread(),
		FoldedKeys:   l.backlog.folded.keysHeld() + l.backlog.later.keysHeld(),
		BacklogBytes: l.backlog.bytes(),
		Folding:      l.backlog.folding.Load(),
		Delivered:    delivered,
		Panics:       l.panics.Load(),
	}
	if l.handler != nil && l.state.Load() == stateRunning {
		s.BusySince = time.Unix(0, l.busySince.Load())
	}
	return s
}
