package indexer

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// wantAllocs checks how much f allocates once everything has its size.
func wantAllocs(t *testing.T, what string, most float64, f func()) {
	t.Helper()
	if got := testing.AllocsPerRun(100, f); got > most {
		t.Errorf("%s allocates %v times, want at most %v", what, got, most)
	}
}

func TestReadingAllocatesOnlyResults(t *testing.T) {
	s := makeStore(t, newIndexer, things)
	for i := range 100 {
		mustPut(t, s, fmt.Sprint(i), &thing{id: i, color: "red"})
	}
	sum := 0
	wantAllocs(t, "Get", 0, func() { o, _ := s.Get(named("7")); sum += o.id })
	wantAllocs(t, "Entry", 0, func() { e, _ := s.Entry(named("7")); sum += e.Object.id })
	wantAllocs(t, "Len and Version", 0, func() { sum += s.Len() + len(s.Version()) })
	wantAllocs(t, "Count", 0, func() { n, _ := s.Count("color", "red"); sum += n })
	wantAllocs(t, "List", 1, func() { sum += len(s.List()) })
	wantAllocs(t, "ByIndex", 1, func() { objs, _ := s.ByIndex("color", "red"); sum += len(objs) })
	seq, err := s.AllByIndex("color", "red")
	if err != nil {
		t.Fatal(err)
	}
	add := func(o *thing) bool { sum += o.id; return true }
	wantAllocs(t, "a loop over AllByIndex", 0, func() { seq(add) })
	all := s.All()
	wantAllocs(t, "a loop over All", 0, func() { all(add) })
	wantAllocs(t, "Snapshot", 2, func() { s.Snapshot().Close() })
}

// Superseded versions are used again, so that a steady stream of updates
// allocates nothing but one transaction per batch.
func TestUpdatesAllocateNothingForEachObject(t *testing.T) {
	const objects = 100
	s := makeStore(t, newIndexer, things)
	colors := [...]string{"red", "blue"}
	for _, color := range colors { // so that no value comes and goes
		mustPut(t, s, color, &thing{color: color})
	}
	objs := [2][objects]*thing{}
	entries := [2][objects]Entry[*thing]{}
	for n := range 2 {
		for i := range objects {
			objs[n][i] = &thing{id: i, color: colors[n], values: []string{"x", "y"}}
			entries[n][i] = entryOf(fmt.Sprint(i), objs[n][i])
		}
	}
	var keys []types.NamespacedName
	for _, e := range entries[0] {
		keys = append(keys, e.Key)
	}
	turn := 0
	update := func(n int) {
		s.Update(func(tx Tx[*thing]) {
			tx.Expect(keys)
			for i := range objects {
				if err := tx.Put(entries[n][i]); err != nil {
					t.Error(err)
				}
			}
			tx.SetVersion(entries[n][0].Version)
		})
	}
	for range 4 {
		turn++
		update(turn % 2)
	}
	wantAllocs(t, "an update of 100 objects with the same values", 2, func() { update(0) })
	update(0)
	wantAllocs(t, "an update of 100 objects with another value", 2, func() { turn++; update(turn % 2) })
}

func TestVersionsWithTheSameValuesShareTheirPostings(t *testing.T) {
	s := makeStore(t, newIndexer, things)
	head := func() *version[*thing] {
		c := s.(*Indexer[*thing]).core
		return c.entry(named("a"), c.hash(named("a"))).head.Load()
	}
	mustPut(t, s, "a", &thing{color: "red", values: []string{"y", "x"}})
	before := head().postings
	mustPut(t, s, "a", &thing{color: "red", values: []string{"x", "y", "x"}})
	if !same(before, head().postings) {
		t.Error("a new version with the same values has other postings")
	}
	mustPut(t, s, "a", &thing{color: "blue", values: []string{"x", "y"}})
	if same(before, head().postings) {
		t.Error("a new version with other values has the same postings")
	}
}

