package workqueue

import (
	"math/rand/v2"
	"testing"
)

// TestATableAgreesWithAMap adds and drops keys at random, whose hashes collide
// often, and compares the table with a map. The number of keys goes up and down,
// so that the table grows and shrinks.
func TestATableAgreesWithAMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	tab, items := newTable[int](), map[int]*item[int]{}
	hash := func(key int) uint32 { return uint32(key/4) * 0x9e3779b1 >> uint(key%3) }
	for step := range 200_000 {
		key := rng.IntN(20_000)
		up := step/40_000%2 == 0
		it, ok := items[key]
		if found := tab.find(hash(key), key); found != it {
			t.Fatalf("step %d: found %v for %d, want %v", step, found, key, it)
		}
		switch {
		case !ok && (up || rng.IntN(4) == 0):
			items[key] = tab.add(hash(key), key)
		case ok && (!up || rng.IntN(4) == 0):
			tab.drop(it)
			delete(items, key)
		}
		if tab.len != len(items) || 3*tab.len > 2*len(tab.slots) {
			t.Fatalf("step %d: %d keys in %d slots, want %d", step, tab.len, len(tab.slots), len(items))
		}
		if step%10_000 == 0 {
			n := 0
			tab.all(func(it *item[int]) {
				n++
				if items[it.key] != it {
					t.Fatalf("step %d: %d is not in the map", step, it.key)
				}
			})
			if n != len(items) {
				t.Fatalf("step %d: all are %d, want %d", step, n, len(items))
			}
		}
	}
	for key, it := range items {
		tab.drop(it)
		delete(items, key)
	}
	if tab.len != 0 || len(tab.slots) > 4*tableKeep {
		t.Errorf("%d keys in %d slots", tab.len, len(tab.slots))
	}
}
