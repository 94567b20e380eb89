package reflector

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

var objectType = reflect.TypeFor[Object]()

// Skipping returns a source that leaves what held has in the client's lists. Of a
// watch it skips nothing: there is nothing to be saved.
func (s *clientSource[T]) Skipping(held func(types.NamespacedName) (types.UID, string, bool)) Source[T] {
	skipping := *s
	skipping.held = held
	return &skipping
}

// items calls each for the items of list.
//
// Each is copied out of the list's array, or the last survivor of a list would
// hold the memory of all. What the reader has as it is need not be copied.
func (s *clientSource[T]) items(list runtime.Object, each func(Item[T]) error) error {
	if array, ok := arrayOf(list); ok && s.held != nil {
		for i := range array.Len() {
			if err := each(s.itemIn(array.Index(i))); err != nil {
				return err
			}
		}
		return nil
	}
	var stopped error
	err := meta.EachListItemWithAlloc(list, func(obj runtime.Object) error {
		stopped = each(s.item(obj))
		return stopped
	})
	if err != nil && stopped == nil {
		return fmt.Errorf("%s: %w: %w", s.name, ErrDecode, err)
	}
	return stopped
}

// itemIn takes an item out of the array of a list, if it must.
func (s *clientSource[T]) itemIn(place reflect.Value) Item[T] {
	if it, unchanged := s.unchanged(place.Addr().Interface()); unchanged {
		return it
	}
	own := reflect.New(place.Type())
	own.Elem().Set(place)
	return s.item(own.Interface().(runtime.Object))
}

// unchanged returns the item of an object that is held as it is, and whether it is
// one.
func (s *clientSource[T]) unchanged(obj any) (it Item[T], unchanged bool) {
	if _, fits := obj.(T); !fits {
		return it, false
	}
	o := obj.(metav1.Object)
	it.Key = types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
	it.UID, it.Version = o.GetUID(), o.GetResourceVersion()
	if it.Key.Name == "" || !hasVersion(it.Version) {
		return it, false
	}
	uid, version, held := s.held(it.Key)
	it.Unchanged = held && uid == it.UID && version == it.Version
	return it, it.Unchanged
}

// arrayOf returns the items of a list that holds its objects by value.
func arrayOf(list runtime.Object) (array reflect.Value, ok bool) {
	if _, ours := list.(*unstructured.UnstructuredList); !ours {
		if _, theirs := list.(runtime.Unstructured); theirs {
			return array, false // it has its own way to give its items
		}
	}
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return array, false
	}
	array = reflect.ValueOf(items).Elem()
	element := array.Type().Elem()
	return array, element.Kind() == reflect.Struct && reflect.PointerTo(element).Implements(objectType)
}
