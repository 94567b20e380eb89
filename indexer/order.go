package indexer

import (
	"math/bits"
	"sync/atomic"
)

// order is a skip list of the buckets of an ordered index by value. One writer
// changes it, and readers walk it without a lock.
//
// A bucket that was removed keeps its ways on. Somebody who stands on it and goes
// on misses only buckets that came later: those hold nothing a reader needs that
// had pinned its epoch before.
type order[T any] struct {
	top []atomic.Pointer[bucket[T]]
}

const maxLevels = 16

func newOrder[T any]() *order[T] {
	return &order[T]{top: make([]atomic.Pointer[bucket[T]], maxLevels)}
}

// first returns the first bucket whose value is not below from, nil if none.
func (o *order[T]) first(from string) *bucket[T] {
	at := o.top
	for level := maxLevels - 1; level >= 0; level-- {
		at = forward(at, level, from)
	}
	return at[0].Load()
}

// forward goes along one level to the last tower below from.
func forward[T any](at []atomic.Pointer[bucket[T]], level int, from string) []atomic.Pointer[bucket[T]] {
	for {
		b := at[level].Load()
		if b == nil || b.value >= from {
			return at
		}
		at = *b.tower
	}
}

// next returns the bucket after b, nil if there is none.
func (b *bucket[T]) next() *bucket[T] { return (*b.tower)[0].Load() }

// insert adds a bucket whose value is not there. One in four buckets reaches the
// next level: its hash decides. It returns the number of levels.
func (o *order[T]) insert(b *bucket[T]) (height int) {
	height = min(bits.TrailingZeros32(b.hash)/2+1, maxLevels)
	tower := make([]atomic.Pointer[bucket[T]], height)
	b.tower = &tower
	var before [maxLevels][]atomic.Pointer[bucket[T]]
	at := o.top
	for level := maxLevels - 1; level >= 0; level-- {
		at = forward(at, level, b.value)
		before[level] = at
	}
	// Whoever finds the bucket must find the way on at every level below.
	for level := range tower {
		tower[level].Store(before[level][level].Load())
	}
	for level := range tower {
		before[level][level].Store(b)
	}
	return height
}

// remove takes out a bucket that is there.
func (o *order[T]) remove(b *bucket[T]) {
	at := o.top
	for level := maxLevels - 1; level >= 0; level-- {
		at = forward(at, level, b.value)
		if level < len(*b.tower) {
			at[level].Store((*b.tower)[level].Load())
		}
	}
}