func TestALargeTransactionLeavesNoMemoryBehind(t *testing.T) {
	s := makeStore(t, newIndexer, things)
	c := s.(*Indexer[*thing]).core
	fill := func(n int) {
		s.Update(func(tx Tx[*thing]) {
			for i := range n {
				if err := tx.Put(entryOf(fmt.Sprint(i), &thing{color: fmt.Sprint(i)})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	fill(scratchSize + 1)
	fill(scratchSize + 1)
	if c.scratch.touched != nil || c.scratch.created != nil {
		t.Errorf("memory for %d writes is kept", cap(c.scratch.touched))
	}
	if len(c.free) > scratchSize {
		t.Errorf("%d versions are kept for later", len(c.free))
	}
	fill(scratchSize)
	if cap(c.scratch.touched) < scratchSize {
		t.Error("the memory of a small transaction is not kept")
	}
	for _, touched := range c.scratch.touched[:cap(c.scratch.touched)] {
		if touched != (superseded[*thing]{}) {
			t.Fatal("a write is still held")
		}
	}
	for _, p := range c.scratch.postings[:cap(c.scratch.postings)] {
		if p.bucket != nil {
			t.Fatal("a bucket is still held")
		}
	}
	for _, v := range c.free {
		if v.object != nil || v.prev.Load() != nil || len(v.postings) != 0 {
			t.Fatal("a free version holds something")
		}
	}
}

func TestTheMemoryOfABurstIsGivenBackAfterAFewSmallTransactions(t *testing.T) {
	s := makeStore(t, newIndexer, things)
	c := s.(*Indexer[*thing]).core
	for range 2 {
		s.Update(func(tx Tx[*thing]) {
			for i := range scratchSize {
				if err := tx.Put(entryOf(fmt.Sprint(i), &thing{})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range scratchPatience - 1 {
		mustPut(t, s, "a", &thing{})
		if cap(c.scratch.touched) < scratchSize {
			t.Fatal("the memory was given back at once")
		}
	}
	mustPut(t, s, "a", &thing{})
	if c.scratch.touched != nil {
		t.Errorf("memory for %d writes is kept", cap(c.scratch.touched))
	}
	if len(c.free) > 32 {
		t.Errorf("%d versions are kept for transactions of one write", len(c.free))
	}
}

func TestATransactionThatPanicsLeavesNoMarkOnWhatItWrote(t *testing.T) {
	s := makeStore(t, newIndexer, things)
	mustPut(t, s, "held", &thing{color: "red"})
	func() {
		defer func() { _ = recover() }()
		s.Update(func(tx Tx[*thing]) {
			tx.Delete(named("held"))
			if err := tx.Put(entryOf("new", &thing{color: "blue"})); err != nil {
				t.Error(err)
			}
			panic("on purpose")
		})
	}()
	wantSound(t, s)
	if obj, ok := s.Get(named("held")); !ok || obj.color != "red" {
		t.Errorf("held is %v, %v, want red", obj, ok)
	}
	if obj, ok := s.Get(named("new")); ok {
		t.Errorf("new is %v", obj)
	}
	s.Update(func(tx Tx[*thing]) {
		if e, ok := tx.Entry(named("held")); !ok || e.Object.color != "red" {
			t.Errorf("held is %v, %v", e, ok)
		}
		if e, ok := tx.Entry(named("new")); ok {
			t.Errorf("new is %v", e)
		}
		if err := tx.Put(entryOf("held", &thing{color: "black"})); err != nil {
			t.Error(err)
		}
	})
	if obj, ok := s.Get(named("held")); !ok || obj.color != "black" {
		t.Errorf("held is %v, %v, want black", obj, ok)
	}
	wantSound(t, s)
}

func TestStatsCountWhatIsThere(t *testing.T) {
	s := makeStore(t, newIndexer, things)
	empty := stats(s)
	for i := range 1000 {
		mustPut(t, s, fmt.Sprint(i), &thing{color: fmt.Sprint(i % 10), values: []string{"x", fmt.Sprint(i)}})
	}
	full := stats(s)
	if full.Objects != 1000 || full.Snapshots != 0 || full.Retained != 0 || len(full.Indexes) != 2 {
		t.Fatalf("the stats are %+v", full)
	}
	color, values := full.Indexes[0], full.Indexes[1]
	if color.Name != "color" || color.Values != 10 || color.Listed != 1000 || values.Name != "values" || values.Values != 1001 || values.Listed != 2000 {
		t.Errorf("the indexes are %+v", full.Indexes)
	}
	// An entry of 96 bytes, a version of 80 and 2 slots of 9 at most; three
	// postings of 16, as many places, and a bucket of 80 with two slots.
	if each := (full.Bytes - empty.Bytes) / 1000; each < 176+3*16+80 || each > 176+18+3*(16+12)+80+32 {
		t.Errorf("each object takes %d bytes", each)
	}
	for i := range 1000 {
		remove(s, fmt.Sprint(i))
	}
	got := stats(s)
	if got.Objects != 0 || got.Indexes[0].Values != 0 || got.Indexes[1].Listed != 0 {
		t.Errorf("of the empty store: %+v", got)
	}
	for i := range got.Indexes {
		if left := got.Indexes[i].Bytes - empty.Indexes[i].Bytes; left > 2*1001*2*8 {
			t.Errorf("index %s still takes %d bytes", got.Indexes[i].Name, left)
		}
	}
}

// heapInUse is what is left after a collection.
func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// The same pods under the same three indexes: one of few values, one of a hundred
// objects to the value, one of three. Client-go keeps a text for each key, and no
// UIDs and versions.
func TestAStoreTakesLittleMoreThanThatOfClientGoWithoutRace(t *testing.T) {
	pods := make([]*corev1.Pod, 20_000)
	for i := range pods {
		pods[i] = besidePod(i, "1")
	}
	start := heapInUse()
	theirs := besideClientGo()
	for _, p := range pods {
		if err := theirs.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	between := heapInUse()
	ours := besideOurs(t)
	ours.Update(func(tx Tx[*corev1.Pod]) {
		for _, p := range pods {
			if err := tx.Put(podEntry(p)); err != nil {
				t.Error(err)
			}
		}
	})
	took, clientGo := heapInUse()-between, between-start
	if float64(took) > 1.15*float64(clientGo) {
		t.Errorf("the store takes %d bytes, that of client-go %d", took, clientGo)
	}
	t.Logf("%d bytes an object, client-go %d", took/int64(len(pods)), clientGo/int64(len(pods)))
	runtime.KeepAlive(pods)
	runtime.KeepAlive(ours)
	runtime.KeepAlive(theirs)
}

func TestTheEstimateOfBytesIsNearTheHeap(t *testing.T) {
	const objects = 20_000
	entries := make([]Entry[*thing], objects)
	for i := range entries {
		entries[i] = entryOf(fmt.Sprintf("frontend-7d9c5b8f6b-%05x", i), &thing{color: fmt.Sprint(i % 200), values: []string{fmt.Sprint(i / 3), "all"}})
	}
	before := heapInUse()
	s := makeStore(t, newIndexer, things)
	for batch := range slices.Chunk(entries, 100) {
		s.Update(func(tx Tx[*thing]) {
			for _, e := range batch {
				if err := tx.Put(e); err != nil {
					t.Error(err)
				}
			}
		})
	}
	took := heapInUse() - before
	if got := stats(s).Bytes; float64(got) < 0.75*float64(took) || float64(got) > 1.25*float64(took) {
		t.Errorf("the estimate is %d bytes, the heap grew by %d", got, took)
	}
	t.Logf("%d bytes an object, estimated %d", took/objects, stats(s).Bytes/objects)
	runtime.KeepAlive(entries)
}

// A value that nearly all objects leave gives back its memory, also while somebody
// still sees them under it.
func TestABucketShrinksWithWhatItLists(t *testing.T) {
	s := makeStore(t, newIndexer, things)
	c := s.(*Indexer[*thing]).core
	recolor := func(from, to int, color string) {
		s.Update(func(tx Tx[*thing]) {
			for i := from; i < to; i++ {
				if err := tx.Put(entryOf(fmt.Sprint(i), &thing{id: i, color: color})); err != nil {
					t.Error(err)
				}
			}
		})
		wantSound(t, s)
	}
	color, err := c.state.Load().named("color")
	if err != nil {
		t.Fatal(err)
	}
	recolor(0, 1000, "red")
	held := s.Snapshot()
	for i := range 99 {
		recolor(i*10, i*10+10, "blue")
	}
	if red, err := held.ByIndex("color", "red"); err != nil || len(red) != 1000 {
		t.Errorf("the snapshot has %d red ones, %v", len(red), err)
	}
	held.Close()
	wantSound(t, s)
	if n := len(*color.bucket("red").rest.Load()); n > smallBucket {
		t.Errorf("there are %d places for 10 entries", n)
	}
	red, err := s.ByIndex("color", "red")
	if want := []int{990, 991, 992, 993, 994, 995, 996, 997, 998, 999}; err != nil || !slices.Equal(ids(red), want) {
		t.Errorf("red are %v, %v; want %v", ids(red), err, want)
	}
	recolor(0, 990, "red")
	for i := range 990 {
		remove(s, fmt.Sprint(i))
	}
	wantSound(t, s)
	if n := len(*color.bucket("red").rest.Load()); n > smallBucket {
		t.Errorf("after the deletes there are %d places for 10 entries", n)
	}
}
