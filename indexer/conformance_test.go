package indexer

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// testStore is the contract of a store, as far as single calls show it. Every
// implementation must pass it.
func testStore(t *testing.T, create newStore) {
	for name, test := range map[string]func(*testing.T, newStore){
		"a new store is empty":                          testEmpty,
		"what is put can be read in every way":          testReads,
		"a put replaces what the key had":               testOverwrite,
		"keys differ in their namespace":                testNamespaces,
		"a delete removes and returns":                  testDelete,
		"a transaction sees its own writes":             testOwnWrites,
		"a transaction is not seen before it ends":      testNotSeenBefore,
		"a transaction that panics leaves nothing":      testPanickingTransaction,
		"a transaction that has ended does nothing":     testEndedTransaction,
		"a transaction keeps the version it is not set": testVersion,
		"index values follow the object":                testValuesFollow,
		"duplicate and unsorted values count once":      testDuplicates,
		"an index function runs once for each version":  testOncePerVersion,
		"values in use are those of some object":        testValuesInUse,
		"an index function that fails harms one index":  testFailures,
		"several failures are joined":                   testJoinedFailures,
		"an unknown index is an error":                  testUnknownIndex,
		"a nil index function is refused":               testNilIndex,
		"an added index lists what is there":            testAddIndexes,
		"an added index that fails for one object":      testAddIndexesFailures,
		"indexes are added all or none":                 testAddIndexesRefused,
		"a loop sees the state of its start":            testLoops,
		"a loop may be left":                            testLoopBreaks,
		"slices belong to the caller":                   testSlices,
		"index functions and loops hold no lock":        testNoLocks,
	} {
		t.Run(name, func(t *testing.T) { test(t, create) })
	}
}

// ids returns the sorted ids of objects.
func ids(objs []*thing) []int {
	found := []int{}
	for _, o := range objs {
		found = append(found, o.id)
	}
	slices.Sort(found)
	return found
}

// wantIndex checks every way to ask an index for a value.
func wantIndex(t *testing.T, s store, index, value string, want ...int) {
	t.Helper()
	if want == nil {
		want = []int{}
	}
	objs, err := s.ByIndex(index, value)
	if err != nil || !slices.Equal(ids(objs), want) {
		t.Errorf("ByIndex(%s, %s) = %v, %v; want %v", index, value, ids(objs), err, want)
	}
	seq, err := s.AllByIndex(index, value)
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(slices.Collect(seq)); !slices.Equal(got, want) {
		t.Errorf("AllByIndex(%s, %s) yields %v, want %v", index, value, got, want)
	}
	keys, err := s.IndexKeys(index, value)
	if err != nil {
		t.Fatal(err)
	}
	got := []int{}
	for _, key := range keys {
		o, _ := s.Get(key)
		got = append(got, o.id)
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("IndexKeys(%s, %s) = %v, the keys of %v; want %v", index, value, keys, got, want)
	}
	values, err := s.IndexValues(index)
	if err != nil {
		t.Fatal(err)
	}
	if listed := slices.Contains(values, value); listed != (len(want) > 0) {
		t.Errorf("IndexValues(%s) = %q, but %d objects are listed under %q", index, values, len(want), value)
	}
}

func testEmpty(t *testing.T, create newStore) {
	s := makeStore(t, create, nil)
	if o, ok := s.Get(named("a")); ok || o != nil {
		t.Errorf("Get = %v, %v", o, ok)
	}
	if e, ok := s.Entry(named("a")); ok || e != (Entry[*thing]{}) {
		t.Errorf("Entry = %v, %v", e, ok)
	}
	if s.Len() != 0 || len(s.List()) != 0 || s.Version() != "" || len(s.Indexes()) != 0 {
		t.Errorf("Len, List, Version, Indexes are %d, %v, %q, %q", s.Len(), s.List(), s.Version(), s.Indexes())
	}
	for o := range s.All() {
		t.Errorf("All yields %v", o)
	}
	for e := range s.Entries() {
		t.Errorf("Entries yields %v", e)
	}
	s.Update(func(Tx[*thing]) {})
}

func testReads(t *testing.T, create newStore) {
	s := makeStore(t, create, things)
	a := &thing{id: 1, values: []string{"x", "y"}, color: "red"}
	mustPut(t, s, "a", a)
	mustPut(t, s, "b", &thing{id: 2, values: []string{"y"}, color: ""})
	if o, ok := s.Get(named("a")); !ok || o != a {
		t.Errorf("Get = %v, %v; want the object that was put", o, ok)
	}
	if e, ok := s.Entry(named("a")); !ok || e != entryOf("a", a) {
		t.Errorf("Entry = %v, %v; want the entry that was put", e, ok)
	}
	if got := ids(s.List()); s.Len() != 2 || !slices.Equal(got, []int{1, 2}) {
		t.Errorf("Len is %d, List has %v", s.Len(), got)
	}
	if got := ids(slices.Collect(s.All())); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("All yields %v", got)
	}
	found := 0
	for e := range s.Entries() {
		if want, _ := s.Entry(e.Key); e != want {
			t.Errorf("Entries yields %v, Entry has %v", e, want)
		}
		found++
	}
	if found != 2 {
		t.Errorf("Entries yields %d entries, want 2", found)
	}
	wantIndex(t, s, "values", "x", 1)
	wantIndex(t, s, "values", "y", 1, 2)
	wantIndex(t, s, "values", "z")
	wantIndex(t, s, "color", "", 2)
	if got := s.Indexes(); !slices.Equal(got, []string{"color", "values"}) {
		t.Errorf("Indexes = %q", got)
	}
}

