package indexer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestATableHasWhatWasPutIn(t *testing.T) {
	type node struct{ hash uint32 }
	for _, hashes := range []uint32{1, 7, 1 << 31} { // all collide, some, hardly any
		random := rand.New(rand.NewPCG(1, uint64(hashes)))
		var tab table[node]
		tab.init(func(n *node) uint32 { return n.hash })
		want := map[*node]bool{}
		for range 4_000 {
			if random.IntN(100) < 55 && len(want) < 300 {
				n := &node{hash: random.Uint32N(hashes)}
				tab.insert(n)
				want[n] = true
				continue
			}
			for n := range want {
				tab.remove(n)
				delete(want, n)
				break
			}
		}
		got := map[*node]bool{}
		for n := range tab.walk {
			got[n] = true
		}
		if !maps.Equal(got, want) || tab.live != len(want) {
			t.Errorf("%d hashes: the table has %d and counts %d, want %d", hashes, len(got), tab.live, len(want))
		}
		gathered := map[*node]bool{}
		var few [walkSize]*node
		for groups := *tab.groups.Load(); len(groups) > 0; {
			var n int
			n, groups = gather(groups, &few)
			for _, in := range few[:n] {
				if gathered[in] {
					t.Fatalf("%d hashes: a node is gathered twice", hashes)
				}
				gathered[in] = true
			}
		}
		if !maps.Equal(gathered, want) {
			t.Errorf("%d hashes: %d are gathered, want %d", hashes, len(gathered), len(want))
		}
		for n := range want {
			if !slices.Contains(slices.Collect(tab.find(n.hash)), n) {
				t.Fatalf("%d hashes: a node is not found", hashes)
			}
			tab.remove(n)
		}
		tab.insert(&node{})
		if n := len(*tab.groups.Load()); n > 2 {
			t.Errorf("%d hashes: one node takes %d groups", hashes, n)
		}
	}
}

func TestATableHasRoomForWhatIsThereAndNotMuchMore(t *testing.T) {
	type node struct{ hash uint32 }
	var tab table[node]
	tab.init(func(n *node) uint32 { return n.hash })
	check := func() {
		t.Helper()
		if slots := len(*tab.groups.Load()) * groupSize; tab.live > slots*5/6 || slots > groupSize && tab.live < slots/6 {
			t.Fatalf("there are %d slots for %d", slots, tab.live)
		}
	}
	var nodes []*node
	for i := range uint32(10_000) {
		n := &node{hash: i * 2654435761}
		nodes = append(nodes, n)
		tab.insert(n)
		check()
	}
	for _, n := range nodes {
		tab.remove(n)
		check()
	}
}

func TestAnOrderFindsTheFirstValueFrom(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	o := newOrder[int]()
	held := map[string]*bucket[int]{}
	for range 20_000 {
		value := fmt.Sprint(random.IntN(500))
		if b := held[value]; b != nil {
			o.remove(b)
			delete(held, value)
			continue
		}
		held[value] = &bucket[int]{value: value, hash: random.Uint32()}
		o.insert(held[value])
	}
	values := slices.Sorted(maps.Keys(held))
	for n := range 500 {
		from := fmt.Sprint(n)
		at, _ := slices.BinarySearch(values, from)
		b := o.first(from)
		for ; b != nil && at < len(values); b, at = b.next(), at+1 {
			if b.value != values[at] {
				t.Fatalf("from %q: %q, want %q", from, b.value, values[at])
			}
		}
		if b != nil || at != len(values) {
			t.Fatalf("from %q the order ends too soon or too late", from)
		}
	}
}

// Somebody who stands on a value that is removed finds all that stay.
func TestAWalkInOrderGoesOnFromWhatWasRemoved(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		o := newOrder[int]()
		var buckets []*bucket[int]
		for i := range 50 {
			buckets = append(buckets, &bucket[int]{value: fmt.Sprintf("%03d", i), hash: random.Uint32()})
			o.insert(buckets[i])
		}
		at := random.IntN(50)
		staying := map[string]bool{}
		for _, i := range random.Perm(50) {
			if i == at || random.IntN(2) == 0 {
				o.remove(buckets[i])
			} else if i > at {
				staying[buckets[i].value] = true
			}
			if random.IntN(4) == 0 {
				o.insert(&bucket[int]{value: fmt.Sprintf("%03d-new", i), hash: random.Uint32()})
			}
		}
		for b := buckets[at].next(); b != nil; b = b.next() {
			delete(staying, b.value)
		}
		if len(staying) > 0 {
			t.Fatalf("from %s the walk misses %v", buckets[at].value, staying)
		}
	}
}

func TestThereArePinsForEverybody(t *testing.T) {
	var p pins
	var committed atomic.Uint64
	p.init()
	var taken []*pin
	var want []uint64
	for i := range uint64(10 * firstPins) {
		committed.Store(i + 1)
		slot, epoch := p.take(&committed)
		if epoch != i+1 {
			t.Errorf("epoch %d was pinned, want %d", epoch, i+1)
		}
		taken, want = append(taken, slot), append(want, i+1)
	}
	if got := p.taken(nil); !slices.Equal(got, want) {
		t.Errorf("the pins are %d, want %d", got, want)
	}
	slots := len(*p.slots.Load())
	for _, slot := range taken {
		slot.giveBack(&committed)
	}
	if got := p.taken(nil); len(got) != 0 {
		t.Errorf("the pins are %d, want none", got)
	}
	for range 10 * firstPins {
		p.take(&committed)
	}
	if got := len(*p.slots.Load()); got != slots {
		t.Errorf("there are %d slots, want the same %d again", got, slots)
	}
}

func TestBetweenFindsAnEpochInARange(t *testing.T) {
	epochs := []uint64{3, 3, 5, 9}
	for from := range uint64(11) {
		for to := range uint64(11) {
			want := slices.ContainsFunc(epochs, func(e uint64) bool { return from <= e && e < to })
			if got := between(epochs, from, to); got != want {
				t.Errorf("between %d and %d: %v, want %v", from, to, got, want)
			}
		}
	}
}

func TestAnEntryHasItsKeyWhateverItsLength(t *testing.T) {
	for n := range 100 {
		key := types.NamespacedName{Namespace: "ns", Name: strings.Repeat("n", n)}
		if e := newEntry[*thing](key, 7); e.key != key || e.hash != 7 {
			t.Errorf("the entry of %v has the key %v and the hash %d", key, e.key, e.hash)
		}
	}
}

func TestObjectsOfAnyTypeCanBeStored(t *testing.T) {
	storeAndGet(t, 5)
	storeAndGet(t, "text")
	storeAndGet[error](t, errBad)
	storeAndGet(t, &thing{id: 5})
	storeAndGet(t, [3]int{1, 2, 3})
	storeAndGet(t, struct{}{})
	storeAndGet[*thing](t, nil)
	storeAndGet[any](t, nil)
}

func storeAndGet[T comparable](t *testing.T, obj T) {
	t.Helper()
	s, err := New(Indexes[T]{"all": {Values: func(_ T, values []string) ([]string, error) { return append(values, "x"), nil }}})
	if err != nil {
		t.Fatal(err)
	}
	s.Update(func(tx Tx[T]) { err = tx.Put(Entry[T]{Key: named("a"), Object: obj}) })
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := s.Get(named("a")); !ok || got != obj {
		t.Errorf("Get = %v, %v; want %v", got, ok, obj)
	}
	if got, err := s.ByIndex("all", "x"); err != nil || len(got) != 1 || got[0] != obj {
		t.Errorf("ByIndex = %v, %v; want %v", got, err, obj)
	}
}
