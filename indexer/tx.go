package indexer

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"
)

// tx is the one implementation of Tx. It runs under the lock of writers.
//
// It writes versions of an epoch that is not committed in front of those that
// are, so that it sees its own writes and nobody else does. Buckets learn of them
// when it commits. If it fails, the versions are taken off again.
type tx[T any] struct {
	core       *core[T]
	done       bool
	version    string
	versionSet bool

	// looked, if set, says that entry is what the store has under key: a
	// caller who reads an entry mostly goes on to write it.
	looked bool
	key    types.NamespacedName
	hash   uint32
	entry  *entry[T]
}

// Update runs fn as one transaction. What fn writes becomes visible, to all
// readers at once, when fn returns. If fn panics, or ends its goroutine, nothing
// of it is committed, and the panic goes on to the caller. A nil fn panics like
// any call of a nil function.
//
// Transactions run one after the other: neither fn nor an index function may
// call Update or AddIndexes of the same store. They may read from it, and then
// see the state before the transaction. Index functions run within Put; readers
// wait neither for them nor for fn nor for the commit.
func (s *Indexer[T]) Update(fn func(tx Tx[T])) {
	c := s.core
	t := c.begin()
	defer c.end(t)
	fn(t)
	if !t.versionSet {
		t.version = c.state.Load().version
	}
	c.commit(t, c.indexes)
}

// find returns the entry of a key, nil if there is none. It may have no version
// that is not deleted.
func (t *tx[T]) find(key types.NamespacedName) *entry[T] {
	if !t.looked || t.key != key {
		t.looked, t.key, t.hash = true, key, t.core.hash(key)
		t.entry = t.core.entry(key, t.hash)
	}
	return t.entry
}

// Entry returns what is stored under key, as this transaction sees it; nothing
// once it has ended.
func (t *tx[T]) Entry(key types.NamespacedName) (Entry[T], bool) {
	if t.done {
		return Entry[T]{}, false
	}
	if e := t.find(key); e != nil {
		if v := e.newest(); v != nil {
			return e.entry(v), true
		}
	}
	return Entry[T]{}, false
}

// Put stores an entry under its key and computes its index values.
func (t *tx[T]) Put(put Entry[T]) error {
	if t.done {
		return ErrTxDone
	}
	c := t.core
	e := t.find(put.Key)
	var held []posting[T]
	if e != nil {
		held = e.head.Load().postings
	}
	same, failures := c.list(put.Key, put.Object, held, c.indexes)
	v := c.newVersion()
	v.stamp = c.epoch << 1
	v.uid, v.version, v.object = put.UID, put.Version, put.Object
	if same {
		v.postings = held
	} else {
		v.postings = append(v.postings, c.scratch.postings...)
	}
	if e == nil {
		t.entry = c.insert(put.Key, t.hash, v)
	} else {
		c.supersede(e, v)
	}
	switch len(failures) {
	case 0:
		return nil
	case 1:
		return failures[0]
	}
	errs := make([]error, len(failures))
	for i := range failures {
		errs[i] = failures[i]
	}
	return errors.Join(errs...)
}

// Delete removes what is stored under key and returns it; nothing once the
// transaction has ended.
func (t *tx[T]) Delete(key types.NamespacedName) (Entry[T], bool) {
	if t.done {
		return Entry[T]{}, false
	}
	e := t.find(key)
	if e == nil {
		return Entry[T]{}, false
	}
	old := e.newest()
	if old == nil {
		return Entry[T]{}, false
	}
	deleted := e.entry(old)
	v := t.core.newVersion()
	v.stamp, v.postings = t.core.epoch<<1|1, nil
	t.core.supersede(e, v)
	return deleted, true
}

// SetVersion sets what Version returns afterwards. It does nothing once the
// transaction has ended.
func (t *tx[T]) SetVersion(version string) {
	if t.done {
		return
	}
	t.version, t.versionSet = version, true
}
