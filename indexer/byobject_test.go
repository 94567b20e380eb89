package indexer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestByNamespaceListsObjectsUnderTheirNamespace(t *testing.T) {
	type object = *metav1.PartialObjectMetadata
	s, err := New(Indexes[object]{NamespaceIndex: ByNamespace[object]()})
	if err != nil {
		t.Fatal(err)
	}
	s.Update(func(tx Tx[object]) {
		for _, namespace := range []string{"one", "two", ""} {
			obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}}
			e := Entry[object]{Object: obj}
			e.Key.Namespace, e.Key.Name = namespace, "a"
			if err := tx.Put(e); err != nil {
				t.Error(err)
			}
		}
		var failure *IndexError
		if err := tx.Put(Entry[object]{Key: named("nil")}); !errors.As(err, &failure) || failure.Index != NamespaceIndex {
			t.Errorf("Put of a nil object = %v, want an IndexError of %s", err, NamespaceIndex)
		}
	})
	for _, namespace := range []string{"one", "two", ""} {
		objs, err := s.ByIndex(NamespaceIndex, namespace)
		if err != nil || len(objs) != 1 || objs[0].Namespace != namespace {
			t.Errorf("ByIndex(%q) = %v, %v; want one object of it", namespace, objs, err)
		}
	}
}

func TestByLabelsFollowsEveryChangeOfLabels(t *testing.T) {
	sets := []map[string]string{
		nil, {"a": "bc"}, {"ab": "c"}, {"a": ""}, {"": "a"}, {"a": "bc", "d": "e"}, {"a": "e", "d": "bc"}, {"d": "e"},
		{"a=b": "c", "x": "y"}, {"a=b": "c", "a": "b=c"}, {"a": "b=c"}, // no labels that a server accepts
	}
	for _, from := range sets {
		for _, to := range sets {
			s, put := labelsOfOne(t)
			put(from)
			put(to)
			want := map[string]bool{}
			for key, value := range to {
				want[key+"="+value] = true
			}
			values, err := s.IndexValues(LabelIndex)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(values)
			if wanted := slices.Sorted(maps.Keys(want)); !slices.Equal(values, wanted) {
				t.Errorf("from %q to %q: listed under %q, want %q", from, to, values, wanted)
			}
		}
	}
}

func TestLabelsThatStayCostNoAllocations(t *testing.T) {
	_, put := labelsOfOne(t)
	labels := map[string]string{}
	for i := range 20 {
		labels[fmt.Sprint("example.com/label-", i)] = fmt.Sprint("value-", i)
	}
	put(labels)
	// The transaction.
	wantAllocs(t, "an update with 20 labels as before", 1, func() { put(labels) })
}

// labelsOfOne makes a store of one object with labels, and a function that puts it
// with others.
func labelsOfOne(t *testing.T) (*Indexer[*metav1.PartialObjectMetadata], func(labels map[string]string)) {
	s, err := New(Indexes[*metav1.PartialObjectMetadata]{LabelIndex: ByLabels[*metav1.PartialObjectMetadata]()})
	if err != nil {
		t.Fatal(err)
	}
	objs := [2]*metav1.PartialObjectMetadata{{}, {}}
	turn := 0
	return s, func(labels map[string]string) {
		turn++
		obj := objs[turn%2]
		obj.Labels = labels
		s.Update(func(tx Tx[*metav1.PartialObjectMetadata]) {
			if err := tx.Put(Entry[*metav1.PartialObjectMetadata]{Key: named("a"), Object: obj}); err != nil {
				t.Error(err)
			}
		})
	}
}
