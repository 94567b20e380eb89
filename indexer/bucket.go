package indexer

import "sync/atomic"

// bucket has the entries that an index lists under one value. It has at least
// those which any version that a reader may need is listed under; the postings of
// the version decide. Entries do not move within a bucket until it shrinks.
type bucket[T any] struct {
	index *index[T]
	value string
	hash  uint32

	// stale counts the entries whose newest version is not listed here any
	// more, and changed is the epoch of the last transaction that added or
	// removed one. If there are none and it is not newer than a reader, the
	// reader need not look at postings.
	stale   atomic.Int32
	changed atomic.Uint64
	// live counts the entries, the stale ones too.
	live atomic.Int32
	// size is the number of places, with holes.
	size atomic.Uint32

	// first is place 0, and rest has the others: many values are unique.
	first atomic.Pointer[entry[T]]
	rest  atomic.Pointer[[]atomic.Pointer[entry[T]]]
	// holes are free places below size. Only writers look at them.
	holes *[]uint32
	// tower is nil unless the index is ordered.
	tower *[]atomic.Pointer[bucket[T]]
}

// add gives an entry a place. Whoever calls it has set changed before.
func (b *bucket[T]) add(e *entry[T]) (place uint32) {
	b.index.places.Add(1)
	b.live.Add(1)
	if b.holes != nil && len(*b.holes) > 0 {
		holes := *b.holes
		place = holes[len(holes)-1]
		*b.holes = holes[:len(holes)-1]
		b.at(place).Store(e)
		return place
	}
	place = b.size.Load()
	if place > 0 {
		b.grow(place)
	}
	b.at(place).Store(e)
	b.size.Store(place + 1)
	return place
}

// grow makes room for a place.
func (b *bucket[T]) grow(place uint32) {
	var have []atomic.Pointer[entry[T]]
	if rest := b.rest.Load(); rest != nil {
		have = *rest
	}
	if int(place) <= len(have) {
		return
	}
	more := max(2, len(have)/2)
	if len(have) > 512 {
		more = len(have) / 4
	}
	rest := make([]atomic.Pointer[entry[T]], len(have)+more)
	for i := range have {
		rest[i].Store(have[i].Load())
	}
	b.index.room.Add(int64(more))
	b.rest.Store(&rest)
}

func (b *bucket[T]) at(place uint32) *atomic.Pointer[entry[T]] {
	if place == 0 {
		return &b.first
	}
	return &(*b.rest.Load())[place-1]
}

// remove makes a hole at a place.
func (b *bucket[T]) remove(place uint32) {
	b.index.places.Add(-1)
	b.at(place).Store(nil)
	b.live.Add(-1)
	if b.holes == nil {
		b.holes = new([]uint32)
	}
	*b.holes = append(*b.holes, place)
	if rest := b.rest.Load(); rest != nil && len(*rest) > smallBucket && b.live.Load() > 0 && int(b.live.Load())*4 < len(*rest) {
		b.shrink()
	}
}

// smallBucket is the number of places that a bucket keeps whatever it has: where
// objects go to and fro, it would be made anew each time.
const smallBucket = 127

// shrink moves the entries together, and gives back most of the places that are
// free. Nobody may be writing. Entries keep their order and place 0 its own, so that
// a reader who is between looking at the size and at the places misses none.
func (b *bucket[T]) shrink() {
	have := *b.rest.Load()
	rest := make([]atomic.Pointer[entry[T]], 2*b.live.Load())
	size := uint32(1)
	for i := range have {
		if e := have[i].Load(); e != nil {
			rest[size-1].Store(e)
			e.move(b, size)
			size++
		}
	}
	b.holes = nil
	if b.first.Load() == nil {
		b.holes = &[]uint32{0}
	}
	b.index.room.Add(int64(len(rest) - len(have)))
	b.rest.Store(&rest)
	b.size.Store(size)
}

// places returns the first place and the others, with holes.
func (b *bucket[T]) places() (first *entry[T], rest []atomic.Pointer[entry[T]]) {
	size := int(b.size.Load())
	if size > 1 {
		rest = *b.rest.Load()
		rest = rest[:min(size-1, len(rest))]
	}
	return b.first.Load(), rest
}

// members yields the entries in the bucket.
func (b *bucket[T]) members(yield func(*entry[T]) bool) {
	first, rest := b.places()
	if first != nil && !yield(first) {
		return
	}
	for i := range rest {
		if e := rest[i].Load(); e != nil && !yield(e) {
			return
		}
	}
}
