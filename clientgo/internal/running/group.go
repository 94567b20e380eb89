// Package running keeps the informers of a factory: it makes each once, starts those
// that have not been started, and waits until they are synced and until they have
// ended.
package running

import (
	"context"
	"errors"
	"fmt"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"

	"heliograph.example/clientgo/cache"
)

// Group has the informers of one factory by what they read. The zero value is empty.
// All methods are safe for concurrent use.
type Group[K comparable] struct {
	mu       sync.Mutex
	members  map[K]toolscache.SharedIndexInformer
	order    []K // as they were asked for
	started  map[K]bool
	shutting bool
	running  sync.WaitGroup
}

// Informer returns the informer for key. If there is none yet it calls create, which
// must not call the group.
func (g *Group[K]) Informer(key K, create func() toolscache.SharedIndexInformer) toolscache.SharedIndexInformer {
	g.mu.Lock()
	defer g.mu.Unlock()
	if informer, ok := g.members[key]; ok {
		return informer
	}
	informer := create()
	if g.members == nil {
		g.members, g.started = make(map[K]toolscache.SharedIndexInformer), make(map[K]bool)
	}
	g.members[key] = informer
	g.order = append(g.order, key)
	return informer
}

// Start runs those informers that were not started until ctx ends, and does not wait.
// After Shutdown it does nothing.
func (g *Group[K]) Start(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shutting {
		return
	}
	for _, key := range g.order {
		if !g.started[key] {
			g.started[key] = true
			informer := g.members[key]
			g.running.Go(func() { informer.RunWithContext(ctx) })
		}
	}
}

// Shutdown lets nothing be started any more, and waits until what was started has
// ended. The contexts of Start end it.
func (g *Group[K]) Shutdown() {
	g.mu.Lock()
	g.shutting = true
	g.mu.Unlock()
	g.running.Wait()
}

// Wait waits until the informers that were started are synced, or until ctx ends, and
// says which are. If one is not, the error wraps the cause of ctx and says of each what
// it was doing.
func (g *Group[K]) Wait(ctx context.Context) (synced map[K]bool, err error) {
	synced = make(map[K]bool)
	var reasons []error
	for key, informer := range g.begun() {
		select {
		case <-informer.HasSyncedChecker().Done():
		case <-ctx.Done():
		}
		if synced[key] = informer.HasSynced(); !synced[key] {
			reasons = append(reasons, reason(ctx, key, informer))
		}
	}
	if len(reasons) > 0 {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), errors.Join(reasons...))
	}
	return synced, err
}

// Poll waits as Wait does, but looks only now and then, as the factories of client-go
// do whose wait takes no context. Tests with fakes live on that: a fake tells of no
// change that comes after the list and before the watch.
func (g *Group[K]) Poll(stop <-chan struct{}) (synced map[K]bool) {
	synced = make(map[K]bool)
	for key, informer := range g.begun() {
		synced[key] = toolscache.WaitForCacheSync(stop, informer.HasSynced)
	}
	return synced
}

// begun has the informers that were started.
func (g *Group[K]) begun() map[K]toolscache.SharedIndexInformer {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := make(map[K]toolscache.SharedIndexInformer, len(g.started))
	for key := range g.started {
		all[key] = g.members[key]
	}
	return all
}

// reason says why an informer is not synced. ctx has ended.
func reason(ctx context.Context, key any, informer toolscache.SharedIndexInformer) error {
	if native, ok := cache.Native(informer); ok {
		if err := native.Wait(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("%v is not synced", key)
}
