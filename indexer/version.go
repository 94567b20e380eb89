package indexer

import (
	"math"
	"sync/atomic"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"
)

// entry is the place of one key. It stays the same while the key has any version
// that a reader may need, so that buckets can refer to it. It fills a cache line,
// with all that a reader looks at who wants the newest object.
type entry[T any] struct {
	// stamp and object are those of head, and void where the objects are of a
	// type that does not fit. See get for how they are read and written.
	stamp  atomic.Uint64
	object cell[T]
	// head is the newest version, perhaps one of the transaction under way.
	// It is set before readers can find the entry, and never nil again.
	head atomic.Pointer[version[T]]
	key  types.NamespacedName
	hash uint32
}

// An entry that is followed by the text of its name. Whoever looks for a key compares
// it with this text, and finds it near the entry, not somewhere in memory.
type (
	entry32[T any] struct {
		entry[T]
		text [32]byte
	}
	entry64[T any] struct {
		entry[T]
		text [64]byte
	}
)

// newEntry makes an entry without a version. A name that is too long is not copied.
func newEntry[T any](key types.NamespacedName, hash uint32) *entry[T] {
	var e *entry[T]
	var text []byte
	switch n := len(key.Name); {
	case n == 0 || n > 64:
		e = new(entry[T])
	case n <= 32:
		at := new(entry32[T])
		e, text = &at.entry, at.text[:n]
	default:
		at := new(entry64[T])
		e, text = &at.entry, at.text[:n]
	}
	if text != nil {
		copy(text, key.Name)
		key.Name = unsafe.String(&text[0], len(text))
	}
	e.key, e.hash = key, hash
	return e
}

// is reports whether an entry is that of a key. Whether a text follows the entry, and
// where, the length of the name tells: a processor that bets on the length, which it
// wins nearly always, reads the text and the entry at once, not one after the other.
func (e *entry[T]) is(key types.NamespacedName) bool {
	n := len(key.Name)
	if len(e.key.Name) != n || len(e.key.Namespace) != len(key.Namespace) {
		return false
	}
	name := e.key.Name
	if n > 0 && n <= 64 {
		name = unsafe.String((*byte)(unsafe.Add(unsafe.Pointer(e), unsafe.Sizeof(*e))), n)
	}
	return name == key.Name && e.key.Namespace == key.Namespace
}

// void is the stamp of an entry that has only a head. It is newer than all epochs.
const void = math.MaxUint64

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
	// set when a transaction commits, and again when the bucket shrinks.
	place uint32
}

func (v *version[T]) epoch() uint64 { return v.stamp >> 1 }

func (v *version[T]) deleted() bool { return v.stamp&1 != 0 }

// get returns the object that the key had at a committed epoch, for readers who have
// pinned it. Others may ask for the newest one and are told if they are not sure to
// get it.
//
// A writer changes the stamp before the object, and never to one that was there
// before. Who finds the same stamp before and after the object has what belongs to
// it; and as the writer has left both alone by the time of the commit, a stamp that
// is not newer than a committed epoch belongs to what the key had then.
func (e *entry[T]) get(epoch uint64) (obj T, ok, sure bool) {
	stamp := e.stamp.Load()
	if stamp>>1 > epoch {
		return obj, false, false
	}
	obj = e.object.load()
	return obj, stamp&1 == 0, e.stamp.Load() == stamp
}

// set puts a version at the head. inline says that its object fits into a cell.
func (e *entry[T]) set(v *version[T], inline bool) {
	if inline {
		e.stamp.Store(v.stamp)
		e.object.store(v.object)
	} else {
		e.stamp.Store(void)
	}
	e.head.Store(v)
}

// reset puts a version at the head again that was there before the transaction
// under way.
func (e *entry[T]) reset(v *version[T], inline bool) {
	e.stamp.Store(void)
	if inline {
		e.object.store(v.object)
	}
	e.head.Store(v)
}

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

// move tells all versions of a key of its new place in a bucket.
func (e *entry[T]) move(b *bucket[T], place uint32) {
	for v := e.head.Load(); v != nil; v = v.prev.Load() {
		if i := find(v.postings, b); i >= 0 {
			v.postings[i].place = place
		}
	}
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
