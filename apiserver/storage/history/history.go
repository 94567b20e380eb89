package history

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/utils/third_party/forked/golang/btree"
)

const (
	// degree is that of the B-trees: nodes of up to 2*degree-1 items.
	degree = 16
	// snapshotEvery is the number of changes between two kept states. A kept
	// state pins the nodes that the changes after it replace, so a larger
	// number saves memory where changes lie close together; a smaller one makes
	// looking back faster, which costs some microseconds for each change replayed.
	snapshotEvery = 256
	// trimEvery is the number of changes between two looks at the limits.
	trimEvery = 64
)

// Limits bound how much of the past is kept. The newest Min changes are kept in
// any case, more as long as they are younger than Age, but never more than Max.
type Limits struct {
	Min, Max int
	Age      time.Duration
}

// Change is one step of the history. It is immutable.
type Change[V any] struct {
	// Revision is the revision that the change made.
	Revision uint64
	Key      string
	// Before is the value that was replaced or deleted, nil if there was none.
	Before *V
	// After is the new value. For a deletion it is the value that Delete was
	// given for the end of the key.
	After *V
	// Deleted marks a deletion.
	Deleted bool

	at time.Time
}

// History is an ordered map with its recent past. Make one with [New].
type History[V any] struct {
	// Dropped, if not nil, is called with each change that falls out of the
	// past, by the method that drops it. It may be set right after New.
	Dropped func(*Change[V])

	limits Limits
	tree   *btree.BTree[item[V]]
	// view is the state at revision, kept until the next change.
	view *View[V]
	// states are kept states in ascending order; the first is the one at
	// floor, so that there is always one to start from.
	states []View[V]
	// changes are those after floor; the sequence number of the first is
	// first.
	changes []*Change[V]
	first   uint64
	// keep is snapshotEvery, but for tests, and unkept the number of changes
	// since a state was kept.
	keep     int
	unkept   int
	revision uint64
	floor    uint64
}

type item[V any] struct {
	key   string
	value *V
}

func less[V any](a, b item[V]) bool { return a.key < b.key }

// New returns an empty history whose past begins at revision.
func New[V any](revision uint64, limits Limits) *History[V] {
	h := &History[V]{limits: limits, keep: snapshotEvery}
	h.Reset(revision)
	return h
}

// Reset forgets everything and begins anew, empty, at revision, which may be
// lower than before. Sequence numbers go on, and every reader's place falls off
// the window.
func (h *History[V]) Reset(revision uint64) {
	h.drop(h.changes)
	h.first = h.Next() + 1
	h.tree = btree.New(degree, less[V])
	h.view, h.changes, h.unkept = nil, nil, 0
	h.revision, h.floor = revision, revision
	h.states = []View[V]{{revision, h.tree.Clone()}}
}

// Load puts a value into the state at the beginning of the past, without a
// change. It must only be used right after New or Reset.
func (h *History[V]) Load(key string, value *V) {
	h.tree.ReplaceOrInsert(item[V]{key, value})
	h.view = nil
	h.states = []View[V]{}
}

// Set stores a value under key and records the change. The revision must not be
// lower than [History.Revision].
func (h *History[V]) Set(revision uint64, key string, value *V) *Change[V] {
	h.begin()
	old, _ := h.tree.ReplaceOrInsert(item[V]{key, value})
	return h.record(&Change[V]{Revision: revision, Key: key, Before: old.value, After: value})
}

// Delete removes what is stored under key and records the change, with final as
// its After. If nothing is stored, it returns nil and does nothing.
func (h *History[V]) Delete(revision uint64, key string, final *V) *Change[V] {
	h.begin()
	old, ok := h.tree.Delete(item[V]{key: key})
	if !ok {
		return nil
	}
	return h.record(&Change[V]{Revision: revision, Key: key, Before: old.value, After: final, Deleted: true})
}

// begin makes sure that the state at the floor is kept before the first change.
func (h *History[V]) begin() {
	if len(h.states) == 0 {
		h.states = append(h.states, View[V]{h.floor, h.tree.Clone()})
	}
}

func (h *History[V]) record(c *Change[V]) *Change[V] {
	c.at = time.Now()
	h.view = nil
	h.revision = max(h.revision, c.Revision)
	h.changes = append(h.changes, c)
	if h.unkept++; h.unkept >= h.keep {
		h.unkept = 0
		h.states = append(h.states, View[V]{h.revision, h.tree.Clone()})
	}
	if h.unkept%trimEvery == 0 {
		h.trim(c.at)
	}
	return c
}

// trim enforces the limits. It runs once for every trimEvery changes, so that the
// cost of dropping is spread and at most as many changes too many are held.
func (h *History[V]) trim(now time.Time) {
	drop := max(0, len(h.changes)-h.limits.Max)
	for drop < len(h.changes)-h.limits.Min && now.Sub(h.changes[drop].at) > h.limits.Age {
		drop++
	}
	if drop > 0 {
		// The revision of the newest change dropped becomes the floor.
		_ = h.Compact(h.changes[drop-1].Revision)
	}
}

