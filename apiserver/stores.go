package apiserver

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"heliograph.example/apiserver/cacher"
	"heliograph.example/apiserver/endpoints"
	"heliograph.example/apiserver/storage"
)

// stores opens the storages of resources, each behind a watch cache, over one
// backend and thereby one counter of resource versions. It owns the caches.
type stores struct {
	ctx     context.Context // of the server
	scheme  *runtime.Scheme
	backend *storage.Memory
	backlog int // of watches, see Options
	running sync.WaitGroup

	mu     sync.Mutex
	caches []resourceCache
	closed bool
}

// resourceCache is the cache of one version of a resource.
type resourceCache struct {
	*cacher.Cacher
	resource schema.GroupResource
}

func newStores(ctx context.Context, scheme *runtime.Scheme) *stores {
	return &stores{ctx: ctx, scheme: scheme, backend: storage.NewMemory()}
}

// open makes the storage of a resource.
func (s *stores) open(r *endpoints.Resource) (storage.Interface, error) {
	gvr := r.GroupVersionResource()
	group := gvr.Group
	if group == "" {
		group = "core"
	}
	store, err := storage.NewStore(s.backend, storage.StoreOptions{
		GroupResource: gvr.GroupResource(),
		// Each version has keys of its own: see the package documentation.
		Prefix:     "/" + group + "/" + gvr.Version + "/" + gvr.Resource + "/",
		Codec:      r.Codec(s.scheme),
		NewFunc:    func() runtime.Object { return r.New(s.scheme) },
		Attributes: r.Attributes,
	})
	if err != nil {
		return nil, err
	}
	cache, err := cacher.New(store, cacher.Options{Backlog: s.backlog})
	if err != nil {
		return nil, err
	}
	return cache, s.run(resourceCache{cache, gvr.GroupResource()})
}

// run runs a cache until the server stops.
func (s *stores) run(cache resourceCache) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrStopped
	}
	s.caches = append(s.caches, cache)
	s.running.Go(func() {
		if err := cache.Run(s.ctx); err != nil {
			klog.FromContext(s.ctx).Error(err, "A watch cache failed")
		}
	})
	return nil
}

// compact compacts the backend to its current revision and drops the windows
// of the caches. These have to be told everything before: one that is not would
// have to list again, and go on for a while to give versions to clients that are
// forgotten already.
func (s *stores) compact(ctx context.Context) error {
	for _, cache := range s.cachesOf(nil) {
		if err := cache.CatchUp(ctx); err != nil {
			return fmt.Errorf("watch cache of %s: %w", cache.resource, err)
		}
	}
	revision, err := s.backend.CurrentRevision(ctx)
	if err != nil {
		return err
	}
	if err := s.backend.Compact(ctx, revision); err != nil {
		return fmt.Errorf("at revision %d: %w", revision, err)
	}
	for _, cache := range s.cachesOf(nil) {
		cache.DropHistory()
	}
	return nil
}

// cachesOf returns the caches of resources, or all if there are none.
func (s *stores) cachesOf(resources []schema.GroupResource) []resourceCache {
	s.mu.Lock()
	defer s.mu.Unlock()
	caches := slices.Clone(s.caches)
	if len(resources) == 0 {
		return caches
	}
	return slices.DeleteFunc(caches, func(c resourceCache) bool { return !slices.Contains(resources, c.resource) })
}

// restore goes back to a snapshot. No cache keeps or reads anything from before.
func (s *stores) restore(snapshot *storage.Snapshot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cache := range s.caches {
		if cache.Suspend(false) {
			defer cache.Resume()
		}
	}
	return s.backend.Restore(snapshot)
}

// wait waits for the caches, whose context must have ended, and lets no more
// begin.
func (s *stores) wait() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
}
