package indexer

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// model is a store that works out every answer anew.
type model struct {
	entries map[types.NamespacedName]Entry[*thing]
	indexes Indexes[*thing]
	version string
}

// valuesFor calls an index function as the contract says.
func valuesFor(fn IndexFunc[*thing], o *thing) (values []string, failed bool) {
	defer func() {
		if recover() != nil {
			values, failed = nil, true
		}
	}()
	values, err := fn(o, nil)
	if err != nil {
		return nil, true
	}
	return values, false
}

func (m *model) byIndex(index, value string) map[types.NamespacedName]*thing {
	found := map[types.NamespacedName]*thing{}
	for key, e := range m.entries {
		if values, _ := valuesFor(m.indexes[index].Values, e.Object); slices.Contains(values, value) {
			found[key] = e.Object
		}
	}
	return found
}

func (m *model) indexValues(index string) []string {
	found := map[string]bool{}
	for _, e := range m.entries {
		values, _ := valuesFor(m.indexes[index].Values, e.Object)
		for _, value := range values {
			found[value] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// failures are the indexes whose function fails for an object.
func (m *model) failures(o *thing) []string {
	var names []string
	for name, index := range m.indexes {
		if _, failed := valuesFor(index.Values, o); failed {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// run makes random transactions on a store and on its model.
type run struct {
	t     *testing.T
	rand  *rand.Rand
	store store
	model *model
	next  int
	// writes counts the calls of Put and Delete.
	writes int
	opened []opened
}

var letters = []string{"", "a", "b", "c", "d", "e", "f"}

func (r *run) key() types.NamespacedName {
	return types.NamespacedName{Namespace: fmt.Sprint("ns-", r.rand.IntN(3)), Name: fmt.Sprint("obj-", r.rand.IntN(12))}
}

func (r *run) keys(n int) []types.NamespacedName {
	keys := make([]types.NamespacedName, n)
	for i := range keys {
		keys[i] = r.key()
	}
	return keys
}

func (r *run) thing() *thing {
	r.next++
	o := &thing{id: r.next, amount: r.rand.IntN(4), color: letters[r.rand.IntN(len(letters))]}
	for range r.rand.IntN(5) {
		o.values = append(o.values, letters[r.rand.IntN(len(letters))])
	}
	switch r.rand.IntN(12) {
	case 0:
		o.fails = errBad
	case 1:
		o.panics = "no values"
	}
	return o
}

// transaction writes a few entries, perhaps of the same key, and commits them or
// panics.
func (r *run) transaction() {
	entries, version := maps.Clone(r.model.entries), r.model.version
	panics := r.rand.IntN(10) == 0
	defer func() {
		if v := recover(); v != nil && (!panics || v != "rolled back") {
			panic(v)
		}
		if !panics {
			r.model.entries, r.model.version = entries, version
		}
	}()
	r.store.Update(func(tx Tx[*thing]) {
		for range r.rand.IntN(6) {
			if r.rand.IntN(40) == 0 {
				tx.Expect(r.keys(r.rand.IntN(2*expectSize + 2)))
			}
			key := r.key()
			r.writes++
			before, held := entries[key]
			if e, ok := tx.Entry(key); ok != held || e != before {
				r.t.Fatalf("the transaction has %+v (%v) under %v, want %+v", e, ok, key, before)
			}
			if r.rand.IntN(3) == 0 {
				if e, ok := tx.Delete(key); ok != held || e != before {
					r.t.Fatalf("Delete(%v) = %+v, %v; want %+v", key, e, ok, before)
				}
				delete(entries, key)
				continue
			}
			o := r.thing()
			if held && r.rand.IntN(3) == 0 { // the same values again
				o = &thing{id: r.next, amount: before.Object.amount, color: before.Object.color,
					values: before.Object.values, fails: before.Object.fails, panics: before.Object.panics}
			}
			e := Entry[*thing]{Key: key, UID: types.UID(fmt.Sprint("u", r.rand.IntN(3))), Version: strconv.Itoa(r.next), Object: o}
			r.wantFailures(tx.Put(e), r.model.failures(o))
			entries[key] = e
			version = e.Version
			tx.SetVersion(version)
		}
		if panics {
			panic("rolled back")
		}
	})
}

// wantFailures checks that an error tells of just these indexes.
func (r *run) wantFailures(err error, want []string) {
	r.t.Helper()
	var names []string
	for _, err := range flatten(err) {
		var failure *IndexError
		if !errors.As(err, &failure) {
			r.t.Fatalf("Put = %v, which is no IndexError", err)
		}
		names = append(names, failure.Index)
	}
	if slices.Sort(names); !slices.Equal(names, want) {
		r.t.Fatalf("the indexes %q failed, want %q", names, want)
	}
}

func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// addIndex adds one more index, with objects that are there.
func (r *run) addIndex() {
	name := fmt.Sprint("added-", len(r.model.indexes))
	kinds := []IndexFunc[*thing]{
		valuesOf,
		colorOf,
		func(o *thing, values []string) ([]string, error) {
			return append(append(values, o.color), o.values...), nil
		},
		func(o *thing, values []string) ([]string, error) {
			if o.amount == 0 {
				return nil, errBad
			}
			return append(values, letters[o.amount]), nil
		},
	}
	fn := kinds[len(r.model.indexes)%len(kinds)]
	index := Index[*thing]{Values: fn, Ordered: r.rand.IntN(2) == 0}
	failed, err := r.store.AddIndexes(Indexes[*thing]{name: index})
	if err != nil {
		r.t.Fatal(err)
	}
	want := 0
	for _, e := range r.model.entries {
		if _, fails := valuesFor(fn, e.Object); fails {
			want++
		}
	}
	if len(failed) != want {
		r.t.Fatalf("AddIndexes tells of %d failures, want %d", len(failed), want)
	}
	r.model.indexes[name] = index
}

// compare asks a reader for everything.
func (r *run) compare(reader Reader[*thing], m *model) {
	r.t.Helper()
	if reader.Len() != len(m.entries) || reader.Version() != m.version || len(reader.List()) != len(m.entries) {
		r.t.Fatalf("Len and Version are %d and %q, want %d and %q", reader.Len(), reader.Version(), len(m.entries), m.version)
	}
	got := map[types.NamespacedName]Entry[*thing]{}
	for e := range reader.Entries() {
		got[e.Key] = e
		if o, ok := reader.Get(e.Key); !ok || o != e.Object {
			r.t.Fatalf("Get(%v) = %v, %v; want %v", e.Key, o, ok, e.Object)
		}
	}
	if !maps.Equal(got, m.entries) {
		r.t.Fatalf("Entries yields %v, want %v", got, m.entries)
	}
	for index := range m.indexes {
		values, err := reader.IndexValues(index)
		slices.Sort(values)
		if want := m.indexValues(index); err != nil || !slices.Equal(values, want) {
			r.t.Fatalf("IndexValues(%s) = %q, %v; want %q", index, values, err, want)
		}
		for _, value := range letters {
			r.compareValue(reader, m, index, value)
		}
	}
	for range 4 {
		r.compareTerms(reader, m)
	}
}

func (r *run) compareValue(reader Reader[*thing], m *model, index, value string) {
	r.t.Helper()
	want := m.byIndex(index, value)
	objs, err := reader.ByIndex(index, value)
	if wantIDs := ids(slices.Collect(maps.Values(want))); err != nil || !slices.Equal(ids(objs), wantIDs) {
		r.t.Fatalf("ByIndex(%s, %q) = %v, %v; want %v", index, value, ids(objs), err, wantIDs)
	}
	keys, err := reader.IndexKeys(index, value)
	if err != nil || len(keys) != len(want) {
		r.t.Fatalf("IndexKeys(%s, %q) = %v, %v; want %v", index, value, keys, err, want)
	}
	for _, key := range keys {
		if want[key] == nil {
			r.t.Fatalf("IndexKeys(%s, %q) = %v, want %v", index, value, keys, want)
		}
	}
	if n, err := reader.Count(index, value); err != nil || n != len(want) {
		r.t.Fatalf("Count(%s, %q) = %d, %v; want %d", index, value, n, err, len(want))
	}
}

// compareTerms selects by up to three random terms.
func (r *run) compareTerms(reader Reader[*thing], m *model) {
	r.t.Helper()
	names := slices.Sorted(maps.Keys(m.indexes))
	var terms []Term
	var tests []func(values []string) bool
	for range r.rand.IntN(4) {
		name := names[r.rand.IntN(len(names))]
		from, to := letters[r.rand.IntN(len(letters))], letters[r.rand.IntN(len(letters))]
		term, test := Equal(name, from), func(value string) bool { return value == from }
		if m.indexes[name].Ordered && r.rand.IntN(2) == 0 {
			term, test = Range(name, from, to), func(value string) bool { return from <= value && (to == "" || value < to) }
		}
		terms = append(terms, term)
		tests = append(tests, func(values []string) bool { return slices.ContainsFunc(values, test) })
	}
	want := []int{}
	for _, e := range m.entries {
		meets := true
		for i, term := range terms {
			values, _ := valuesFor(m.indexes[term.index].Values, e.Object)
			meets = meets && tests[i](values)
		}
		if meets {
			want = append(want, e.Object.id)
		}
	}
	slices.Sort(want)
	seq, err := reader.Select(terms...)
	if err != nil {
		r.t.Fatal(err)
	}
	objs := slices.Collect(seq)
	if got := ids(objs); !slices.Equal(got, want) {
		r.t.Fatalf("Select(%+v) yields %v, want %v", terms, got, want)
	}
	if len(terms) == 1 && terms[0].kind == termRange {
		first := func(o *thing) string {
			values, _ := valuesFor(m.indexes[terms[0].index].Values, o)
			values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return !tests[0]([]string{v}) })
			return slices.Min(values)
		}
		if !slices.IsSortedFunc(objs, func(a, b *thing) int { return strings.Compare(first(a), first(b)) }) {
			r.t.Fatalf("Select(%+v) yields objects out of order", terms)
		}
	}
}

// opened is a snapshot and the model of the moment at which it was taken.
type opened struct {
	snapshot *Snapshot[*thing]
	model    *model
}

// open takes a snapshot, of the store or of another snapshot.
func (r *run) open() {
	if len(r.opened) > 0 && r.rand.IntN(4) == 0 {
		of := r.opened[r.rand.IntN(len(r.opened))]
		r.opened = append(r.opened, opened{of.snapshot.Snapshot(), of.model})
		return
	}
	m := &model{entries: maps.Clone(r.model.entries), indexes: maps.Clone(r.model.indexes), version: r.model.version}
	r.opened = append(r.opened, opened{r.store.Snapshot(), m})
}

// closeOne compares a snapshot with its model, perhaps for the last time.
func (r *run) closeOne() {
	if len(r.opened) == 0 {
		return
	}
	i := r.rand.IntN(len(r.opened))
	r.compare(r.opened[i].snapshot, r.opened[i].model)
	if r.rand.IntN(3) > 0 {
		r.opened[i].snapshot.Close()
		r.opened = slices.Delete(r.opened, i, i+1)
	}
}

// testModel compares a store with the model through more than 25,000 writes for each
// seed, while snapshots are open. check looks at the inside.
func testModel(t *testing.T, create newStore, seeds uint64, check func(t *testing.T, s store)) {
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := &run{t: t, rand: rand.New(rand.NewPCG(seed, 2))}
			r.store = makeStore(t, create, maps.Clone(things))
			r.model = &model{entries: map[types.NamespacedName]Entry[*thing]{}, indexes: maps.Clone(things)}
			for i := range 11_000 {
				r.transaction()
				if i%2200 == 1100 {
					r.addIndex()
				}
				if r.rand.IntN(60) == 0 && len(r.opened) < 6 {
					r.open()
				}
				if r.rand.IntN(150) == 0 {
					r.closeOne()
				}
				if i%200 == 0 || i%2200 == 1100 {
					r.compare(r.store, r.model)
					check(t, r.store)
				}
			}
			for len(r.opened) > 0 {
				r.closeOne()
			}
			r.compare(r.store, r.model)
			check(t, r.store)
			if r.writes < 25_000 {
				t.Errorf("%d writes make no test", r.writes)
			}
			for key := range r.model.entries {
				r.store.Update(func(tx Tx[*thing]) { tx.Delete(key) })
			}
			check(t, r.store)
			if stats := r.store.(*Indexer[*thing]).Stats(); stats.Retained != 0 || stats.Snapshots != 0 || stats.Objects != 0 {
				t.Errorf("the empty store has %+v", stats)
			}
		})
	}
}
