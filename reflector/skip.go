package reflector

import (
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/internal/wire"
)

// skip tells which objects the reader of a source has as they are. It belongs to
// the goroutine that reads.
type skip struct {
	held func(types.NamespacedName) (types.UID, string, bool)
	// namespace is that of the last object; most often the next one has the same.
	namespace string
}

// skipped returns the item of an object that need not be decoded, and whether it
// is one. What is wrong with an object, or its kind, is for others to say.
func skipped[T any](s *skip, e wire.Encoding, raw wire.Item, refusal error) (it Item[T], unchanged bool) {
	if s == nil || raw.Err != nil || refusal != nil {
		return it, false
	}
	id := wire.Identify(e, raw.Raw)
	if len(id.Name) == 0 || len(id.ResourceVersion) == 0 {
		return it, false
	}
	if s.namespace != string(id.Namespace) {
		s.namespace = string(id.Namespace)
	}
	key := types.NamespacedName{Namespace: s.namespace, Name: string(id.Name)}
	uid, version, ok := s.held(key)
	if !ok || string(uid) != string(id.UID) || version != string(id.ResourceVersion) {
		return it, false
	}
	return Item[T]{Key: key, UID: uid, Version: version, Unchanged: true}, true
}

// sparing returns the source that reads a state for d. What the sink holds is not
// decoded again, unless a version says nothing about it, or something was wrong
// with the object. Of the first state there is nothing to be spared.
func (r *Reflector[T]) sparing(d *diff[T]) Source[T] {
	skipper, ok := r.source.(Skipper[T])
	if !ok || !d.trust || d.known.Len() == 0 {
		return r.source
	}
	return skipper.Skipping(func(key types.NamespacedName) (uid types.UID, version string, held bool) {
		if _, broken := r.IsBroken(key); broken {
			return "", "", false
		}
		uid, version, held = d.known.Lookup(key)
		return uid, version, held && hasVersion(version)
	})
}
