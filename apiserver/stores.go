package apiserver

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
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
	backend storage.Backend
	running sync.WaitGroup

	mu     sync.Mutex
	caches []*cacher.Cacher
	closed bool
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
	cache, err := cacher.New(store, cacher.Options{})
	if err != nil {
		return nil, err
	}
	return cache, s.run(cache)
}

// run runs a cache until the server stops.
func (s *stores) run(cache *cacher.Cacher) error {
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
// of the caches.
func (s *stores) compact(ctx context.Context) error {
	revision, err := s.backend.CurrentRevision(ctx)
	if err != nil {
		return err
	}
	if err := s.backend.Compact(ctx, revision); err != nil {
		return fmt.Errorf("at revision %d: %w", revision, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cache := range s.caches {
		cache.DropHistory()
	}
	return nil
}

// wait waits for the caches, whose context must have ended, and lets no more
// begin.
func (s *stores) wait() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
}
