package workqueue

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestDelaysStayInOrder sets, shortens and removes delays at random places of a
// large heap, and checks the order of the heap after each step.
func TestDelaysStayInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var h delays[int]
	var items []*item[int]
	for step := range 20_000 {
		switch n := rng.IntN(10); {
		case n < 4 || len(items) == 0:
			it := &item[int]{key: step}
			items = append(items, it)
			h.set(it, time.Duration(rng.IntN(1000)))
		case n < 6:
			it := items[rng.IntN(len(items))]
			before, due := h.due(it), time.Duration(rng.IntN(1000))
			if changed := h.set(it, due); changed != (due < before) || h.due(it) != min(before, due) {
				t.Fatalf("step %d: set %v to %v: %v, now %v", step, before, due, changed, h.due(it))
			}
		default:
			i := rng.IntN(len(items))
			h.remove(items[i])
			if items[i].slot != 0 {
				t.Fatalf("step %d: a removed item is still in slot %d", step, items[i].slot)
			}
			items = slices.Delete(items, i, i+1)
		}
		if h.len() != len(items) {
			t.Fatalf("step %d: %d delays, want %d", step, h.len(), len(items))
		}
		for i, d := range h.heap {
			if d.it.slot != i+1 || i > 0 && d.before(h.heap[(i-1)/2]) {
				t.Fatalf("step %d: the heap is out of order at %d", step, i)
			}
		}
		if step%5000 == 4999 { // a time to shrink
			for len(items) > 10 {
				h.remove(items[len(items)-1])
				items = items[:len(items)-1]
			}
			if cap(h.heap) > 64 {
				t.Fatalf("room for %d delays, used by %d", cap(h.heap), h.len())
			}
		}
	}
}
