package informer

import (
	"unsafe"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
)

// folded keeps, for each key, the one or two changes that lead from the state
// last told to the newest: at most a delete of what was told, then the newest
// state of what is there.
type folded[T any] struct {
	// byKey has the places in keys, which are linked in the order of each key's
	// first pending change.
	byKey       map[types.NamespacedName]int32
	keys        []foldedKey[T]
	front, back int32
	// free is the first of the places that are not used, linked by next.
	free int32
	// count is the number of changes.
	count int
}

// none is the place of no key.
const none = -1

type foldedKey[T any] struct {
	// newest is Added, Updated or Deleted. Where it is Added, gone is the end of
	// what was told before; nil if nothing was.
	newest Change[T]
	gone   *Change[T]
	// position is that of the first change of the key that is pending.
	position uint64
	// prev and next are places in folded.keys.
	prev, next int32
}

func newFolded[T any]() *folded[T] {
	return &folded[T]{byKey: make(map[types.NamespacedName]int32), front: none, back: none, free: none}
}

// len is the number of changes. A nil one has none.
func (f *folded[T]) len() int {
	if f == nil {
		return 0
	}
	return f.count
}

// keysHeld is the number of keys.
func (f *folded[T]) keysHeld() int {
	if f == nil {
		return 0
	}
	return len(f.byKey)
}

// bytes estimates the memory that the changes take, beside objects.
func (f *folded[T]) bytes() int64 {
	if f == nil {
		return 0
	}
	// A map has a key, a value and about half as much again for each.
	perKey := 3 * (unsafe.Sizeof(types.NamespacedName{}) + unsafe.Sizeof(f.front)) / 2
	return int64(cap(f.keys))*int64(unsafe.Sizeof(foldedKey[T]{})) + int64(len(f.byKey))*int64(perKey) +
		int64(f.count-len(f.byKey))*int64(unsafe.Sizeof(Change[T]{}))
}

// position is that of the first change. There must be one.
func (f *folded[T]) position() uint64 { return f.keys[f.front].position }

// add folds one more change in.
func (f *folded[T]) add(c *Change[T], position uint64) {
	place, ok := f.byKey[c.Key]
	if !ok {
		k := f.push(c.Key)
		k.newest, k.position = *c, position
		f.count++
		return
	}
	k := &f.keys[place]
	switch c.Type {
	case deltafifo.Added: // after a Deleted, which is the first that is pending
		gone := k.newest
		k.newest, k.gone = *c, &gone
		f.count++
	case deltafifo.Updated: // told as the step from what was told last
		before, old := k.newest.Type, k.newest.Old
		k.newest = *c
		k.newest.Type, k.newest.Old = before, old
	case deltafifo.Deleted:
		f.delete(place, k, c)
	}
}

// delete ends an object. What was never told vanishes with it.
func (f *folded[T]) delete(place int32, k *foldedKey[T], c *Change[T]) {
	switch {
	case k.newest.Type == deltafifo.Updated:
		old := k.newest.Old
		k.newest = *c
		k.newest.Old = old
	case k.gone != nil:
		k.newest, k.gone = *k.gone, nil
		f.count--
	default:
		f.remove(place)
		f.count--
	}
}

// push adds a key at the back.
func (f *folded[T]) push(key types.NamespacedName) *foldedKey[T] {
	place := f.free
	if place != none {
		f.free = f.keys[place].next
	} else {
		place = int32(len(f.keys))
		f.keys = append(f.keys, foldedKey[T]{})
	}
	f.byKey[key] = place
	k := &f.keys[place]
	k.prev, k.next = f.back, none
	if f.back != none {
		f.keys[f.back].next = place
	} else {
		f.front = place
	}
	f.back = place
	return k
}

// remove takes a key out.
func (f *folded[T]) remove(place int32) {
	k := &f.keys[place]
	delete(f.byKey, k.newest.Key)
	if k.prev != none {
		f.keys[k.prev].next = k.next
	} else {
		f.front = k.next
	}
	if k.next != none {
		f.keys[k.next].prev = k.prev
	} else {
		f.back = k.prev
	}
	*k = foldedKey[T]{next: f.free}
	f.free = place
}

// take removes the changes of the oldest keys, up to n (or n+1, as the changes
// of one key stay together).
func (f *folded[T]) take(n int) []Change[T] {
	out := make([]Change[T], 0, min(n+1, f.count))
	for len(out) < n && f.front != none {
		k := &f.keys[f.front]
		if k.gone != nil {
			out = append(out, *k.gone)
		}
		out = append(out, k.newest)
		f.remove(f.front)
	}
	f.count -= len(out)
	f.shrink()
	return out
}

// shrink gives memory back where less than a quarter of it is used.
func (f *folded[T]) shrink() {
	if cap(f.keys) <= chunkSize || len(f.byKey) >= cap(f.keys)/4 {
		return
	}
	small := newFolded[T]()
	small.keys = make([]foldedKey[T], 0, 2*len(f.byKey))
	for place := f.front; place != none; place = f.keys[place].next {
		k := small.push(f.keys[place].newest.Key)
		k.newest, k.gone, k.position = f.keys[place].newest, f.keys[place].gone, f.keys[place].position
	}
	small.count = f.count
	*f = *small
}
