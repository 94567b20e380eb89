package indexer

import (
	"iter"
	"math/bits"
	"sync/atomic"
)

// table is a hash table with open addressing. One writer changes it, and any
// number of readers look things up in it, or walk it, without a lock. A reader
// that has loaded the groups finds in them everything that was there when it
// pinned its epoch: what the writer removes nobody needs any more, what is there
// does not move, and a table that has grown leaves its old groups as they were.
type table[N any] struct {
	groups atomic.Pointer[[]group[N]]
	// hash tells the hash of what is in the table, and live counts that. Only
	// writers look at them.
	hash func(*N) uint32
	live int
}

// group is a cache line of the table. Who looks something up reads one line in
// most cases, and nothing of what has another hash.
type group[N any] struct {
	// control has a tag for each slot, in its lowest byte that of the first,
	// zero if the slot is free. The highest byte counts what belongs here and is
	// in a later group because there was no room; at crowded it stays.
	control atomic.Uint64
	slots   [groupSize]atomic.Pointer[N]
}

const (
	groupSize = 7
	overflow  = 1 << (8 * groupSize) // one in the highest byte
	crowded   = 0xff

	lowBits  = 0x0001_0101_0101_0101
	highBits = lowBits << 7
)

// tag is what the control word has of a hash.
func tag(hash uint32) uint64 { return uint64(hash&0x7f | 0x80) }

func (t *table[N]) init(hash func(*N) uint32) {
	t.hash = hash
	groups := make([]group[N], 1)
	t.groups.Store(&groups)
}

// home is the group in which something is looked for first.
func home(hash uint32, groups int) int { return int(uint64(hash) * uint64(groups) >> 32) }

// matches has a bit in the byte of each slot that has the tag of a hash, and perhaps
// of some that have not.
func matches(control uint64, hash uint32) uint64 {
	differ := control ^ tag(hash)*lowBits
	return (differ - lowBits) &^ differ & highBits
}

// slotOf is the first slot among matches.
func slotOf(matches uint64) int { return bits.TrailingZeros64(matches) / 8 % 8 }

// find yields what has a hash, and perhaps more.
func (t *table[N]) find(hash uint32) iter.Seq[*N] {
	return func(yield func(*N) bool) {
		groups := *t.groups.Load()
		at := home(hash, len(groups))
		for range groups {
			g := &groups[at]
			control := g.control.Load()
			for m := matches(control, hash); m != 0; m &= m - 1 {
				if n := g.slots[slotOf(m)].Load(); n != nil && !yield(n) {
					return
				}
			}
			if control < overflow {
				return
			}
			if at++; at == len(groups) {
				at = 0
			}
		}
	}
}

// insert adds something that is not there.
func (t *table[N]) insert(n *N) {
	// At most five in six slots are used, so that few groups are full.
	if slots := len(*t.groups.Load()) * groupSize; (t.live+1)*6 > slots*5 {
		t.rehash()
	}
	fill(*t.groups.Load(), n, t.hash(n))
	t.live++
}

// rehash moves everything to new groups, half of which are used.
func (t *table[N]) rehash() {
	groups := make([]group[N], 1+t.live*2/groupSize)
	for n := range t.walk {
		fill(groups, n, t.hash(n))
	}
	t.groups.Store(&groups)
}

func fill[N any](groups []group[N], n *N, hash uint32) {
	at := home(hash, len(groups))
	for {
		g := &groups[at]
		control := g.control.Load()
		if free := ^control & highBits; free != 0 {
			slot := bits.TrailingZeros64(free) / 8
			// In this order: who sees the tag finds what it stands for.
			g.slots[slot].Store(n)
			g.control.Store(control | tag(hash)<<(8*slot))
			return
		}
		if control/overflow != crowded {
			g.control.Store(control + overflow)
		}
		if at++; at == len(groups) {
			at = 0
		}
	}
}

// remove takes something out that is there.
func (t *table[N]) remove(n *N) {
	groups := *t.groups.Load()
	for at := home(t.hash(n), len(groups)); !groups[at].remove(n); {
		if at++; at == len(groups) {
			at = 0
		}
	}
	t.live--
	if len(groups) > 1 && t.live*6 < len(groups)*groupSize {
		t.rehash()
	}
}

// remove takes something out if it is in the group. If not, it is in a later one.
func (g *group[N]) remove(n *N) bool {
	control := g.control.Load()
	for slot := range g.slots {
		if g.slots[slot].Load() == n {
			g.control.Store(control &^ (0xff << (8 * slot)))
			g.slots[slot].Store(nil)
			return true
		}
	}
	if control/overflow != crowded {
		g.control.Store(control - overflow)
	}
	return false
}

// walk yields everything in the table.
func (t *table[N]) walk(yield func(*N) bool) {
	groups := *t.groups.Load()
	for i := range groups {
		for slot := range groups[i].slots {
			if n := groups[i].slots[slot].Load(); n != nil && !yield(n) {
				return
			}
		}
	}
}

const (
	walkGroups = 8
	walkSize   = walkGroups * groupSize
)

// gather collects what is in the first few groups, and returns the number and the other
// groups. It takes no branch that depends on which slots are used, for a processor
// would guess wrong at each third.
func gather[N any](groups []group[N], found *[walkSize]*N) (n int, rest []group[N]) {
	first := groups[:min(len(groups), walkGroups)]
	for i := range first {
		for slot := range first[i].slots {
			in := first[i].slots[slot].Load()
			found[n] = in
			if in != nil {
				n++
			}
		}
	}
	return n, groups[len(first):]
}
