package indexer

import "k8s.io/apimachinery/pkg/types"

// view reads the store at one epoch, which whoever made it has pinned.
type view[T any] struct {
	core  *core[T]
	epoch uint64
}

func (w view[T]) state() *state[T] {
	s := w.core.state.Load()
	for s.epoch > w.epoch {
		s = s.prev.Load()
	}
	return s
}

// get returns what is stored under key, nil if nothing.
func (w view[T]) get(key types.NamespacedName) (*entry[T], *version[T]) {
	e := w.core.entry(key, w.core.hash(key))
	if e == nil {
		return nil, nil
	}
	return e, e.at(w.epoch)
}

// each calls yield for everything that is stored until it returns false, which is
// then returned.
func (w view[T]) each(yield func(*entry[T], *version[T]) bool) bool {
	for e := range w.core.entries.walk {
		if v := e.at(w.epoch); v != nil && !yield(e, v) {
			return false
		}
	}
	return true
}

// in does the same for what a bucket, which may be nil, lists.
//
// A bucket has more than it lists if something in it is stale or was changed
// after the epoch. Whatever changes it says so before, so if it has not said so
// after an entry was found, that entry belongs there.
func (w view[T]) in(b *bucket[T], yield func(*entry[T], *version[T]) bool) bool {
	if b == nil {
		return true
	}
	exact := b.stale.Load() == 0
	return b.members(func(e *entry[T]) bool {
		v := e.at(w.epoch)
		if v == nil {
			return true
		}
		if (!exact || b.changed.Load() > w.epoch) && find(v.postings, b) < 0 {
			return true
		}
		return yield(e, v)
	})
}

// count is the number of objects that a bucket, which may be nil, lists.
func (w view[T]) count(b *bucket[T]) (n int) {
	if b == nil {
		return 0
	}
	if b.stale.Load() == 0 {
		n = int(b.live.Load())
		if b.changed.Load() <= w.epoch {
			return n
		}
	}
	n = 0
	w.in(b, func(*entry[T], *version[T]) bool { n++; return true })
	return n
}

// any reports whether a bucket lists anything.
func (w view[T]) any(b *bucket[T]) bool {
	return !w.in(b, func(*entry[T], *version[T]) bool { return false })
}
