package controller

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/indexer"
)

// Map says which keys to reconcile when an object appears, changes or goes. It
// is called for the old and for the new state of a change, so that it need not
// remember what an object pointed to before. It should be quick, and must not
// modify the object. If it panics, the panic is reported and counted, and the
// other state of the change is mapped all the same.
type Map[T any] func(obj T) []types.NamespacedName

// Self maps an object to its own key.
func Self[T metav1.Object](obj T) []types.NamespacedName {
	return []types.NamespacedName{keyOf(obj)}
}

// Owner maps an object to the key of its controller, if that is of the given
// group and kind, in any version: the owner reference with controller set. The
// owner is sought in the namespace of the object; for owners that are not in a
// namespace write a [Map] of your own. An object without such an owner is mapped
// to nothing.
//
// The compiler cannot guess the type of the object here: name it, as in
// Owner[*corev1.Pod](kind).
func Owner[T metav1.Object](kind schema.GroupKind) Map[T] {
	return func(obj T) []types.NamespacedName {
		ref := metav1.GetControllerOfNoCopy(obj)
		if ref == nil || ref.Kind != kind.Kind {
			return nil
		}
		if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != kind.Group {
			return nil
		}
		return []types.NamespacedName{{Namespace: obj.GetNamespace(), Name: ref.Name}}
	}
}

// ByIndex maps an object to the keys of those objects of store that the named
// index lists under what value returns for it. It is for objects that do not know
// who depends on them: with an index of Deployments by the ConfigMaps that they
// mount, a change of a ConfigMap concerns the Deployments under its name. An empty
// value is mapped to nothing.
//
// The store answers with what it holds when the change comes. A Deployment that
// comes to it later brings a change of its own, so watch its informer too.
//
// A nil store or function, and an index that the store does not have, are errors.
func ByIndex[T, U any](store indexer.Reader[U], index string, value func(obj T) string) (Map[T], error) {
	if isNil(store) || value == nil {
		return nil, fmt.Errorf("controller: map by index %q: %w: the store or the function is nil", index, errInvalid)
	}
	if _, err := store.Count(index, ""); err != nil {
		return nil, fmt.Errorf("controller: map by index %q: %w", index, err)
	}
	return func(obj T) []types.NamespacedName {
		v := value(obj)
		if v == "" {
			return nil
		}
		keys, err := store.IndexKeys(index, v)
		if err != nil {
			panic(err) // the index was there: reported with the key of obj
		}
		return keys
	}, nil
}

func keyOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
