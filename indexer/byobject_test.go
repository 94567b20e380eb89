package indexer

import (
	"errors"
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
