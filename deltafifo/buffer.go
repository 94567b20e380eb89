package deltafifo

import (
	"math/bits"
	"time"
)

const (
	// idleCapacity is the number of slots that an idle queue keeps in each of
	// its two buffers. What a burst needed beyond it goes back to the
	// collector: at once, or when a series of bursts is over.
	idleCapacity = 64
	// seriesLength is the number of batches beyond idleCapacity that make a
	// series, if none comes seriesGap or more after the one before.
	seriesLength = 8
	seriesGap    = time.Second
)

// series tells bursts that come one after the other, for which it would be a
// waste to make large buffers again and again, from a single one.
type series struct {
	batches int
	last    time.Time // of the last batch beyond idleCapacity
}

// took notes a batch of n deltas.
func (s *series) took(n int) {
	if n <= idleCapacity {
		return
	}
	now := time.Now()
	if now.Sub(s.last) >= seriesGap {
		s.batches = 0
	}
	s.batches++
	s.last = now
}

// lasts reports whether more bursts are to be expected.
func (s *series) lasts() bool {
	return s.batches >= seriesLength && time.Since(s.last) < seriesGap
}

// buffer is the row of queued deltas: a slice that is appended to at its end
// and emptied from its front. Slots outside of it are zero, so that they pin no
// object. It is owned by the queue's lock.
type buffer[T any] struct {
	slots []Delta[T]
	head  int // the first slot in use
}

func (b *buffer[T]) len() int { return len(b.slots) - b.head }

// queued returns the deltas in order. The slice is the buffer's own.
func (b *buffer[T]) queued() []Delta[T] { return b.slots[b.head:] }

// append copies deltas to the end.
func (b *buffer[T]) append(deltas []Delta[T]) {
	if len(b.slots)+len(deltas) > cap(b.slots) {
		b.makeRoom(len(deltas))
	}
	b.slots = append(b.slots, deltas...)
}

// makeRoom makes room for n more deltas. It slides down only if at least half
// of the slots were emptied, and else doubles, so that a delta is moved a
// constant number of times on average.
func (b *buffer[T]) makeRoom(n int) {
	need := b.len() + n
	if b.head >= cap(b.slots)/2 && need <= cap(b.slots) {
		live := copy(b.slots, b.queued())
		clear(b.slots[live:])
		b.slots, b.head = b.slots[:live], 0
		return
	}
	b.moveTo(max(need, 2*b.len()))
}

// moveTo moves the deltas to a new slice with room for at least n.
func (b *buffer[T]) moveTo(n int) {
	slots := make([]Delta[T], b.len(), capacity(n))
	copy(slots, b.queued())
	b.slots, b.head = slots, 0
}

// capacity rounds up to a power of two. An idle queue has seen one delta.
func capacity(n int) int {
	if n <= 1 {
		return 1
	}
	return 1 << bits.Len(uint(n-1))
}

// takeAll returns all deltas, in the buffer's own slice, and goes on with spare.
// rest is that slice from its first slot, for use as a spare once the deltas
// are cleared.
func (b *buffer[T]) takeAll(spare []Delta[T]) (taken, rest []Delta[T]) {
	taken, rest = b.queued(), b.slots[:0]
	b.slots, b.head = spare[:0], 0
	return taken, rest
}

// takeFront moves the first n deltas into spare, or into a larger slice.
func (b *buffer[T]) takeFront(n int, spare []Delta[T]) []Delta[T] {
	if cap(spare) < n {
		spare = make([]Delta[T], 0, capacity(n))
	}
	front := b.queued()[:n]
	taken := append(spare[:0], front...)
	clear(front)
	b.head += n
	return taken
}

// truncate drops all but the first n deltas.
func (b *buffer[T]) truncate(n int) {
	clear(b.queued()[n:])
	b.slots = b.slots[:b.head+n]
	b.shrink()
}

// shrink moves the deltas to a smaller slice if they use less than a quarter of
// this one.
func (b *buffer[T]) shrink() {
	if oversized(b.slots, b.len()) {
		b.moveTo(2 * b.len())
	}
}

// oversized reports whether a slice of which used slots were needed is too
// large to be kept.
func oversized[T any](slots []Delta[T], used int) bool {
	return cap(slots) > idleCapacity && used < cap(slots)/4
}
