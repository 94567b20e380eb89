package sites

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Register stands for something outside of the cluster, such as a name server: what is
// in it has to be taken out before a site may go. All methods are safe for concurrent
// use.
type Register struct {
	mu    sync.Mutex
	pages map[types.NamespacedName]string
}

func (r *Register) put(key types.NamespacedName, page string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pages == nil {
		r.pages = make(map[types.NamespacedName]string)
	}
	r.pages[key] = page
}

func (r *Register) remove(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pages, key)
}

// Has reports whether a site is in the register.
func (r *Register) Has(key types.NamespacedName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.pages[key]
	return ok
}

// Len is the number of sites in the register.
func (r *Register) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pages)
}
