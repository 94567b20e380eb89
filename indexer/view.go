package indexer

import (
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
)

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

// find returns what is stored under key, nil if nothing.
func (w view[T]) find(key types.NamespacedName) (*entry[T], *version[T]) {
	e := w.core.entry(key, w.core.hash(key))
	if e == nil {
		return nil, nil
	}
	return e, e.at(w.epoch)
}

// object returns the object of an entry.
func (w view[T]) object(e *entry[T]) (obj T, ok bool) {
	obj, ok, sure := e.get(w.epoch)
	if sure {
		return obj, ok
	}
	v := e.at(w.epoch)
	if v == nil {
		return obj, false
	}
	return v.object, true
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

// objects does the same for objects.
func (w view[T]) objects(yield func(T) bool) {
	var chunk [walkSize]T
	var entries [walkSize]*entry[T]
	for groups := *w.core.entries.groups.Load(); len(groups) > 0; {
		var n int
		n, groups = gather(groups, &entries)
		for _, obj := range w.append(chunk[:0], entries[:n]) {
			if !yield(obj) {
				return
			}
		}
	}
}

// all returns the objects in a new slice.
func (w view[T]) all() []T {
	objs := make([]T, 0, w.state().len)
	var entries [walkSize]*entry[T]
	for groups := *w.core.entries.groups.Load(); len(groups) > 0; {
		var n int
		n, groups = gather(groups, &entries)
		objs = w.append(objs, entries[:n])
	}
	return objs
}

// append appends the objects of entries. It goes to all of them first: a processor that
// has nothing else to do meanwhile waits for the memory of several at a time.
func (w view[T]) append(objs []T, entries []*entry[T]) []T {
	for _, e := range entries {
		e.stamp.Load()
	}
	for _, e := range entries {
		if obj, ok := w.object(e); ok {
			objs = append(objs, obj)
		}
	}
	return objs
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
	for e := range b.members {
		v := e.at(w.epoch)
		if v == nil || (!exact || b.changed.Load() > w.epoch) && find(v.postings, b) < 0 {
			continue
		}
		if !yield(e, v) {
			return false
		}
	}
	return true
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

// listed returns the object of an entry if a bucket lists it.
func (w view[T]) listed(e *entry[T], b *bucket[T]) (obj T, ok bool) {
	v := e.at(w.epoch)
	if v == nil || find(v.postings, b) < 0 {
		return obj, false
	}
	return v.object, true
}

// member does the same for an entry found in the bucket, and need not look further than
// that if the bucket was exact before.
func (w view[T]) member(e *entry[T], b *bucket[T], exact bool) (obj T, ok bool) {
	obj, ok, sure := e.get(w.epoch)
	if sure && exact && b.changed.Load() <= w.epoch {
		return obj, ok
	}
	return w.listed(e, b)
}

// chunkSize is the number of objects that are found in one go before a loop is given
// the first: a processor finds several at a time.
const chunkSize = 32

// objectsIn calls yield for the objects that a bucket, which may be nil, lists,
// until it returns false. What is in the bucket is what it lists if in says so.
func (w view[T]) objectsIn(b *bucket[T], yield func(T) bool) {
	if b == nil {
		return
	}
	exact := b.stale.Load() == 0
	first, rest := b.places()
	if first != nil {
		if obj, ok := w.member(first, b, exact); ok && !yield(obj) {
			return
		}
	}
	var chunk [chunkSize]T
	for len(rest) > 0 {
		places := rest[:min(len(rest), chunkSize)]
		rest = rest[len(places):]
		objs, sure := w.copy(places, chunk[:0])
		if !sure || !exact || b.changed.Load() > w.epoch {
			objs = chunk[:0]
			for i := range places {
				if e := places[i].Load(); e != nil {
					if obj, ok := w.listed(e, b); ok {
						objs = append(objs, obj)
					}
				}
			}
		}
		for _, obj := range objs {
			if !yield(obj) {
				return
			}
		}
	}
}

// list returns the objects that a bucket, which may be nil, lists, as objectsIn does.
func (w view[T]) list(b *bucket[T]) []T {
	if b == nil {
		return []T{}
	}
	objs := make([]T, 0, b.live.Load())
	if b.stale.Load() == 0 {
		first, rest := b.places()
		if first != nil {
			if obj, ok := w.member(first, b, true); ok {
				objs = append(objs, obj)
			}
		}
		var sure bool
		if objs, sure = w.copy(rest, objs); sure && b.changed.Load() <= w.epoch {
			return objs
		}
		clear(objs)
		objs = objs[:0]
	}
	w.objectsIn(b, func(obj T) bool { objs = append(objs, obj); return true })
	return objs
}

// copy appends the objects of all entries in some places. It may not be sure of them.
func (w view[T]) copy(places []atomic.Pointer[entry[T]], objs []T) (_ []T, sure bool) {
	for i := range places {
		e := places[i].Load()
		if e == nil {
			continue
		}
		obj, ok, sure := e.get(w.epoch)
		if !sure {
			return objs, false
		}
		if ok {
			objs = append(objs, obj)
		}
	}
	return objs, true
}
