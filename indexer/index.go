package indexer

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/internal/panics"
)

// index lists entries under the values that its function gives for them.
type index[T any] struct {
	name    string
	fn      IndexFunc[T]
	labels  func(obj T) map[string]string // nil unless it is by labels
	seed    maphash.Seed
	buckets table[bucket[T]]
	order   *order[T] // nil unless the index is ordered

	// What the index takes, for Stats: values in use and their length, levels
	// of the order, places taken in buckets, and room in buckets beyond the
	// first place of each.
	values, text, levels, places, room atomic.Int64
}

// newIndexes makes empty indexes, in the order of their names. exists reports
// names that are taken.
func newIndexes[T any](indexes Indexes[T], seed maphash.Seed, exists func(name string) bool) ([]*index[T], error) {
	made := make([]*index[T], 0, len(indexes))
	for _, name := range slices.Sorted(maps.Keys(indexes)) {
		index := indexes[name]
		if index.Values == nil {
			return nil, fmt.Errorf("index %q: %w", name, ErrNilIndexFunc)
		}
		if exists(name) {
			return nil, fmt.Errorf("index %q: %w", name, ErrIndexExists)
		}
		made = append(made, newIndex(name, index, seed))
	}
	return made, nil
}

func newIndex[T any](name string, of Index[T], seed maphash.Seed) *index[T] {
	ix := &index[T]{name: name, fn: of.Values, labels: of.labels, seed: seed}
	ix.buckets.init(func(b *bucket[T]) uint32 { return b.hash })
	if of.Ordered {
		ix.order = newOrder[T]()
	}
	return ix
}

// compute calls the function for an object, unless it is clear without that that its
// values are those of the version before. values is what the function may append to.
func (ix *index[T]) compute(key types.NamespacedName, obj T, before []posting[T], values []string) (found []string, same bool, failure *IndexError) {
	defer func() {
		if v := recover(); v != nil {
			found, same, failure = nil, false, &IndexError{Index: ix.name, Key: key, Err: panics.New(v)}
		}
	}()
	if ix.labels != nil && listsLabels(before, ix.labels(obj)) {
		return nil, true, nil
	}
	found, err := ix.fn(obj, values)
	if err != nil {
		return nil, false, &IndexError{Index: ix.name, Key: key, Err: err}
	}
	return found, false, nil
}

func (ix *index[T]) hash(value string) uint32 { return fold(maphash.String(ix.seed, value)) }

func fold(hash uint64) uint32 { return uint32(hash ^ hash>>32) }

// bucket returns the bucket of a value, nil if there is none.
func (ix *index[T]) bucket(value string) *bucket[T] {
	hash := ix.hash(value)
	for b := range ix.buckets.find(hash) {
		if b.hash == hash && b.value == value {
			return b
		}
	}
	return nil
}

// newBucket makes the bucket of a value that has none. The value may be a part of
// something larger, which the bucket must not keep.
func (ix *index[T]) newBucket(value string) *bucket[T] {
	b := &bucket[T]{index: ix, value: strings.Clone(value), hash: ix.hash(value)}
	ix.buckets.insert(b)
	if ix.order != nil {
		ix.levels.Add(int64(ix.order.insert(b)))
	}
	ix.count(b, 1)
	return b
}

// drop takes out a bucket that is empty.
func (ix *index[T]) drop(b *bucket[T]) {
	ix.buckets.remove(b)
	if ix.order != nil {
		ix.order.remove(b)
		ix.levels.Add(-int64(len(*b.tower)))
	}
	if rest := b.rest.Load(); rest != nil {
		ix.room.Add(-int64(len(*rest)))
	}
	ix.count(b, -1)
}

func (ix *index[T]) count(b *bucket[T], n int64) {
	ix.values.Add(n)
	ix.text.Add(n * int64(len(b.value)))
}
