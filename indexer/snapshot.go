package indexer

import "sync/atomic"

// Snapshot is a [Reader] that answers every call from the state of the moment at
// which it was taken, indexes included: it does not know those that were added
// later. Get one with [Reader.Snapshot], and close it.
//
// Taking one and closing it costs next to nothing, however large the store is.
// While it is open, the store keeps for each key that is written the version that
// the snapshot sees, the object included: at most once for each key, however
// often it is written. A snapshot that is never closed keeps them for ever;
// [Stats] shows how many are open, and what they hold.
//
// It is safe for use by any number of goroutines. After Close it is empty, calls
// that can fail return an error that wraps [ErrClosed], and loops that have not
// started yet yield nothing; those that are under way go on.
type Snapshot[T any] struct {
	reads[T]
	held   *held[T]
	closed atomic.Bool
}

var _ Reader[any] = (*Snapshot[any])(nil)

// held is a pin that is shared by snapshots of the same state, and by the calls
// that read from them.
type held[T any] struct {
	view view[T]
	pin  *pin
	// users counts the open snapshots and the calls under way. Once it is 0
	// the pin is given back.
	users atomic.Int64
}

// Snapshot pins the present state, for several calls that must agree with each
// other. It must be closed. See [Snapshot] for what it costs.
func (s *Indexer[T]) Snapshot() *Snapshot[T] {
	w, pin := s.core.pin()
	h := &held[T]{view: w, pin: pin}
	h.users.Store(1)
	return newSnapshot(h)
}

// newSnapshot makes a snapshot whose use has been counted.
func newSnapshot[T any](h *held[T]) *Snapshot[T] {
	h.view.core.snapshots.Add(1)
	s := &Snapshot[T]{held: h}
	s.reads = reads[T]{core: h.view.core, snapshot: s}
	return s
}

// enter begins a use. It fails if the snapshot is closed.
func (s *Snapshot[T]) enter() bool {
	if s.closed.Load() {
		return false
	}
	for {
		n := s.held.users.Load()
		if n == 0 { // closed just now
			return false
		}
		if s.held.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (h *held[T]) leave() {
	if h.users.Add(-1) == 0 {
		h.view.core.release(h.pin)
	}
}

// Snapshot returns another snapshot of the same state, to be closed on its own.
// Of a closed one it returns a closed one.
func (s *Snapshot[T]) Snapshot() *Snapshot[T] {
	if !s.enter() {
		closed := &Snapshot[T]{held: s.held}
		closed.reads = reads[T]{core: s.core, snapshot: closed}
		closed.closed.Store(true)
		return closed
	}
	return newSnapshot(s.held)
}

// Close gives the snapshot back. A second call does nothing.
func (s *Snapshot[T]) Close() {
	if s.closed.CompareAndSwap(false, true) {
		s.core.snapshots.Add(-1)
		s.held.leave()
	}
}
