package indexer

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

const benchObjects = 10_000

type benchObject struct {
	namespace, node, owner string
}

// benchStore has 100 objects on each node and 3 indexes.
func benchStore(b *testing.B) (*Indexer[*benchObject], []Entry[*benchObject]) {
	one := func(value func(*benchObject) string) Index[*benchObject] {
		return Index[*benchObject]{Values: func(o *benchObject, values []string) ([]string, error) {
			return append(values, value(o)), nil
		}}
	}
	s, err := New(Indexes[*benchObject]{
		NamespaceIndex: one(func(o *benchObject) string { return o.namespace }),
		"node":         one(func(o *benchObject) string { return o.node }),
		"owner":        one(func(o *benchObject) string { return o.owner }),
	})
	if err != nil {
		b.Fatal(err)
	}
	entries := make([]Entry[*benchObject], benchObjects)
	for i := range entries {
		o := &benchObject{
			namespace: fmt.Sprint("namespace-", i%20),
			node:      fmt.Sprint("node-", i%(benchObjects/100)),
			owner:     fmt.Sprint("owner-", i/3),
		}
		entries[i] = Entry[*benchObject]{Key: types.NamespacedName{Namespace: o.namespace, Name: fmt.Sprint("pod-", i)}, Object: o}
	}
	s.Update(func(tx Tx[*benchObject]) {
		for _, e := range entries {
			if err := tx.Put(e); err != nil {
				b.Error(err)
			}
		}
	})
	return s, entries
}

// BenchmarkPut replaces objects, in transactions of several sizes. An operation
// is one object.
func BenchmarkPut(b *testing.B) {
	for _, size := range []int{1, 100, 1000} {
		for _, changed := range []bool{false, true} {
			b.Run(fmt.Sprintf("batch %d, node changes %v", size, changed), func(b *testing.B) {
				s, entries := benchStore(b)
				moved := make([]*benchObject, len(entries))
				for i, e := range entries {
					o := *e.Object
					if changed {
						o.node = fmt.Sprint("node-", (i+1)%(benchObjects/100))
					}
					moved[i] = &o
				}
				b.ReportAllocs()
				b.ResetTimer()
				for n := 0; n < b.N; n += size {
					s.Update(func(tx Tx[*benchObject]) {
						for i := n; i < n+size; i++ {
							at := i % len(entries)
							e := &entries[at]
							e.Object, moved[at] = moved[at], e.Object
							if err := tx.Put(*e); err != nil {
								b.Error(err)
							}
						}
					})
				}
			})
		}
	}
}

func BenchmarkGet(b *testing.B) {
	s, entries := benchStore(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, ok := s.Get(entries[i%len(entries)].Key); !ok {
			b.Fatal("not found")
		}
	}
}

func BenchmarkByIndexOf100(b *testing.B) {
	s, _ := benchStore(b)
	b.ReportAllocs()
	for b.Loop() {
		if objs, err := s.ByIndex("node", "node-7"); err != nil || len(objs) != 100 {
			b.Fatal(len(objs), err)
		}
	}
}

func BenchmarkListOf10000(b *testing.B) {
	s, _ := benchStore(b)
	b.ReportAllocs()
	for b.Loop() {
		if n := len(s.List()); n != benchObjects {
			b.Fatal(n)
		}
	}
}

func BenchmarkAddIndexOver10000(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		s, _ := benchStore(b)
		b.StartTimer()
		if _, err := s.AddIndexes(Indexes[*benchObject]{
			"added": {Values: func(o *benchObject, values []string) ([]string, error) { return append(values, o.node), nil }},
		}); err != nil {
			b.Fatal(err)
		}
	}
}
