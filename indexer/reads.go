package indexer

import (
	"iter"

	"k8s.io/apimachinery/pkg/types"
)

// reads is the reading side of both [Indexer] and [Snapshot].
type reads[T any] struct {
	core *core[T]
	// snapshot is the one to read from; nil for the newest state.
	snapshot *Snapshot[T]
}

// open pins a state for a call. It fails if the snapshot is closed.
func (r *reads[T]) open() (w view[T], p *pin, ok bool) {
	if r.snapshot != nil {
		return r.snapshot.held.view, nil, r.snapshot.enter()
	}
	w, p = r.core.pin()
	return w, p, true
}

// close ends a call.
func (r *reads[T]) close(p *pin) {
	if p == nil {
		r.snapshot.held.leave()
		return
	}
	r.core.release(p)
}

// closeSoon is close for calls that do not run the caller's code.
func (r *reads[T]) closeSoon(p *pin) {
	if p == nil {
		r.snapshot.held.leave()
		return
	}
	r.core.unpin(p)
}

// Get returns the object stored under key.
func (r *reads[T]) Get(key types.NamespacedName) (obj T, ok bool) {
	if r.snapshot == nil {
		if obj, ok, sure := r.core.get(key); sure {
			return obj, ok
		}
	}
	w, p, open := r.open()
	if !open {
		return obj, false
	}
	if e := w.core.entry(key, w.core.hash(key)); e != nil {
		obj, ok = w.object(e)
	}
	r.closeSoon(p)
	return obj, ok
}

// Entry is Get with the identity and version of the object.
func (r *reads[T]) Entry(key types.NamespacedName) (found Entry[T], ok bool) {
	w, p, open := r.open()
	if !open {
		return found, false
	}
	if e, v := w.find(key); v != nil {
		found, ok = e.entry(v), true
	}
	r.closeSoon(p)
	return found, ok
}

// Len is the number of objects.
func (r *reads[T]) Len() int {
	w, p, ok := r.open()
	if !ok {
		return 0
	}
	n := w.state().len
	r.closeSoon(p)
	return n
}

// Version is the newest resource version that a transaction has set; empty
// before the first.
func (r *reads[T]) Version() string {
	w, p, ok := r.open()
	if !ok {
		return ""
	}
	version := w.state().version
	r.closeSoon(p)
	return version
}

// Indexes returns the names of the indexes, sorted.
func (r *reads[T]) Indexes() []string {
	w, p, ok := r.open()
	if !ok {
		return nil
	}
	names := w.state().names()
	r.closeSoon(p)
	return names
}

// List returns all objects in no particular order, in a new slice.
func (r *reads[T]) List() []T {
	w, p, ok := r.open()
	if !ok {
		return nil
	}
	objs := w.all()
	r.closeSoon(p)
	return objs
}

// All yields all objects in no particular order, as they were when the loop
// started. No lock is held while it runs: its body may take its time and use
// the store.
func (r *reads[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		w, p, ok := r.open()
		if !ok {
			return
		}
		defer r.close(p)
		w.objects(yield)
	}
}

// Entries is All with keys, identities and versions.
func (r *reads[T]) Entries() iter.Seq[Entry[T]] {
	return func(yield func(Entry[T]) bool) {
		w, p, ok := r.open()
		if !ok {
			return
		}
		defer r.close(p)
		w.each(func(e *entry[T], v *version[T]) bool { return yield(e.entry(v)) })
	}
}

// named returns an index by its name. It takes a pin only if the index is unknown or
// was just added: an index, once committed, stays.
func (r *reads[T]) named(name string) (*index[T], error) {
	if r.snapshot == nil {
		if ix := indexNamed(*r.core.known.Load(), name); ix != nil {
			return ix, nil
		}
	}
	w, p, ok := r.open()
	if !ok {
		return nil, ErrClosed
	}
	ix, err := w.state().named(name)
	r.closeSoon(p)
	return ix, err
}

// openIndex is open for a call that asks one index.
func (r *reads[T]) openIndex(name string) (view[T], *pin, *index[T], error) {
	w, p, ok := r.open()
	if !ok {
		return w, nil, nil, ErrClosed
	}
	ix, err := w.state().named(name)
	if err != nil {
		r.closeSoon(p)
	}
	return w, p, ix, err
}

// ByIndex returns the objects that the named index lists under value, in no
// particular order, in a new slice. An unknown index is an error that wraps
// [ErrUnknownIndex].
func (r *reads[T]) ByIndex(index, value string) ([]T, error) {
	w, p, ix, err := r.openIndex(index)
	if err != nil {
		return nil, err
	}
	objs := w.list(ix.bucket(value))
	r.closeSoon(p)
	return objs, nil
}

// AllByIndex is ByIndex as an iterator over the state of the moment at which
// the loop starts. Like the loop over All, it holds no lock.
func (r *reads[T]) AllByIndex(index, value string) (iter.Seq[T], error) {
	ix, err := r.named(index)
	if err != nil {
		return nil, err
	}
	return func(yield func(T) bool) {
		w, p, ok := r.open()
		if !ok {
			return
		}
		defer r.close(p)
		w.objectsIn(ix.bucket(value), yield)
	}, nil
}

// Count is the number of objects that the named index lists under value. An
// unknown index is an error that wraps [ErrUnknownIndex]. It looks at objects only
// if the index is being changed or a snapshot is open.
func (r *reads[T]) Count(index, value string) (int, error) {
	w, p, ix, err := r.openIndex(index)
	if err != nil {
		return 0, err
	}
	n := w.count(ix.bucket(value))
	r.closeSoon(p)
	return n, nil
}

// IndexKeys returns the keys of what ByIndex would return.
func (r *reads[T]) IndexKeys(index, value string) ([]types.NamespacedName, error) {
	w, p, ix, err := r.openIndex(index)
	if err != nil {
		return nil, err
	}
	keys := []types.NamespacedName{}
	w.in(ix.bucket(value), func(e *entry[T], _ *version[T]) bool {
		keys = append(keys, e.key)
		return true
	})
	r.closeSoon(p)
	return keys, nil
}

// IndexValues returns the values under which the named index lists anything, in
// no particular order.
func (r *reads[T]) IndexValues(index string) ([]string, error) {
	w, p, ix, err := r.openIndex(index)
	if err != nil {
		return nil, err
	}
	values := make([]string, 0, ix.values.Load())
	for b := range ix.buckets.walk {
		if w.any(b) {
			values = append(values, b.value)
		}
	}
	r.closeSoon(p)
	return values, nil
}

// Select yields the objects that meet all of the terms, each once, as they were
// when the loop started; with no term, all objects. If its only term is a
// [Prefix] or a [Range], they come in the order of the values by which they were
// found, else in no particular order. Like the loop over All, it holds no lock.
//
// Errors wrap [ErrUnknownIndex], [ErrNotOrdered], [ErrNoLabels] or
// [ErrNilSelector].
func (r *reads[T]) Select(terms ...Term) (iter.Seq[T], error) {
	conditions, err := r.conditions(terms)
	if err != nil {
		return nil, err
	}
	return func(yield func(T) bool) {
		w, p, ok := r.open()
		if !ok {
			return
		}
		defer r.close(p)
		w.pick(conditions, func(v *version[T]) bool { return yield(v.object) })
	}, nil
}
