package endpoints

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Open opens the storages of a resource, in all its versions, as far as they are
// not open yet. A resource that is not served is an error that wraps
// [ErrNotServed].
func (h *Handler) Open(resource schema.GroupResource) error {
	h.mu.RLock()
	var all []*served
	for gvr, s := range h.resources {
		if gvr.GroupResource() == resource {
			all = append(all, s)
		}
	}
	h.mu.RUnlock()
	if len(all) == 0 {
		return fmt.Errorf("%w: %s", ErrNotServed, resource)
	}
	for _, s := range all {
		if _, err := s.storage(); err != nil {
			return err
		}
	}
	return nil
}