// Advance raises the revision without a change.
func (h *History[V]) Advance(revision uint64) {
	if revision > h.revision {
		h.revision = revision
		h.view = nil
	}
}

// Revision is the newest revision.
func (h *History[V]) Revision() uint64 { return h.revision }

// Floor is the oldest revision whose state is still known, and after which all
// changes are kept.
func (h *History[V]) Floor() uint64 { return h.floor }

// Compact forgets the past before revision. A revision at or below the floor
// does nothing; one above the newest is a [FutureError].
func (h *History[V]) Compact(revision uint64) error {
	if revision <= h.floor {
		return nil
	}
	state, err := h.At(revision)
	if err != nil {
		return err
	}
	n := h.after(revision)
	h.drop(h.changes[:n])
	clear(h.changes[:n])
	h.changes = h.changes[n:]
	h.first += uint64(n)
	h.floor = revision
	kept := slices.IndexFunc(h.states, func(s View[V]) bool { return s.Revision > revision })
	if kept < 0 {
		kept = len(h.states)
	}
	h.states = slices.Insert(slices.Clone(h.states[kept:]), 0, View[V]{revision, state.tree.Clone()})
	return nil
}

// drop tells of changes that are about to be forgotten.
func (h *History[V]) drop(changes []*Change[V]) {
	if h.Dropped == nil {
		return
	}
	for _, c := range changes {
		h.Dropped(c)
	}
}

// after returns the index of the first change whose revision is higher.
func (h *History[V]) after(revision uint64) int {
	i, _ := slices.BinarySearchFunc(h.changes, revision, func(c *Change[V], r uint64) int {
		if c.Revision <= r {
			return -1
		}
		return 1
	})
	return i
}

// First is the sequence number of the oldest change kept.
func (h *History[V]) First() uint64 { return h.first }

// Next is the sequence number that the next change will have.
func (h *History[V]) Next() uint64 { return h.first + uint64(len(h.changes)) }

// After returns the sequence number of the first change whose revision is
// higher than revision; it is [History.Next] if there is none yet.
func (h *History[V]) After(revision uint64) uint64 { return h.first + uint64(h.after(revision)) }

// Read copies changes from the sequence number seq on into buf and returns
// those copied. It returns false if seq has fallen off the window.
func (h *History[V]) Read(seq uint64, buf []*Change[V]) ([]*Change[V], bool) {
	if seq < h.first {
		return nil, false
	}
	if seq >= h.Next() {
		return buf[:0], true
	}
	return buf[:copy(buf, h.changes[seq-h.first:])], true
}

// At returns the state at revision. The error is a [CompactedError] or a
// [FutureError].
func (h *History[V]) At(revision uint64) (*View[V], error) {
	switch {
	case revision < h.floor:
		return nil, &CompactedError{Revision: revision, Compacted: h.floor}
	case revision > h.revision:
		return nil, &FutureError{Revision: revision, Current: h.revision}
	case revision == h.revision || h.after(revision) == len(h.changes):
		return &View[V]{revision, h.Now().tree}, nil
	}
	// begin has kept the state at the floor, because there are changes.
	i := len(h.states) - 1
	for h.states[i].Revision > revision {
		i--
	}
	tree := h.states[i].tree.Clone()
	for _, c := range h.changes[h.after(h.states[i].Revision):h.after(revision)] {
		if c.Deleted {
			tree.Delete(item[V]{key: c.Key})
		} else {
			tree.ReplaceOrInsert(item[V]{c.Key, c.After})
		}
	}
	return &View[V]{revision, tree}, nil
}

// Now returns the newest state. Calling it again before the next change costs
// nothing.
func (h *History[V]) Now() *View[V] {
	if h.view == nil {
		h.view = &View[V]{h.revision, h.tree.Clone()}
	}
	return h.view
}

// Get returns the newest value under key, nil if there is none.
func (h *History[V]) Get(key string) *V {
	i, _ := h.tree.Get(item[V]{key: key})
	return i.value
}

// Len is the number of keys in the newest state.
func (h *History[V]) Len() int { return h.tree.Len() }

// CompactedError says that a revision lies before what is remembered.
type CompactedError struct {
	Revision, Compacted uint64
}

func (e *CompactedError) Error() string {
	return fmt.Sprintf("revision %d has been compacted, the oldest is %d", e.Revision, e.Compacted)
}

// FutureError says that a revision has not been reached.
type FutureError struct {
	Revision, Current uint64
}

func (e *FutureError) Error() string {
	return fmt.Sprintf("revision %d is in the future, the newest is %d", e.Revision, e.Current)
}
