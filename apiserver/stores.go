package apiserver

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"heliograph.example/apiserver/endpoints"
	"heliograph.example/apiserver/storage"
)

// stores opens the storages of resources over one backend, when they are first
// used.
type stores struct {
	ctx     context.Context // of the server
	scheme  *runtime.Scheme
	backend storage.Backend
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
	return storage.NewStore(s.backend, storage.StoreOptions{
		GroupResource: gvr.GroupResource(),
		// Each version has keys of its own: see the package documentation.
		Prefix:     "/" + group + "/" + gvr.Version + "/" + gvr.Resource + "/",
		Codec:      r.Codec(s.scheme),
		NewFunc:    func() runtime.Object { return r.New(s.scheme) },
		Attributes: r.Attributes,
	})
}

// compact compacts the backend to its current revision.
func (s *stores) compact(ctx context.Context) error {
	revision, err := s.backend.CurrentRevision(ctx)
	if err != nil {
		return err
	}
	if err := s.backend.Compact(ctx, revision); err != nil {
		return fmt.Errorf("at revision %d: %w", revision, err)
	}
	return nil
}

// wait waits for what the storages run, after their context has ended.
func (s *stores) wait() {}
