package indexer

import "sync/atomic"

// table is a hash table with open addressing. One writer changes it, and any
// number of readers look things up in it, or walk it, without a lock. A reader
// that has loaded the slots finds in them everything that was there when it
// pinned its epoch: what the writer removes nobody needs any more, and a table
// that has grown leaves its old slots as they were.
type table[N any] struct {
	slots atomic.Pointer[[]atomic.Pointer[N]]
	// gone stands where something was removed.
	gone *N
	// used counts the slots that are not nil, live those with something in
	// them. Only writers look at them.
	used, live int
}

const smallestTable = 8

func (t *table[N]) init() {
	t.gone = new(N)
	slots := make([]atomic.Pointer[N], smallestTable)
	t.slots.Store(&slots)
}

// insert adds something that is not there. hash tells the hash of what is.
func (t *table[N]) insert(n *N, hash func(*N) uint32) {
	slots := *t.slots.Load()
	if (t.used+1)*4 > len(slots)*3 {
		slots = t.rehash(hash)
	}
	fill(slots, n, hash(n))
	t.used++
	t.live++
}

// rehash moves everything to new slots, at most half of which are used.
func (t *table[N]) rehash(hash func(*N) uint32) []atomic.Pointer[N] {
	size := smallestTable
	for size < 2*(t.live+1) {
		size *= 2
	}
	slots := make([]atomic.Pointer[N], size)
	for n := range t.walk {
		fill(slots, n, hash(n))
	}
	t.used = t.live
	t.slots.Store(&slots)
	return slots
}

func fill[N any](slots []atomic.Pointer[N], n *N, hash uint32) {
	mask := uint32(len(slots) - 1)
	at := hash & mask
	for slots[at].Load() != nil {
		at = (at + 1) & mask
	}
	slots[at].Store(n)
}

// remove takes something out that is there.
func (t *table[N]) remove(n *N, hash uint32) {
	slots := *t.slots.Load()
	mask := uint32(len(slots) - 1)
	at := hash & mask
	for slots[at].Load() != n {
		at = (at + 1) & mask
	}
	slots[at].Store(t.gone)
	t.live--
	// Marks at the end of a run stand before nothing.
	if slots[(at+1)&mask].Load() != nil {
		return
	}
	for slots[at].Load() == t.gone {
		slots[at].Store(nil)
		t.used--
		at = (at - 1) & mask
	}
}

// walk yields everything in the table.
func (t *table[N]) walk(yield func(*N) bool) {
	slots := *t.slots.Load()
	for i := range slots {
		if n := slots[i].Load(); n != nil && n != t.gone && !yield(n) {
			return
		}
	}
}
