package workqueue

import "time"

// delay is the time at which a delayed key becomes ready.
type delay[K comparable] struct {
	due time.Duration
	// seq orders keys that are due at the same time as they were added.
	seq uint64
	it  *item[K]
}

func (d delay[K]) before(e delay[K]) bool {
	return d.due < e.due || d.due == e.due && d.seq < e.seq
}

// delays is a binary heap of the delayed keys, the next one first. Each item
// knows its slot, so a delay can be shortened or ended wherever it stands.
type delays[K comparable] struct {
	heap []delay[K]
	seq  uint64
}

func (h *delays[K]) len() int { return len(h.heap) }

// next is when the first key is due.
func (h *delays[K]) next() (due time.Duration, ok bool) {
	if len(h.heap) == 0 {
		return 0, false
	}
	return h.heap[0].due, true
}

// due is when a delayed item is.
func (h *delays[K]) due(it *item[K]) time.Duration { return h.heap[it.slot-1].due }

// set delays an item until due, or until the time that it has if that is
// earlier. It reports whether anything has changed.
func (h *delays[K]) set(it *item[K], due time.Duration) bool {
	if it.slot > 0 && h.due(it) <= due {
		return false
	}
	h.seq++
	d := delay[K]{due: due, seq: h.seq, it: it}
	if it.slot == 0 {
		h.heap = append(h.heap, d)
		h.up(len(h.heap)-1, d)
	} else {
		h.up(it.slot-1, d)
	}
	return true
}

// remove ends the delay of an item.
func (h *delays[K]) remove(it *item[K]) {
	i, n := it.slot-1, len(h.heap)-1
	last := h.heap[n]
	h.heap[n] = delay[K]{}
	h.heap = h.heap[:n]
	it.slot = 0
	if i < n {
		if i > 0 && last.before(h.heap[(i-1)/2]) {
			h.up(i, last)
		} else {
			h.down(i, last)
		}
	}
	if cap(h.heap) > 64 && n < cap(h.heap)/4 {
		h.heap = append(make([]delay[K], 0, cap(h.heap)/2), h.heap...)
	}
}

// first is the item that is due next. There must be one.
func (h *delays[K]) first() *item[K] { return h.heap[0].it }

// up puts d at i or above.
func (h *delays[K]) up(i int, d delay[K]) {
	for i > 0 {
		parent := (i - 1) / 2
		if !d.before(h.heap[parent]) {
			break
		}
		h.put(i, h.heap[parent])
		i = parent
	}
	h.put(i, d)
}

// down puts d at i or below.
func (h *delays[K]) down(i int, d delay[K]) {
	for {
		child := 2*i + 1
		if child >= len(h.heap) {
			break
		}
		if right := child + 1; right < len(h.heap) && h.heap[right].before(h.heap[child]) {
			child = right
		}
		if !h.heap[child].before(d) {
			break
		}
		h.put(i, h.heap[child])
		i = child
	}
	h.put(i, d)
}

func (h *delays[K]) put(i int, d delay[K]) {
	h.heap[i] = d
	d.it.slot = i + 1
}
