package indexer

import (
	"iter"

	"k8s.io/apimachinery/pkg/types"
)

// IndexFunc computes the values under which one index lists an object. It may
// return none, one or several; duplicates count once. It must be pure: for the
// same object, always the same values. If it returns an error or panics, the
// object is stored all the same, stays out of this index, and the failure is
// reported as an [IndexError].
type IndexFunc[T any] func(obj T) ([]string, error)

// Indexes names index functions.
type Indexes[T any] map[string]IndexFunc[T]

// Entry is one stored object with its identity beside it.
type Entry[T any] struct {
	Key     types.NamespacedName
	UID     types.UID
	Version string
	Object  T
}

// Reader is the reading side of a store. All methods are safe for use by any
// number of goroutines at any time. Objects handed out are shared: they must
// not be changed. Each call answers from one consistent state: it sees all of a
// transaction or nothing of it.
type Reader[T any] interface {
	// Get returns the object stored under key.
	Get(key types.NamespacedName) (T, bool)
	// Entry is Get with the identity and version of the object.
	Entry(key types.NamespacedName) (Entry[T], bool)
	// Len is the number of objects.
	Len() int
	// List returns all objects in no particular order, in a new slice.
	List() []T
	// All yields all objects in no particular order. The loop sees the state
	// of the moment at which it started, whatever is written meanwhile.
	All() iter.Seq[T]
	// Entries is All with keys, identities and versions.
	Entries() iter.Seq[Entry[T]]
	// ByIndex returns the objects that the named index lists under value, in
	// no particular order, in a new slice. An unknown index is an error.
	ByIndex(index, value string) ([]T, error)
	// AllByIndex is ByIndex as an iterator over the state of the moment at
	// which the loop starts.
	AllByIndex(index, value string) (iter.Seq[T], error)
	// IndexKeys returns the keys of what ByIndex would return.
	IndexKeys(index, value string) ([]types.NamespacedName, error)
	// IndexValues returns the values under which the named index lists
	// anything, in no particular order.
	IndexValues(index string) ([]string, error)
	// Version is the newest resource version that a transaction has set;
	// empty before the first.
	Version() string
}

// Tx is the writing side, open for the length of one [Indexer.Update]. What it
// writes becomes visible to readers at once when the function returns; its own
// methods see it immediately. A Tx must not be used by another goroutine or
// after the function has returned.
type Tx[T any] interface {
	// Entry returns what is stored under key, as this transaction sees it.
	Entry(key types.NamespacedName) (Entry[T], bool)
	// Put stores an entry under its key. The error is an [IndexError], or
	// several joined, for the indexes whose function failed; the entry is
	// stored nevertheless.
	Put(e Entry[T]) error
	// Delete removes what is stored under key and returns it.
	Delete(key types.NamespacedName) (Entry[T], bool)
	// SetVersion sets what Version returns afterwards.
	SetVersion(version string)
}
