package indexer

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
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
	values, err := fn(o)
	if err != nil {
		return nil, true
	}
	return values, false
}

func (m *model) byIndex(index, value string) map[types.NamespacedName]*thing {
	found := map[types.NamespacedName]*thing{}
	for key, e := range m.entries {
		if values, _ := valuesFor(m.indexes[index], e.Object); slices.Contains(values, value) {
			found[key] = e.Object
		}
	}
	return found
}

func (m *model) indexValues(index string) []string {
	found := map[string]bool{}
	for _, e := range m.entries {
		values, _ := valuesFor(m.indexes[index], e.Object)
		for _, value := range values {
			found[value] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// failures are the indexes whose function fails for an object.
func (m *model) failures(o *thing) []string {
	var names []string
	for name, fn := range m.indexes {
		if _, failed := valuesFor(fn, o); failed {
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
}

var letters = []string{"", "a", "b", "c", "d", "e", "f"}

func (r *run) key() types.NamespacedName {
	return types.NamespacedName{Namespace: fmt.Sprint("ns-", r.rand.IntN(3)), Name: fmt.Sprint("obj-", r.rand.IntN(12))}
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
			key := r.key()
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
		func(o *thing) ([]string, error) { return append([]string{o.color}, o.values...), nil },
		func(o *thing) ([]string, error) {
			if o.amount == 0 {
				return nil, errBad
			}
			return []string{letters[o.amount]}, nil
		},
	}
	fn := kinds[len(r.model.indexes)%len(kinds)]
	failed, err := r.store.AddIndexes(Indexes[*thing]{name: fn})
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
	r.model.indexes[name] = fn
}

// compare asks the store for everything.
func (r *run) compare() {
	r.t.Helper()
	if r.store.Len() != len(r.model.entries) || r.store.Version() != r.model.version {
		r.t.Fatalf("Len and Version are %d and %q, want %d and %q",
			r.store.Len(), r.store.Version(), len(r.model.entries), r.model.version)
	}
	got := map[types.NamespacedName]Entry[*thing]{}
	for e := range r.store.Entries() {
		got[e.Key] = e
	}
	if !maps.Equal(got, r.model.entries) {
		r.t.Fatalf("Entries yields %v, want %v", got, r.model.entries)
	}
	if names := slices.Sorted(maps.Keys(r.model.indexes)); !slices.Equal(names, r.store.Indexes()) {
		r.t.Fatalf("Indexes = %q, want %q", r.store.Indexes(), names)
	}
	for index := range r.model.indexes {
		values, err := r.store.IndexValues(index)
		slices.Sort(values)
		if want := r.model.indexValues(index); err != nil || !slices.Equal(values, want) {
			r.t.Fatalf("IndexValues(%s) = %q, %v; want %q", index, values, err, want)
		}
		for _, value := range letters {
			r.compareValue(index, value)
		}
	}
}

func (r *run) compareValue(index, value string) {
	r.t.Helper()
	want := r.model.byIndex(index, value)
	objs, err := r.store.ByIndex(index, value)
	if wantIDs := ids(slices.Collect(maps.Values(want))); err != nil || !slices.Equal(ids(objs), wantIDs) {
		r.t.Fatalf("ByIndex(%s, %q) = %v, %v; want %v", index, value, ids(objs), err, wantIDs)
	}
	keys, err := r.store.IndexKeys(index, value)
	if err != nil || len(keys) != len(want) {
		r.t.Fatalf("IndexKeys(%s, %q) = %v, %v; want %v", index, value, keys, err, want)
	}
	for _, key := range keys {
		if want[key] == nil {
			r.t.Fatalf("IndexKeys(%s, %q) = %v, want %v", index, value, keys, want)
		}
	}
}

// testModel compares a store with the model through some 20,000 writes.
func testModel(t *testing.T, create newStore) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			indexes := Indexes[*thing]{"values": valuesOf, "color": colorOf}
			r := &run{t: t, rand: rand.New(rand.NewPCG(seed, 2))}
			r.store = makeStore(t, create, maps.Clone(indexes))
			r.model = &model{entries: map[types.NamespacedName]Entry[*thing]{}, indexes: indexes}
			for i := range 2000 {
				r.transaction()
				if i%400 == 200 {
					r.addIndex()
				}
				if i%10 == 0 || i%400 == 200 {
					r.compare()
				}
			}
			r.compare()
		})
	}
}
