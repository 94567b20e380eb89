package informer

import (
	"context"
	"slices"
	"sync"

	"heliograph.example/indexer"
)

// processor owns the listeners: it gives each change to all of them, and runs
// them while the informer runs.
//
// Its lock is the order of everything that listeners are given: whoever pushes
// to a listener holds it, so that what the store holds and what a listener has
// been pushed cannot differ. Nobody holds it while a handler runs.
type processor[T any] struct {
	mu        sync.Mutex
	listeners []*processorListener[T]
	// ctx is that of the current run; nil while the informer does not run.
	ctx     context.Context
	running sync.WaitGroup
	// store and synced are what a new listener starts from: the present
	// objects, if the first list is complete.
	store  *indexer.Indexer[T]
	synced bool
}

// publish gives changes to every listener. The caller holds mu, has committed
// the changes to the store, and does not touch the slice again.
func (p *processor[T]) publish(changes []Change[T]) {
	if len(changes) == 0 {
		return
	}
	live := p.store.Len()
	for _, l := range p.listeners {
		l.push(changes, live)
	}
}

// firstSync seeds every listener with what the first complete list has left in
// the store. The caller holds mu.
func (p *processor[T]) firstSync() {
	p.synced = true
	if len(p.listeners) == 0 {
		return
	}
	present := p.present()
	for _, l := range p.listeners {
		l.seed(present)
	}
}

// add registers a listener. It starts with the present objects.
func (p *processor[T]) add(l *processorListener[T]) {
	l.reg.remove = func() { p.remove(l) }
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners = append(p.listeners, l)
	if p.synced {
		l.seed(p.present())
	}
	if p.ctx != nil {
		p.run(l)
	}
}

// present returns what is stored as initial changes. The caller holds mu.
func (p *processor[T]) present() []Change[T] {
	out := make([]Change[T], 0, p.store.Len())
	for e := range p.store.Entries() {
		out = append(out, Change[T]{Type: Added, Key: e.Key, UID: e.UID, Version: e.Version, New: e.Object, Initial: true})
	}
	return out
}

// remove ends a listener. Whoever takes it off the list sees to it that Done is
// closed: here if nothing runs it, else the goroutine that does.
func (p *processor[T]) remove(l *processorListener[T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.Index(p.listeners, l)
	if at < 0 {
		return
	}
	p.listeners = slices.Delete(p.listeners, at, at+1)
	close(l.removed)
	if l.cancel == nil {
		close(l.reg.done)
		return
	}
	l.cancel()
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
	p.mu.Unlock()
	p.running.Wait()
}

// run starts the goroutine of a listener. The caller holds mu. A listener
// without a handler is one whose changes are pulled, and needs none.
func (p *processor[T]) run(l *processorListener[T]) {
	if l.handler == nil {
		return
	}
	ctx, cancel := context.WithCancel(p.ctx)
	l.cancel = cancel
	p.running.Go(func() {
		defer p.ended(ctx, l)
		l.run(ctx, func() { p.resync(l) })
	})
}

// ended is what the goroutine of a listener does last.
func (p *processor[T]) ended(ctx context.Context, l *processorListener[T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	early := ctx.Err() == nil
	l.cancel()
	l.cancel = nil
	switch {
	case early: // the handler has ended the goroutine
		p.run(l)
	case !slices.Contains(p.listeners, l):
		close(l.reg.done)
	}
}

// resync pushes every stored object to l again.
func (p *processor[T]) resync(l *processorListener[T]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !l.isSeeded() {
		return
	}
	out := make([]Change[T], 0, p.store.Len())
	for e := range p.store.Entries() {
		out = append(out, Change[T]{Type: Updated, Key: e.Key, UID: e.UID, Version: e.Version, Old: e.Object, New: e.Object, Resync: true})
	}
	if len(out) > 0 {
		l.push(out, len(out))
	}
}

func (p *processor[T]) statuses() []HandlerStatus {
	p.mu.Lock()
	listeners := slices.Clone(p.listeners)
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
