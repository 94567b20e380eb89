package workqueue

import "time"

// heap is a binary heap of things in order of time, the next one first. Each knows
// its own place, so it can be moved or removed wherever it stands.
type heap[E slotted] struct {
	entries []entry[E]
}

// slotted is something that notes its place in one heap: one more than its index,
// 0 if it is not in it.
type slotted interface{ heapSlot() *int32 }

type entry[E slotted] struct {
	at time.Duration
	// then orders those of the same time.
	then int64
	of   E
}

func (e *entry[E]) before(f *entry[E]) bool {
	return e.at < f.at || e.at == f.at && e.then < f.then
}

func (h *heap[E]) len() int { return len(h.entries) }

// first is the one that is next; there must be one.
func (h *heap[E]) first() E { return h.entries[0].of }

// next is the time of the first one.
func (h *heap[E]) next() (at time.Duration, ok bool) {
	if len(h.entries) == 0 {
		return 0, false
	}
	return h.entries[0].at, true
}

// at is the time of one that is in the heap.
func (h *heap[E]) at(e E) time.Duration { return h.entries[*e.heapSlot()-1].at }

// set puts e into the heap, or moves it there.
func (h *heap[E]) set(e E, at time.Duration, then int64) {
	i := int(*e.heapSlot()) - 1
	if i < 0 {
		i = len(h.entries)
		h.entries = append(h.entries, entry[E]{})
	}
	h.fix(i, entry[E]{at, then, e})
}

// remove takes e out of the heap.
func (h *heap[E]) remove(e E) {
	i, n := int(*e.heapSlot())-1, len(h.entries)-1
	last := h.entries[n]
	h.entries[n] = entry[E]{}
	h.entries = h.entries[:n]
	*e.heapSlot() = 0
	if i < n {
		h.fix(i, last)
	}
	if cap(h.entries) > 64 && n < cap(h.entries)/4 {
		h.entries = append(make([]entry[E], 0, cap(h.entries)/2), h.entries...)
	}
}

// fix puts e where it belongs, at i or above or below.
func (h *heap[E]) fix(i int, e entry[E]) {
	if i > 0 && e.before(&h.entries[(i-1)/2]) {
		h.up(i, e)
	} else {
		h.down(i, e)
	}
}

func (h *heap[E]) up(i int, e entry[E]) {
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&h.entries[parent]) {
			break
		}
		h.put(i, h.entries[parent])
		i = parent
	}
	h.put(i, e)
}

func (h *heap[E]) down(i int, e entry[E]) {
	for {
		child := 2*i + 1
		if child >= len(h.entries) {
			break
		}
		if right := child + 1; right < len(h.entries) && h.entries[right].before(&h.entries[child]) {
			child = right
		}
		if !h.entries[child].before(&e) {
			break
		}
		h.put(i, h.entries[child])
		i = child
	}
	h.put(i, e)
}

func (h *heap[E]) put(i int, e entry[E]) {
	h.entries[i] = e
	*e.of.heapSlot() = int32(i + 1)
}
