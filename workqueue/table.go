package workqueue

import "hash/maphash"

// table finds the items by their keys, and keeps those that were used and can be
// again. It is a hash table with open addressing and linear probing.
//
// A Go map would do. It would hold each key twice, in the map and in the item,
// and move all keys whenever it grows; this table holds sixteen bytes for a key
// beside the item and moves no more than those. Its memory follows the number of
// keys down as well as up.
type table[K comparable] struct {
	seed  maphash.Seed
	slots []slot[K] // a power of two of them, a third of which is free
	len   int
	peak  int // the largest len since the table was made or shrunk
	free  *item[K]
}

// slot is a place of the table; it is free if it is nil.
type slot[K comparable] struct {
	it   *item[K]
	hash uint32 // that of the item, to pass over the wrong ones without a look
}

const (
	// tableKeep is a number of keys for which no memory is given back.
	tableKeep = 1024
	// tableShrink is the part of its peak below which a table shrinks. The
	// larger it is, the less is copied at once; and at the worst, about this
	// many times the memory that the keys need is held.
	tableShrink = 16
	// itemBlock is the largest number of items that are allocated at once. One
	// of them in use keeps the memory of all.
	itemBlock = 16
	minSlots  = 8
)

func newTable[K comparable]() table[K] {
	return table[K]{seed: maphash.MakeSeed(), slots: make([]slot[K], minSlots)}
}

// hash is that of a key, which must be hashable.
func (t *table[K]) hash(key K) uint32 { return uint32(maphash.Comparable(t.seed, key)) }

// find returns the item of a key, nil if there is none.
func (t *table[K]) find(hash uint32, key K) *item[K] {
	mask := uint32(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		switch s := &t.slots[i]; {
		case s.it == nil:
			return nil
		case s.hash == hash && s.it.key == key:
			return s.it
		}
	}
}

// add returns a new item for a key that has none.
func (t *table[K]) add(hash uint32, key K) *item[K] {
	if 3*(t.len+1) > 2*len(t.slots) {
		t.resize(2 * len(t.slots))
	}
	it := t.item()
	it.key, it.hash = key, hash
	t.put(it)
	t.len++
	t.peak = max(t.peak, t.len)
	return it
}

// item returns an item that is not in use.
func (t *table[K]) item() *item[K] {
	if t.free == nil {
		block := make([]item[K], min(max(t.len, 1), itemBlock))
		for i := range block[1:] {
			block[i].next = &block[i+1]
		}
		t.free = &block[0]
	}
	it := t.free
	t.free, it.next = it.next, nil
	return it
}

// put puts an item into the first free slot from its own on.
func (t *table[K]) put(it *item[K]) {
	mask := uint32(len(t.slots) - 1)
	i := it.hash & mask
	for t.slots[i].it != nil {
		i = (i + 1) & mask
	}
	t.slots[i] = slot[K]{it, it.hash}
}

// drop forgets an item, which must be linked to nothing.
func (t *table[K]) drop(it *item[K]) {
	t.clear(it)
	t.len--
	*it = item[K]{next: t.free}
	t.free = it
	if t.peak > tableKeep && t.len < t.peak/tableShrink {
		t.shrink()
	}
}

// clear frees the slot of an item, and moves up those behind it that would not be
// found any more.
func (t *table[K]) clear(it *item[K]) {
	mask := uint32(len(t.slots) - 1)
	i := it.hash & mask
	for t.slots[i].it != it {
		i = (i + 1) & mask
	}
	for j := (i + 1) & mask; t.slots[j].it != nil; j = (j + 1) & mask {
		if own := t.slots[j].hash & mask; (j-own)&mask >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = slot[K]{}
}

// shrink moves the items to a table of their size and lets go of the free ones. It
// cuts the links between those: a free item stays for as long as one of its block
// is in use, and must not keep others.
func (t *table[K]) shrink() {
	t.resize(roomFor(t.len))
	for it := t.free; it != nil; {
		it, it.next = it.next, nil
	}
	t.free, t.peak = nil, t.len
}

// retain forgets all items but those of a list.
func (t *table[K]) retain(l *list[K]) {
	t.slots = make([]slot[K], roomFor(l.len))
	t.free, t.len, t.peak = nil, l.len, l.len
	for it := l.head; it != nil; it = it.next {
		t.put(it)
	}
}

// roomFor is a number of slots for n items and as many that may come.
func roomFor(n int) int {
	slots := minSlots
	for slots < 3*n {
		slots *= 2
	}
	return slots
}

// resize moves the items to a table of n slots.
func (t *table[K]) resize(n int) {
	old := t.slots
	t.slots = make([]slot[K], n)
	for i := range old {
		if it := old[i].it; it != nil {
			t.put(it)
		}
	}
}

// all calls f for each item.
func (t *table[K]) all(f func(it *item[K])) {
	for i := range t.slots {
		if it := t.slots[i].it; it != nil {
			f(it)
		}
	}
}
