package indexer

import (
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
)

// entry is the place of one key. It stays the same while the key has any version
// that a reader may need, so that buckets can refer to it.
type entry[T any] struct {
	// head is the newest version, perhaps one of the transaction under way.
	// It is set before readers can find the entry, and never nil again.
	head atomic.Pointer[version[T]]
	key  types.NamespacedName
	hash uint32
}

// version is what a key had from one epoch to the next. Readers see it without a
// lock: only prev changes while any of them may look, and postings are placed
// (see posting) where no reader looks.
type version[T any] struct {
	// prev is the version before, nil if no reader needs it.
	prev atomic.Pointer[version[T]]
	// stamp is twice the epoch, and one more if the key was deleted in it.
	stamp    uint64
	uid      types.UID
	version  string
	object   T
	postings []posting[T]
}

// posting says that a version is listed in a bucket. Versions that follow each
// other share their postings if no index value differs.
type posting[T any] struct {
	bucket *bucket[T]
	// place is where the bucket has the entry. Only writers look at it; it is
	// set when a transaction commits.
	place uint32
}

func (v *version[T]) epoch() uint64 { return v.stamp >> 1 }

func (v *version[T]) deleted() bool { return v.stamp&1 != 0 }

// at returns what the key had at an epoch, which must be pinned; nil if nothing.
func (e *entry[T]) at(epoch uint64) *version[T] {
	v := e.head.Load()
	for v != nil && v.epoch() > epoch {
		v = v.prev.Load()
	}
	if v == nil || v.deleted() {
		return nil
	}
	return v
}

// newest returns what the key has for writers; nil if nothing.
func (e *entry[T]) newest() *version[T] {
	if v := e.head.Load(); !v.deleted() {
		return v
	}
	return nil
}

func (e *entry[T]) entry(v *version[T]) Entry[T] {
	return Entry[T]{Key: e.key, UID: v.uid, Version: v.version, Object: v.object}
}

// lists reports whether one of the versions of the key that are left is listed
// in a bucket, and where.
func (v *version[T]) lists(b *bucket[T]) (place uint32, found bool) {
	for ; v != nil; v = v.prev.Load() {
		if i := find(v.postings, b); i >= 0 {
			return v.postings[i].place, true
		}
	}
	return 0, false
}

// find returns the place of a bucket in postings, or -1.
func find[T any](postings []posting[T], b *bucket[T]) int {
	for i := range postings {
		if postings[i].bucket == b {
			return i
		}
	}
	return -1
}

// same reports whether two versions share their postings.
func same[T any](a, b []posting[T]) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
