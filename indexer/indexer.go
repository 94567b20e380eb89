package indexer

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Indexer is a store of objects by key with any number of indexes. Use [New] to
// make one. It is a [Reader]; [Indexer.Update] writes to it. All methods are
// safe for use by any number of goroutines.
type Indexer[T any] struct {
	// writer serializes Update and AddIndexes. Only its holder changes
	// anything below, and for that it takes mu too. So the holder may read
	// without mu.
	writer sync.Mutex
	// scratch is what transactions reuse; it needs writer only.
	scratch overlay[T]

	// mu is what readers share. No function of a user runs under it.
	mu      sync.RWMutex
	items   map[types.NamespacedName]*item[T]
	indexes []*index[T] // only ever appended to
	byName  map[string]*index[T]
	version string
}

var _ Reader[any] = (*Indexer[any])(nil)

// item is the place of one key in the store and in the sets of the indexes.
type item[T any] struct {
	// entry is replaced and never changed: a reader may keep it.
	entry *Entry[T]
	// values has the values of the entry in each of Indexer.indexes. Only
	// writers look at it.
	values [][]string
	// written is, within a transaction that has written the key, one more
	// than the place of that write. Only writers look at it.
	written int
}

// New returns an empty store with the given indexes, which may be nil. An index
// without a function is an error that wraps [ErrNilIndexFunc].
func New[T any](indexes Indexes[T]) (*Indexer[T], error) {
	made, err := newIndexes(indexes, func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	s := &Indexer[T]{
		items:   make(map[types.NamespacedName]*item[T]),
		indexes: made,
		byName:  make(map[string]*index[T], len(made)),
	}
	for _, ix := range made {
		s.byName[ix.name] = ix
	}
	return s, nil
}

// AddIndexes adds indexes to the store, all or none, at any time. When it
// returns they list every object; readers and transactions see them complete or
// not at all. An index without a function ([ErrNilIndexFunc]) and a name that is
// taken ([ErrIndexExists]) are refused with an error.
//
// failed tells of the objects for which a function failed: they are stored, and
// missing from that index until their next version.
//
// Transactions wait meanwhile, readers do not.
func (s *Indexer[T]) AddIndexes(indexes Indexes[T]) (failed []*IndexError, err error) {
	s.writer.Lock()
	defer s.writer.Unlock()
	added, err := newIndexes(indexes, func(name string) bool { return s.byName[name] != nil })
	if err != nil {
		return nil, err
	}
	// Values are kept aside until all are there: a function that ends its
	// goroutine must leave nothing half done.
	values := make(map[*item[T]][][]string, len(s.items))
	for key, it := range s.items {
		all := make([][]string, 0, len(s.indexes)+len(added))
		all = append(all, it.values...)
		for _, ix := range added {
			found, failure := ix.values(key, it.entry.Object, nil)
			if failure != nil {
				failed = append(failed, failure)
			}
			ix.move(it, nil, found)
			all = append(all, found)
		}
		values[it] = all
	}
	for it, all := range values {
		it.values = all
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.indexes = append(s.indexes, added...)
	for _, ix := range added {
		s.byName[ix.name] = ix
	}
	return failed, nil
}

// Indexes returns the names of the indexes, sorted.
func (s *Indexer[T]) Indexes() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.names()
}

func (s *Indexer[T]) names() []string {
	return slices.Sorted(maps.Keys(s.byName))
}

// Get returns the object stored under key.
func (s *Indexer[T]) Get(key types.NamespacedName) (T, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	it := s.items[key]
	if it == nil {
		var none T
		return none, false
	}
	return it.entry.Object, true
}

// Entry is Get with the identity and version of the object.
func (s *Indexer[T]) Entry(key types.NamespacedName) (Entry[T], bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	it := s.items[key]
	if it == nil {
		return Entry[T]{}, false
	}
	return *it.entry, true
}

// Len is the number of objects.
func (s *Indexer[T]) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.items)
}

// Version is the newest resource version that a transaction has set; empty
// before the first.
func (s *Indexer[T]) Version() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.version
}

// List returns all objects in no particular order, in a new slice.
func (s *Indexer[T]) List() []T {
	return objects(s.entries())
}

// All yields all objects in no particular order, as they were when the loop
// started. No lock is held while it runs: its body may take its time and use
// the store.
func (s *Indexer[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, e := range s.entries() {
			if !yield(e.Object) {
				return
			}
		}
	}
}

// Entries is All with keys, identities and versions.
func (s *Indexer[T]) Entries() iter.Seq[Entry[T]] {
	return func(yield func(Entry[T]) bool) {
		for _, e := range s.entries() {
			if !yield(*e) {
				return
			}
		}
	}
}

// ByIndex returns the objects that the named index lists under value, in no
// particular order, in a new slice. An unknown index is an error that wraps
// [ErrUnknownIndex].
func (s *Indexer[T]) ByIndex(index, value string) ([]T, error) {
	found, err := s.entriesByIndex(index, value)
	if err != nil {
		return nil, err
	}
	return objects(found), nil
}

// AllByIndex is ByIndex as an iterator over the state of the moment at which
// the loop starts. Like the loop over All, it holds no lock.
func (s *Indexer[T]) AllByIndex(index, value string) (iter.Seq[T], error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ix, err := s.named(index)
	if err != nil {
		return nil, err
	}
	return func(yield func(T) bool) {
		for _, e := range s.entriesOf(ix, value) {
			if !yield(e.Object) {
				return
			}
		}
	}, nil
}

// IndexKeys returns the keys of what ByIndex would return.
func (s *Indexer[T]) IndexKeys(index, value string) ([]types.NamespacedName, error) {
	found, err := s.entriesByIndex(index, value)
	if err != nil {
		return nil, err
	}
	keys := make([]types.NamespacedName, len(found))
	for i, e := range found {
		keys[i] = e.Key
	}
	return keys, nil
}

// IndexValues returns the values under which the named index lists anything, in
// no particular order.
func (s *Indexer[T]) IndexValues(index string) ([]string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	ix, err := s.named(index)
	if err != nil {
		return nil, err
	}
	values := make([]string, 0, len(ix.sets))
	for value := range ix.sets {
		values = append(values, value)
	}
	return values, nil
}

// named returns an index by its name. The caller holds mu.
func (s *Indexer[T]) named(name string) (*index[T], error) {
	ix := s.byName[name]
	if ix == nil {
		return nil, fmt.Errorf("%w %q (known are %q)", ErrUnknownIndex, name, s.names())
	}
	return ix, nil
}

// entries returns all entries of one moment.
func (s *Indexer[T]) entries() []*Entry[T] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]*Entry[T], 0, len(s.items))
	for _, it := range s.items {
		all = append(all, it.entry)
	}
	return all
}

// entriesByIndex returns what an index lists under value at one moment.
func (s *Indexer[T]) entriesByIndex(index, value string) ([]*Entry[T], error) {
	s.mu.RLock()
	ix, err := s.named(index)
	s.mu.RUnlock()
	if err != nil {
		return nil, err
	}
	return s.entriesOf(ix, value), nil
}

func (s *Indexer[T]) entriesOf(ix *index[T], value string) []*Entry[T] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	set := ix.sets[value]
	found := make([]*Entry[T], 0, len(set))
	for it := range set {
		found = append(found, it.entry)
	}
	return found
}

func objects[T any](entries []*Entry[T]) []T {
	objs := make([]T, len(entries))
	for i, e := range entries {
		objs[i] = e.Object
	}
	return objs
}
