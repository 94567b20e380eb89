package recorder

import (
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
)

// History is what really happened, as a witness beside the informer saw it. Its
// zero value is empty and ready. Its methods may be called by any number of
// goroutines.
type History struct {
	mu     sync.Mutex
	states map[moment]bool
}

// moment is one state or one delete of an object.
type moment struct {
	key types.NamespacedName
	State
	deleted bool
}

// Note adds a state of an object, or its delete.
func (h *History) Note(key types.NamespacedName, state State, deleted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.states == nil {
		h.states = make(map[moment]bool)
	}
	h.states[moment{key, state, deleted}] = true
}

// Saw reports whether an object was noted at a version, alive or deleted.
func (h *History) Saw(key types.NamespacedName, version string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for m := range h.states {
		if m.key == key && m.Version == version {
			return true
		}
	}
	return false
}

// Within returns an error that names changes which were told but are not in the
// history, nil if there is none. A delete whose end nobody saw is not looked for,
// nor is, for a filtered handler, whether an Added or a Deleted was one at the
// server too.
func (r *Recorder[T]) Within(h *History) error {
	told := r.Told()
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for n, t := range told {
		if t.FinalStateUnknown {
			continue
		}
		ok := h.states[moment{t.Key, t.State, t.Type == deltafifo.Deleted}]
		if !ok && r.options.Filtered {
			ok = h.states[moment{t.Key, t.State, t.Type != deltafifo.Deleted}]
		}
		if ok {
			continue
		}
		if errs = append(errs, fmt.Errorf("change %d, %v %v %v, has never happened", n, t.Type, t.Key, t.State)); len(errs) == maxErrors {
			break
		}
	}
	return errors.Join(errs...)
}
