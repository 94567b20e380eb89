package indexer

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
)

// pins are the epochs at which somebody reads. They are what writers must leave
// in place. Taking and giving back a pin takes no lock.
type pins struct {
	// slots only grows; its length is a power of two.
	slots atomic.Pointer[[]*pin]
}

// pin is the place of one reader, on a cache line of its own.
type pin struct {
	epoch atomic.Uint64 // 0 if nobody reads
	// lowest is the oldest epoch that was pinned here for the reader, perhaps
	// for a moment only: a writer may have seen it. It belongs to the reader.
	lowest uint64
	_      [48]byte
}

// firstPins is the number of slots of a new store.
const firstPins = 4

func (p *pins) init() {
	slots := makePins(nil, firstPins)
	p.slots.Store(&slots)
}

func makePins(have []*pin, size int) []*pin {
	slots := slices.Grow(slices.Clone(have), size-len(have))
	for len(slots) < size {
		slots = append(slots, new(pin))
	}
	return slots
}

// take pins the newest committed epoch.
//
// A writer commits first and looks at the pins then. The epoch is read again
// after it was pinned: if it is still the newest, then every writer that commits
// a later one sees the pin, and those that did not see it have only taken away
// what this epoch does not need.
func (p *pins) take(committed *atomic.Uint64) (*pin, uint64) {
	for {
		at := p.slots.Load()
		slots := *at
		start := rand.Uint32()
		for i := range uint32(len(slots)) {
			slot := slots[(start+i)&uint32(len(slots)-1)]
			if slot.epoch.Load() != 0 {
				continue
			}
			epoch := committed.Load()
			if !slot.epoch.CompareAndSwap(0, epoch) {
				continue
			}
			slot.lowest = epoch
			for {
				now := committed.Load()
				if now == epoch {
					return slot, epoch
				}
				epoch = now
				slot.epoch.Store(epoch)
			}
		}
		more := makePins(slots, 2*len(slots))
		p.slots.CompareAndSwap(at, &more)
	}
}

// giveBack ends a pin. It reports whether a writer may have kept something for it
// meanwhile.
func (p *pin) giveBack(committed *atomic.Uint64) (inTheWay bool) {
	lowest := p.lowest
	p.epoch.Store(0)
	// In this order: who commits later sees that the pin is gone.
	return lowest < committed.Load()
}

// taken appends the pinned epochs to to, sorted.
func (p *pins) taken(to []uint64) []uint64 {
	for _, slot := range *p.slots.Load() {
		if epoch := slot.epoch.Load(); epoch != 0 {
			to = append(to, epoch)
		}
	}
	slices.Sort(to)
	return to
}

// between reports whether one of the sorted epochs is in [from, to).
func between(epochs []uint64, from, to uint64) bool {
	if len(epochs) == 0 || epochs[0] >= to {
		return false
	}
	i, _ := slices.BinarySearch(epochs, from)
	return i < len(epochs) && epochs[i] < to
}
