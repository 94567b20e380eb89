package indexer

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"
)

// overlay is what a transaction has written so far: for each key its last write.
type overlay[T any] struct {
	writes []write[T]
	at     map[types.NamespacedName]int // places in writes
}

// write is the state that a key will have. entry is nil if it was deleted.
type write[T any] struct {
	key    types.NamespacedName
	entry  *Entry[T]
	values [][]string
}

// scratchSize is the number of writes up to which the memory of a transaction
// is kept for the next one.
const scratchSize = 128

// reset forgets the writes and keeps their memory unless it is large.
func (o *overlay[T]) reset() {
	if len(o.writes) > scratchSize {
		*o = overlay[T]{}
		return
	}
	clear(o.writes)
	o.writes = o.writes[:0]
	clear(o.at)
}

func (o *overlay[T]) set(w write[T]) {
	if i, written := o.at[w.key]; written {
		o.writes[i] = w
		return
	}
	if o.at == nil {
		o.at = make(map[types.NamespacedName]int)
	}
	o.at[w.key] = len(o.writes)
	o.writes = append(o.writes, w)
}

// tx is the one implementation of Tx. It runs under the lock of writers.
type tx[T any] struct {
	store      *Indexer[T]
	done       bool
	version    string
	versionSet bool
}

// Update runs fn as one transaction. What fn writes becomes visible, to all
// readers at once, when fn returns. If fn panics, or ends its goroutine, nothing
// of it is committed, and the panic goes on to the caller. A nil fn panics like
// any call of a nil function.
//
// Transactions run one after the other: neither fn nor an index function may
// call Update or AddIndexes of the same store. They may read from it, and then
// see the state before the transaction. Index functions run within Put; readers
// wait neither for them nor for fn.
func (s *Indexer[T]) Update(fn func(tx Tx[T])) {
	s.writer.Lock()
	defer s.writer.Unlock()
	t := &tx[T]{store: s}
	defer func() {
		t.done = true
		s.scratch.reset()
	}()
	fn(t)
	s.commit(t)
}

// commit makes the writes of a transaction visible.
func (s *Indexer[T]) commit(t *tx[T]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.scratch.writes {
		s.apply(&s.scratch.writes[i])
	}
	if t.versionSet {
		s.version = t.version
	}
}

func (s *Indexer[T]) apply(w *write[T]) {
	it := s.items[w.key]
	if it == nil {
		if w.entry == nil {
			return
		}
		it = &item[T]{values: make([][]string, len(s.indexes))}
		s.items[w.key] = it
	}
	for i, ix := range s.indexes {
		var updated []string
		if w.entry != nil {
			updated = w.values[i]
		}
		ix.move(it, it.values[i], updated)
	}
	if w.entry == nil {
		delete(s.items, w.key)
		return
	}
	it.entry, it.values = w.entry, w.values
}

// current returns what this transaction sees under key; nil if nothing.
func (t *tx[T]) current(key types.NamespacedName) (*Entry[T], [][]string) {
	if i, written := t.store.scratch.at[key]; written {
		w := &t.store.scratch.writes[i]
		return w.entry, w.values
	}
	if it := t.store.items[key]; it != nil {
		return it.entry, it.values
	}
	return nil, nil
}

// Entry returns what is stored under key, as this transaction sees it; nothing
// once it has ended.
func (t *tx[T]) Entry(key types.NamespacedName) (Entry[T], bool) {
	if t.done {
		return Entry[T]{}, false
	}
	e, _ := t.current(key)
	if e == nil {
		return Entry[T]{}, false
	}
	return *e, true
}

// Put stores an entry under its key and computes its index values.
func (t *tx[T]) Put(e Entry[T]) error {
	if t.done {
		return ErrTxDone
	}
	indexes := t.store.indexes
	_, old := t.current(e.Key)
	values := old
	if values == nil {
		values = make([][]string, len(indexes))
	}
	changed := old == nil
	var failures []error
	for i, ix := range indexes {
		found, failure := ix.values(e.Key, e.Object, values[i])
		if failure != nil {
			failures = append(failures, failure)
		}
		if len(found) == len(values[i]) && (len(found) == 0 || &found[0] == &values[i][0]) {
			continue
		}
		// old belongs to another version: it is copied before the first
		// difference is written.
		if !changed {
			values = append([][]string(nil), old...)
			changed = true
		}
		values[i] = found
	}
	t.store.scratch.set(write[T]{key: e.Key, entry: &e, values: values})
	if len(failures) == 1 {
		return failures[0]
	}
	return errors.Join(failures...)
}

// Delete removes what is stored under key and returns it; nothing once the
// transaction has ended.
func (t *tx[T]) Delete(key types.NamespacedName) (Entry[T], bool) {
	if t.done {
		return Entry[T]{}, false
	}
	e, _ := t.current(key)
	if e == nil {
		return Entry[T]{}, false
	}
	t.store.scratch.set(write[T]{key: key})
	return *e, true
}

// SetVersion sets what Version returns afterwards. It does nothing once the
// transaction has ended.
func (t *tx[T]) SetVersion(version string) {
	if t.done {
		return
	}
	t.version, t.versionSet = version, true
}
