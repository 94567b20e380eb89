package indexer

import (
	"iter"

	"k8s.io/apimachinery/pkg/types"
)

// IndexFunc appends to values the values under which an index lists an object,
// and returns the extended slice:
//
//	func(p *corev1.Pod, values []string) ([]string, error) {
//		return append(values, p.Spec.NodeName), nil
//	}
//
// It is given an empty slice to append to, so that it need not allocate one; it
// may return any other slice, or nil, but must not keep the one it was given. It
// may append no value, one or several; duplicates count once. It must be pure:
// for the same object, always the same values. If it returns an error or panics,
// the object is stored all the same, stays out of this index, and the failure is
// reported as an [IndexError].
type IndexFunc[T any] func(obj T, values []string) ([]string, error)

// Index describes one index.
type Index[T any] struct {
	// Values computes the values of an object. It must not be nil.
	Values IndexFunc[T]
	// Ordered keeps the values in the order of their bytes, so that they can
	// be asked for with [Prefix] and [Range]. It costs memory and time for
	// each distinct value, and nothing for more objects under the same one.
	Ordered bool

	// labels is set in what ByLabels returns: its values are those that label
	// selectors look for.
	labels func(obj T) map[string]string
}

// Indexes names indexes.
type Indexes[T any] map[string]Index[T]

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
// transaction or nothing of it. No call waits for a writer.
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
	// Select yields the objects that meet all of the terms, each once; with
	// no term, all objects. If its only term is a [Prefix] or a [Range], they
	// come in the order of the values by which they were found, else in no
	// particular order. The loop sees the state of the moment at which it
	// starts. An index that is not known or not fit for its term is an error.
	Select(terms ...Term) (iter.Seq[T], error)
	// Count is the number of objects that the named index lists under value.
	Count(index, value string) (int, error)
	// IndexKeys returns the keys of what ByIndex would return.
	IndexKeys(index, value string) ([]types.NamespacedName, error)
	// IndexValues returns the values under which the named index lists
	// anything, in no particular order.
	IndexValues(index string) ([]string, error)
	// Version is the newest resource version that a transaction has set;
	// empty before the first.
	Version() string
	// Snapshot pins the present state, for several calls that must agree with
	// each other. It must be closed.
	Snapshot() *Snapshot[T]
}

// Tx is the writing side, open for the length of one [Indexer.Update]. What it
// writes becomes visible to readers at once when the function returns; its own
// methods see it immediately. A Tx must not be used by another goroutine or
// after the function has returned.
type Tx[T any] interface {
	// Expect says which keys the transaction is going to look at or write next,
	// best 64 at a time. It changes nothing, but what is cold is found two or
	// three times as fast in one go as one by one. Keys may be missing in the
	// store, or turn out not to be used. It does not keep the slice.
	Expect(keys []types.NamespacedName)
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