func testOverwrite(t *testing.T, create newStore) {
	s := makeStore(t, create, things)
	mustPut(t, s, "a", &thing{id: 1, values: []string{"x"}})
	other := entryOf("a", &thing{id: 2, values: []string{"x"}})
	other.UID, other.Version = "another", "0"
	s.Update(func(tx Tx[*thing]) {
		if err := tx.Put(other); err != nil {
			t.Error(err)
		}
	})
	if e, _ := s.Entry(named("a")); e != other || s.Len() != 1 {
		t.Errorf("Entry = %v of %d, want %v alone", e, s.Len(), other)
	}
	wantIndex(t, s, "values", "x", 2)
}

func testNamespaces(t *testing.T, create newStore) {
	s := makeStore(t, create, nil)
	mustPut(t, s, "a", &thing{id: 1})
	cluster := Entry[*thing]{Key: types.NamespacedName{Name: "a"}, Object: &thing{id: 2}}
	s.Update(func(tx Tx[*thing]) {
		if err := tx.Put(cluster); err != nil {
			t.Error(err)
		}
	})
	one, _ := s.Get(named("a"))
	two, _ := s.Get(cluster.Key)
	if s.Len() != 2 || one.id != 1 || two.id != 2 {
		t.Errorf("Len is %d, the objects are %v and %v", s.Len(), one, two)
	}
}

func testDelete(t *testing.T, create newStore) {
	s := makeStore(t, create, things)
	a := &thing{id: 1, values: []string{"x", "y"}}
	mustPut(t, s, "a", a)
	mustPut(t, s, "b", &thing{id: 2, values: []string{"y"}})
	s.Update(func(tx Tx[*thing]) {
		if e, ok := tx.Delete(named("a")); !ok || e != entryOf("a", a) {
			t.Errorf("Delete = %v, %v; want the entry that was put", e, ok)
		}
		if e, ok := tx.Delete(named("a")); ok || e != (Entry[*thing]{}) {
			t.Errorf("a second Delete = %v, %v; want nothing", e, ok)
		}
		if _, ok := tx.Delete(named("none")); ok {
			t.Error("something was deleted that was never there")
		}
	})
	if _, ok := s.Get(named("a")); ok || s.Len() != 1 {
		t.Errorf("after the delete: Get finds it: %v, Len is %d", ok, s.Len())
	}
	wantIndex(t, s, "values", "x")
	wantIndex(t, s, "values", "y", 2)
	mustPut(t, s, "a", &thing{id: 3, values: []string{"x"}})
	wantIndex(t, s, "values", "x", 3)
	wantIndex(t, s, "values", "y", 2)
}

func testLoops(t *testing.T, create newStore) {
	s := makeStore(t, create, things)
	seq, err := s.AllByIndex("color", "red")
	if err != nil {
		t.Fatal(err)
	}
	all, entries := s.All(), s.Entries()
	for i, name := range []string{"a", "b", "c"} {
		mustPut(t, s, name, &thing{id: i + 1, color: "red"})
	}
	// The sequences were made before the objects were there; the loops start
	// after, and within them everything changes.
	change := func() {
		remove(s, "a")
		mustPut(t, s, "b", &thing{id: 20, color: "blue"})
		mustPut(t, s, "d", &thing{id: 30, color: "red"})
	}
	restore := func() {
		remove(s, "d")
		for i, name := range []string{"a", "b", "c"} {
			mustPut(t, s, name, &thing{id: i + 1, color: "red"})
		}
	}
	for name, objs := range map[string]func(func(*thing) bool){
		"All":        all,
		"AllByIndex": seq,
		"Entries": func(yield func(*thing) bool) {
			for e := range entries {
				if !yield(e.Object) {
					return
				}
			}
		},
	} {
		seen := []*thing{}
		for o := range objs {
			seen = append(seen, o)
			change()
		}
		if got := ids(seen); !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("a loop over %s saw %v, want the state of its start", name, got)
		}
		restore()
	}
}

func testLoopBreaks(t *testing.T, create newStore) {
	s := makeStore(t, create, things)
	for _, name := range []string{"a", "b", "c"} {
		mustPut(t, s, name, &thing{color: "red"})
	}
	seq, err := s.AllByIndex("color", "red")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range seq {
		n++
		break
	}
	for range s.All() {
		n++
		break
	}
	for range s.Entries() {
		n++
		break
	}
	if n != 3 {
		t.Errorf("three loops that end at once saw %d objects", n)
	}
}

func testSlices(t *testing.T, create newStore) {
	s := makeStore(t, create, things)
	mustPut(t, s, "a", &thing{id: 1, values: []string{"x"}})
	for range 2 {
		objs, err := s.ByIndex("values", "x")
		if err != nil || len(objs) != 1 || objs[0].id != 1 {
			t.Fatalf("ByIndex = %v, %v", objs, err)
		}
		list := s.List()
		if len(list) != 1 || list[0].id != 1 {
			t.Fatalf("List = %v", list)
		}
		keys, err := s.IndexKeys("values", "x")
		if err != nil || len(keys) != 1 || keys[0] != named("a") {
			t.Fatalf("IndexKeys = %v, %v", keys, err)
		}
		values, err := s.IndexValues("values")
		if err != nil || len(values) != 1 || values[0] != "x" {
			t.Fatalf("IndexValues = %v, %v", values, err)
		}
		objs[0], list[0], keys[0], values[0] = nil, nil, named("other"), "other"
	}
}
