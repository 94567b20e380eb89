package indexer

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"
)

// overlay is what a transaction has written so far: for each key its last write.
type overlay[T any] struct {
	writes []write[T]
	// at has the places in writes of keys that the store does not hold. Those
	// of the others are in item.written, so that an update needs no map here.
	at map[types.NamespacedName]int
	// small counts the transactions in a row that needed little of writes.
	small int

	// looked, if set, says that item is what the store holds under key: a
	// caller who reads an entry mostly goes on to write it.
	looked bool
	key    types.NamespacedName
	item   *item[T]
}

// write is the state that a key will have. entry is nil if it was deleted, and
// item if the store does not hold the key.
type write[T any] struct {
	key    types.NamespacedName
	item   *item[T]
	entry  *Entry[T]
	values [][]string
}

const (
	// scratchSize is the number of writes up to which the memory of a
	// transaction is kept for the next one. It is the size of the batches in
	// which a queue hands out changes when there are many.
	scratchSize = 1024
	// scratchPatience is the number of transactions in a row that have to
	// need less than a quarter of that memory for it to be given back.
	scratchPatience = 8
)

// reset forgets the writes. It keeps their memory unless it is large and not
// often needed.
func (o *overlay[T]) reset() {
	for i := range o.writes {
		if it := o.writes[i].item; it != nil {
			it.written = 0
		}
	}
	if len(o.writes) < cap(o.writes)/4 {
		o.small++
	} else {
		o.small = 0
	}
	if len(o.writes) > scratchSize || o.small >= scratchPatience {
		*o = overlay[T]{}
		return
	}
	clear(o.writes)
	clear(o.at)
	*o = overlay[T]{writes: o.writes[:0], at: o.at, small: o.small}
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
	it := w.item
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

// stored returns what the store holds under key, whatever this transaction has
// written; nil if nothing.
func (t *tx[T]) stored(key types.NamespacedName) *item[T] {
	o := &t.store.scratch
	if !o.looked || o.key != key {
		o.looked, o.key, o.item = true, key, t.store.items[key]
	}
	return o.item
}

// written returns what this transaction has written under key, where it is what
// the store holds; nil if nothing was written.
func (t *tx[T]) written(key types.NamespacedName, it *item[T]) *write[T] {
	o := &t.store.scratch
	if it == nil {
		if at, found := o.at[key]; found {
			return &o.writes[at]
		}
		return nil
	}
	if it.written == 0 {
		return nil
	}
	return &o.writes[it.written-1]
}

// current returns what this transaction sees under key; nil if nothing.
func (t *tx[T]) current(key types.NamespacedName) (*Entry[T], [][]string) {
	it := t.stored(key)
	if w := t.written(key, it); w != nil {
		return w.entry, w.values
	}
	if it == nil {
		return nil, nil
	}
	return it.entry, it.values
}

// write sets what key will have; a nil entry deletes it.
func (t *tx[T]) write(key types.NamespacedName, entry *Entry[T], values [][]string) {
	it := t.stored(key)
	if w := t.written(key, it); w != nil {
		w.entry, w.values = entry, values
		return
	}
	o := &t.store.scratch
	o.writes = append(o.writes, write[T]{key: key, item: it, entry: entry, values: values})
	if it != nil {
		it.written = len(o.writes)
		return
	}
	if o.at == nil {
		o.at = make(map[types.NamespacedName]int)
	}
	o.at[key] = len(o.writes) - 1
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
	t.write(e.Key, &e, values)
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
	t.write(key, nil, nil)
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
