package workqueue

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestAHeapStaysInOrder sets, moves and removes things at random places of a large
// heap, and checks the order after each step.
func TestAHeapStaysInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var h heap[*item[int]]
	var items []*item[int]
	for step := range 20_000 {
		switch n := rng.IntN(10); {
		case n < 4 || len(items) == 0:
			it := &item[int]{key: step}
			items = append(items, it)
			h.set(it, time.Duration(rng.IntN(1000)), int64(step))
		case n < 6:
			it, at := items[rng.IntN(len(items))], time.Duration(rng.IntN(1000))
			if h.set(it, at, int64(step)); h.at(it) != at {
				t.Fatalf("step %d: set to %v, now %v", step, at, h.at(it))
			}
		default:
			i := rng.IntN(len(items))
			h.remove(items[i])
			if items[i].slot != 0 {
				t.Fatalf("step %d: what was removed is still in slot %d", step, items[i].slot)
			}
			items = slices.Delete(items, i, i+1)
		}
		if h.len() != len(items) {
			t.Fatalf("step %d: %d in the heap, want %d", step, h.len(), len(items))
		}
		inOrder(t, &h)
		if step%5000 == 4999 { // a time to shrink
			for len(items) > 10 {
				h.remove(items[len(items)-1])
				items = items[:len(items)-1]
			}
			if cap(h.entries) > 64 {
				t.Fatalf("room for %d, used by %d", cap(h.entries), h.len())
			}
		}
	}
	var due []time.Duration
	for h.len() > 0 {
		at, _ := h.next()
		due = append(due, at)
		h.remove(h.first())
	}
	if !slices.IsSorted(due) {
		t.Errorf("emptied in the order %v", due)
	}
}
