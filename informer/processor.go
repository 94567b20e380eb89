package informer

import (
	"context"
	"slices"
	"sync"
	"time"

	"heliograph.example/indexer"
)

// processor owns the log of changes and the listeners that read it, and runs them
// while the informer runs.
//
// Its lock is the order of everything that listeners are told: whoever writes to
// store and log holds it, and so does whoever takes a snapshot of the one and a
// place in the other, so that the two cannot differ. It is held for a batch or a
// few instructions, never while objects are read from the store, changes are
// folded, or a handler runs.
//
// Locks are taken in this order: the processor's, a listener's, the log's.
type processor[T any] struct {
	mu  sync.Mutex
	log changeLog[T]
	// listeners are in the order of their registration. The slice is replaced
	// when one comes or goes, never changed.
	listeners []*processorListener[T]
	// ctx is that of the current run; nil while the informer does not run.
	ctx context.Context
	// working counts the goroutines and timers of listeners. It is added to only
	// while the informer runs.
	working sync.WaitGroup
	// store and synced are what a new listener starts from: the present
	// objects, if the first list is complete.
	store  *indexer.Indexer[T]
	synced bool
}

// firstSync tells every listener of what the first complete list has left in the
// store. The caller holds mu, and runs the informer.
func (p *processor[T]) firstSync() {
	p.synced = true
	for _, l := range p.listeners {
		p.walk(l, false)
	}
}

// walk tells a listener of everything in the store. The caller holds mu.
func (p *processor[T]) walk(l *processorListener[T], resync bool) {
	snapshot := p.store.Snapshot()
	if l.begin(newWalk(snapshot, p.log.tail.Load(), resync)) {
		l.start()
	} else {
		snapshot.Close()
	}
}

// add registers a listener. It starts with the present objects.
func (p *processor[T]) add(l *processorListener[T]) {
	l.working = &p.working
	l.reg.remove = func() { p.remove(l) }
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners = append(slices.Clip(p.listeners), l)
	l.backlog.log = &p.log
	p.log.open(&l.backlog.cursor)
	if p.ctx != nil {
		p.run(l)
	}
	if p.synced {
		p.walk(l, false)
	}
}

// remove ends a listener. Whoever finds that nothing runs it sees to it that Done
// is closed: here, or the goroutine that delivers at its end.
func (p *processor[T]) remove(l *processorListener[T]) {
	p.mu.Lock()
	at := slices.Index(p.listeners, l)
	if at < 0 {
		p.mu.Unlock()
		return
	}
	p.listeners = slices.Delete(slices.Clone(p.listeners), at, at+1)
	close(l.removed)
	p.rest(l)
	l.mu.Lock()
	ended := l.backlog.close()
	l.mu.Unlock()
	// Who pulls changes is who removes.
	if l.state.Swap(stateGone) != stateRunning || l.handler == nil {
		l.finish()
	}
	p.mu.Unlock()
	if ended != nil {
		ended.snapshot.Close()
	}
}

// start runs all listeners until ctx ends.
func (p *processor[T]) start(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ctx = ctx
	for _, l := range p.listeners {
		p.run(l)
	}
}

// stop waits for all listeners, after the context given to start has ended.
func (p *processor[T]) stop() {
	p.mu.Lock()
	p.ctx = nil
	for _, l := range p.listeners {
		p.rest(l)
	}
	p.mu.Unlock()
	p.working.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.listeners {
		l.state.CompareAndSwap(stateIdle, stateOff)
	}
}

// run lets a listener deliver from now on. The caller holds mu.
func (p *processor[T]) run(l *processorListener[T]) {
	if l.handler == nil {
		return
	}
	l.ctx, l.cancel = context.WithCancel(p.ctx)
	p.arm(l)
	l.state.Store(stateIdle)
	if !l.isEmpty() {
		l.start()
	}
}

// rest ends what run has begun, but for the goroutine that delivers. The caller
// holds mu.
func (p *processor[T]) rest(l *processorListener[T]) {
	if l.cancel != nil {
		l.cancel()
	}
	if l.resync != nil && l.resync.Stop() {
		p.working.Done()
	}
}

// arm starts the timer of a listener's resync period. The caller holds mu.
func (p *processor[T]) arm(l *processorListener[T]) {
	if l.opts.Resync <= 0 {
		return
	}
	p.working.Add(1)
	if l.resync == nil {
		l.resync = time.AfterFunc(l.opts.Resync, func() { p.resync(l) })
	} else {
		l.resync.Reset(l.opts.Resync)
	}
}

// resync tells l of every stored object again. One that is due while the objects
// of the one before are still being told is left out.
func (p *processor[T]) resync(l *processorListener[T]) {
	defer p.working.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx == nil || l.ctx.Err() != nil {
		return
	}
	p.walk(l, true)
	p.arm(l)
}

func (p *processor[T]) statuses() []HandlerStatus {
	p.mu.Lock()
	listeners := p.listeners
	p.mu.Unlock()
	out := make([]HandlerStatus, 0, len(listeners))
	for _, l := range listeners {
		out = append(out, l.status())
	}
	return out
}

// registrations returns the handlers registered at this moment.
func (p *processor[T]) registrations() []*Registration {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]*Registration, 0, len(p.listeners))
	for _, l := range p.listeners {
		if l.handler != nil {
			out = append(out, l.reg)
		}
	}
	return out
}
