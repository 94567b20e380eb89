package indexer

import (
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
)

// core is the store behind an [Indexer] and its snapshots.
//
// Time goes in epochs; each transaction that commits ends one. A reader pins the
// newest committed epoch and then finds its way without a lock: to an entry by
// the table or a bucket, and from the head of the entry along its versions to the
// first that is not newer than the epoch. One writer at a time adds versions of
// the next epoch, which nobody sees before it is committed.
//
// Tables and buckets hold at least what any pinned epoch needs; which of it
// belongs to an epoch, the versions say. What no pinned epoch needs is taken out
// after a commit, or when a pin that was in the way is given back.
type core[T any] struct {
	// committed is the newest epoch that readers may pin. The first is 1.
	committed atomic.Uint64
	pins      pins
	state     atomic.Pointer[state[T]]
	entries   table[entry[T]]
	seed      maphash.Seed
	// known has indexes of a committed state, perhaps not yet all, for those who
	// hold no pin.
	known atomic.Pointer[[]*index[T]]
	// inline says that objects are pointers, so that entries have them.
	inline bool
	// retained is the length of kept, for those who do not write.
	retained  atomic.Int64
	snapshots atomic.Int64
	// owed is how many of the kept versions those who gave pins back want
	// looked at, and draining says that it must not wait (see reclaim.go).
	owed     atomic.Int64
	draining atomic.Bool

	_ [64]byte // keeps what writers write off the readers' cache lines

	// writing serializes transactions, AddIndexes and cleaning up. Everything
	// below belongs to its holder.
	writing sync.Mutex
	// epoch is that of the transaction under way, or of the last one. It is
	// not used again if the transaction fails.
	epoch uint64
	// live is the number of objects as the transaction under way has it.
	live    int
	indexes []*index[T]
	scratch scratch[T]
	// namespaces has some texts that the keys of entries share.
	namespaces namespaces

	// kept has what was superseded and somebody may still read; hand goes
	// round in it (see reclaim.go). pinned is where pins are collected.
	kept   []superseded[T]
	hand   int
	pinned []uint64
	// free has versions to use again, and spare a state.
	free  []*version[T]
	spare *state[T]
}

// state is what the store as a whole had from one epoch to the next.
type state[T any] struct {
	// prev is the state before, nil if no reader needs it.
	prev    atomic.Pointer[state[T]]
	epoch   uint64
	len     int
	version string
	indexes []*index[T]
}

func newCore[T any](indexes Indexes[T]) (*core[T], error) {
	c := &core[T]{seed: maphash.MakeSeed(), inline: fitsCell[T](), epoch: 1}
	made, err := newIndexes(indexes, c.seed, func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	c.indexes = made
	c.pins.init()
	c.entries.init(func(e *entry[T]) uint32 { return e.hash })
	c.known.Store(&made)
	c.state.Store(&state[T]{epoch: c.epoch, indexes: made})
	c.committed.Store(c.epoch)
	return c, nil
}

func (c *core[T]) hash(key types.NamespacedName) uint32 {
	return fold(maphash.Comparable(c.seed, key))
}

// entry returns the entry of a key, nil if there is none.
func (c *core[T]) entry(key types.NamespacedName, hash uint32) *entry[T] {
	for e := range c.entries.find(hash) {
		if e.hash == hash && e.is(key) {
			return e
		}
	}
	return nil
}

// get returns the newest object of a key. It takes no pin, and is not sure if a
// transaction under way has written the key, or just did. Entries are used for one
// key only, so whatever is found in one is of the key.
func (c *core[T]) get(key types.NamespacedName) (obj T, ok, sure bool) {
	epoch := c.committed.Load()
	e := c.entry(key, c.hash(key))
	if e == nil {
		return obj, false, true
	}
	return e.get(epoch)
}

// pin is called by readers before anything else, and unpin or release after all.
func (c *core[T]) pin() (view[T], *pin) {
	pin, epoch := c.pins.take(&c.committed)
	return view[T]{core: c, epoch: epoch}, pin
}

// unpin gives back a pin that was held for a moment. If that was in the way of a
// writer even so, this and the following calls and transactions clean up, a little
// each.
func (c *core[T]) unpin(p *pin) {
	if p.giveBack(&c.committed) {
		c.owed.Store(everything)
	}
	c.tidy(sweepSize)
}

// release gives back a pin that may have been held for long. All that it was in
// the way of is cleaned up, for there may be nobody who calls again.
func (c *core[T]) release(p *pin) {
	if p.giveBack(&c.committed) {
		c.owed.Store(everything)
		c.draining.Store(true)
		c.drain()
	}
}

// indexNamed returns the index of a name, nil if there is none.
func indexNamed[T any](indexes []*index[T], name string) *index[T] {
	for _, ix := range indexes {
		if ix.name == name {
			return ix
		}
	}
	return nil
}

func (s *state[T]) named(name string) (*index[T], error) {
	if ix := indexNamed(s.indexes, name); ix != nil {
		return ix, nil
	}
	return nil, fmt.Errorf("%w %q (known are %q)", ErrUnknownIndex, name, s.names())
}

func (s *state[T]) names() []string {
	names := make([]string, len(s.indexes))
	for i, ix := range s.indexes {
		names[i] = ix.name
	}
	slices.Sort(names)
	return names
}
