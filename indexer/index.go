package indexer

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/internal/panics"
)

// index lists items under the values that its function gives for them.
type index[T any] struct {
	name string
	fn   IndexFunc[T]
	// sets has no empty sets, so that its keys are the values in use.
	sets map[string]map[*item[T]]struct{}
}

// newIndexes makes empty indexes, in the order of their names. exists reports
// names that are taken.
func newIndexes[T any](indexes Indexes[T], exists func(name string) bool) ([]*index[T], error) {
	made := make([]*index[T], 0, len(indexes))
	for _, name := range slices.Sorted(maps.Keys(indexes)) {
		if indexes[name] == nil {
			return nil, fmt.Errorf("index %q: %w", name, ErrNilIndexFunc)
		}
		if exists(name) {
			return nil, fmt.Errorf("index %q: %w", name, ErrIndexExists)
		}
		made = append(made, &index[T]{name: name, fn: indexes[name], sets: make(map[string]map[*item[T]]struct{})})
	}
	return made, nil
}

// values returns the sorted, distinct values of an object; old itself if they
// are the same as old. A failure of the function gives no values.
func (ix *index[T]) values(key types.NamespacedName, obj T, old []string) (values []string, failure *IndexError) {
	defer func() {
		if v := recover(); v != nil {
			values = nil
			failure = &IndexError{Index: ix.name, Key: key, Err: panics.New(v)}
		}
	}()
	found, err := ix.fn(obj)
	if err != nil {
		return nil, &IndexError{Index: ix.name, Key: key, Err: err}
	}
	return normalize(found, old), nil
}

// normalize returns found sorted and without duplicates. It never changes or
// keeps found, which may belong to the object.
func normalize(found, old []string) []string {
	if slices.Equal(found, old) {
		return old
	}
	values := slices.Clone(found)
	if len(values) > 1 {
		slices.Sort(values)
		values = slices.Compact(values)
	}
	if slices.Equal(values, old) {
		return old
	}
	return values
}

// move lists the item under the values of updated instead of those of old. Both
// are sorted; only the difference is touched.
func (ix *index[T]) move(it *item[T], old, updated []string) {
	for len(old) > 0 || len(updated) > 0 {
		switch {
		case len(updated) == 0 || len(old) > 0 && old[0] < updated[0]:
			ix.remove(it, old[0])
			old = old[1:]
		case len(old) == 0 || updated[0] < old[0]:
			ix.insert(it, updated[0])
			updated = updated[1:]
		default:
			old, updated = old[1:], updated[1:]
		}
	}
}

func (ix *index[T]) insert(it *item[T], value string) {
	set := ix.sets[value]
	if set == nil {
		set = make(map[*item[T]]struct{})
		ix.sets[value] = set
	}
	set[it] = struct{}{}
}

func (ix *index[T]) remove(it *item[T], value string) {
	set := ix.sets[value]
	delete(set, it)
	if len(set) == 0 {
		delete(ix.sets, value)
	}
}
