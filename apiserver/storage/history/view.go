package history

import (
	"iter"
	"strings"

	"k8s.io/utils/third_party/forked/golang/btree"
)

// View is the state at one revision. It never changes.
type View[V any] struct {
	Revision uint64
	tree     *btree.BTree[item[V]]
}

// Get returns the value under key, nil if there is none.
func (v *View[V]) Get(key string) *V {
	i, _ := v.tree.Get(item[V]{key: key})
	return i.value
}

// Len is the number of keys.
func (v *View[V]) Len() int { return v.tree.Len() }

// Prefix yields the keys with the given prefix, in order, from the first one
// that is not lower than start.
func (v *View[V]) Prefix(prefix, start string) iter.Seq2[string, *V] {
	return func(yield func(string, *V) bool) {
		v.tree.AscendGreaterOrEqual(item[V]{key: max(prefix, start)}, func(i item[V]) bool {
			return strings.HasPrefix(i.key, prefix) && yield(i.key, i.value)
		})
	}
}
