package simulation

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/indexer"
	"heliograph.example/reflector"
)

// orderedIndex names the index that keeps its values in order.
const orderedIndex = "some"

// indexFuncs are indexes of every informer: one with one value for each object,
// and one with none, one or two. One of the labels is there as well.
var indexFuncs = map[string]func(obj metav1.Object) []string{
	"colour": func(obj metav1.Object) []string { return []string{obj.GetLabels()[colourLabel]} },
	orderedIndex: func(obj metav1.Object) []string {
		switch colour := obj.GetLabels()[colourLabel]; colour {
		case colours[0]:
			return nil
		case colours[1]:
			return []string{obj.GetNamespace(), colour}
		default:
			return []string{colour}
		}
	},
}

func indexes[T reflector.Object]() indexer.Indexes[T] {
	out := make(indexer.Indexes[T])
	for name, values := range indexFuncs {
		out[name] = indexer.Index[T]{
			Values:  func(obj T, found []string) ([]string, error) { return append(found, values(obj)...), nil },
			Ordered: name == orderedIndex,
		}
	}
	out[indexer.LabelIndex] = indexer.ByLabels[T]()
	return out
}

// checkIndexes compares what indexes list with what their functions say of the
// objects in the store, which nobody writes meanwhile.
func checkIndexes[T reflector.Object](store indexer.Reader[T]) error {
	for name, values := range indexFuncs {
		want := make(map[string][]types.NamespacedName)
		for e := range store.Entries() {
			for _, value := range values(e.Object) {
				want[value] = append(want[value], e.Key)
			}
		}
		listed, err := store.IndexValues(name)
		if err != nil {
			return err
		}
		if len(listed) != len(want) {
			return fmt.Errorf("%s has the values %q, want %v", name, listed, want)
		}
		for value, keys := range want {
			if err := sameKeys(store, name, value, keys); err != nil {
				return err
			}
		}
	}
	return checkQueries(store)
}

func sameKeys[T reflector.Object](store indexer.Reader[T], name, value string, want []types.NamespacedName) error {
	got, err := store.IndexKeys(name, value)
	if err != nil {
		return err
	}
	slices.SortFunc(got, compareKeys)
	slices.SortFunc(want, compareKeys)
	if !slices.Equal(got, want) {
		return fmt.Errorf("%s lists %v under %q, want %v", name, got, value, want)
	}
	objects, err := store.ByIndex(name, value)
	if err != nil {
		return err
	}
	if n, err := store.Count(name, value); err != nil || n != len(want) || len(objects) != len(want) {
		return fmt.Errorf("%s counts %d objects under %q (%v) and lists %d, want %d", name, n, value, err, len(objects), len(want))
	}
	for _, obj := range objects {
		held, _ := store.Get(types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()})
		if any(held) != any(obj) {
			return fmt.Errorf("%s lists an object under %q that is not the one of the store", name, value)
		}
	}
	return nil
}
