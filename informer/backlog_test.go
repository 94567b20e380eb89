package informer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/indexer"
)

// TestListenersAgainstAnUnboundedListWithoutRace writes random batches to a log, with
// listeners that come, go, take at all paces, give back, and are resynced. Beside
// each of them an unbounded list has everything that it is to be told, and says for
// each change whether it is the next, or one step over the next few of its key.
func TestListenersAgainstAnUnboundedListWithoutRace(t *testing.T) {
	for seed := range uint64(modelSeeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { listenersModel(t, rand.New(rand.NewPCG(seed, 1)), 600) })
	}
}

const modelKeys = 12

func listenersModel(t *testing.T, rnd *rand.Rand, steps int) {
	m := newNumbers(t)
	var all []*follower
	m.synced = rnd.IntN(2) == 0
	for range steps {
		switch n := rnd.IntN(100); {
		case n < 50:
			size := 1 + rnd.IntN(6)
			if rnd.IntN(30) == 0 {
				size = rnd.IntN(3 * chunkSize)
			}
			m.write(rnd, size, all)
		case n < 54 && len(all) < 6:
			all = append(all, m.join(rnd, all))
		case n < 56 && len(all) > 0:
			at := rnd.IntN(len(all))
			m.remove(all[at].l)
			all = slices.Delete(all, at, at+1)
		case n < 60 && len(all) > 0:
			m.resync(all[rnd.IntN(len(all))])
		case len(all) > 0:
			f := all[rnd.IntN(1+rnd.IntN(len(all)))] // the last ones are slow
			f.takeSome(rnd)
		}
		for _, f := range all {
			f.checkTold()
		}
		m.checkLog(all)
	}
	m.write(rnd, 1, all)
	for _, f := range all {
		f.drain(m.held)
	}
	m.checkLog(all)
	if n := len(m.p.log.chunks); n != 0 {
		t.Errorf("%d chunks are left in a log that was read", n)
	}
	if s := m.p.store.Stats(); s.Snapshots != len(slices.DeleteFunc(all, func(f *follower) bool { return f.l.backlog.walk == nil })) {
		t.Errorf("%d snapshots are open", s.Snapshots)
	}
}

// numbers is a server, with store, log and listeners beside it, of numbers that
// are never the same.
type numbers struct {
	t      *testing.T
	p      *processor[int]
	held   map[types.NamespacedName]int
	last   int
	synced bool
}

func newNumbers(t *testing.T) *numbers {
	store, err := indexer.New(indexer.Indexes[int]{})
	if err != nil {
		t.Fatal(err)
	}
	return &numbers{t: t, p: &processor[int]{store: store}, held: map[types.NamespacedName]int{}}
}

// write does what the loop does with a batch.
func (m *numbers) write(rnd *rand.Rand, size int, all []*follower) {
	p := m.p
	p.mu.Lock()
	tell := p.synced && len(p.listeners) > 0
	if tell {
		p.log.begin(size)
	}
	position := p.log.tail.Load()
	p.store.Update(func(tx indexer.Tx[int]) {
		for range size {
			c := m.change(rnd, tx)
			if tell {
				*p.log.next() = c
				for _, f := range all {
					f.expect(c, position)
				}
				position++
			}
		}
	})
	listeners, start := p.listeners, uint64(0)
	if tell {
		start = p.log.publish()
	} else if !p.synced && (m.synced || rnd.IntN(20) == 0) {
		m.synced = true
		p.firstSync()
		for _, f := range all {
			f.expectWalk(m.held, false)
		}
	}
	p.mu.Unlock()
	if tell {
		for _, l := range listeners {
			l.follow(start, p.store.Len())
		}
	}
}

// change changes the server and the store, and tells how.
func (m *numbers) change(rnd *rand.Rand, tx indexer.Tx[int]) number {
	key := numberKey(rnd.IntN(modelKeys))
	m.last++
	old, had := m.held[key]
	if had && rnd.IntN(4) == 0 {
		delete(m.held, key)
		tx.Delete(key)
		return number{Type: Deleted, Key: key, Old: old, New: m.last}
	}
	m.held[key] = m.last
	if err := tx.Put(indexer.Entry[int]{Key: key, Object: m.last}); err != nil {
		m.t.Fatal(err)
	}
	if !had {
		return number{Type: Added, Key: key, New: m.last}
	}
	return number{Type: Updated, Key: key, Old: old, New: m.last}
}

func (m *numbers) join(rnd *rand.Rand, all []*follower) *follower {
	budget := 1 + rnd.IntN(40)
	if rnd.IntN(3) == 0 {
		budget = 1 << 30
	}
	f := &follower{t: m.t, l: newListener[int](nil, HandlerOptions[int]{Budget: budget}, nil), told: map[types.NamespacedName]int{}}
	m.p.add(f.l)
	if m.p.synced {
		f.expectWalk(m.held, false)
	}
	return f
}

func (m *numbers) remove(l *processorListener[int]) {
	m.p.remove(l)
	if l.take() != nil || !isClosed(l.reg.Done()) {
		m.t.Fatal("a listener that was removed goes on")
	}
}

func (m *numbers) resync(f *follower) {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	if m.p.synced && f.l.backlog.walk == nil {
		f.expectWalk(m.held, true)
	}
	m.p.walk(f.l, true)
}

// checkLog checks that the log has no more than somebody has yet to read.
func (m *numbers) checkLog(all []*follower) {
	unread, held := 0, 0
	for _, f := range all {
		b := &f.l.backlog
		unread = max(unread, b.unread())
		if limit := max(f.l.opts.Budget, modelKeys) + 3*chunkSize; b.unread() > limit {
			m.t.Fatalf("%d changes are unread at a limit of %d", b.unread(), limit)
		}
		if n := b.folded.len() + b.later.len(); n > 4*modelKeys || b.folding.Load() && b.unread() > 0 {
			m.t.Fatalf("%d changes of %d keys are folded, %d are unread", n, modelKeys, b.unread())
		}
		if b.held != nil {
			held++
		}
	}
	for n, k := range m.p.log.chunks {
		if k.start >= m.p.log.tail.Load() || n > 0 && m.p.log.chunks[n-1].end() != k.start {
			m.t.Fatalf("chunk %d begins at %d", n, k.start)
		}
	}
	// Chunks after a pause are small, one is being filled, and one was left by all
	// and nobody has read on.
	if most := unread/smallChunk + 2; len(m.p.log.chunks) > most || unread == 0 && len(m.p.log.chunks) > 0 {
		m.t.Fatalf("%d chunks for %d changes", len(m.p.log.chunks), unread)
	}
}

// follower is one listener with all that it is to be told, in order.
type follower struct {
	t    *testing.T
	l    *processorListener[int]
	told map[types.NamespacedName]int
	want []expected
	// walks counts those that were expected, folds is set once anything was folded.
	walks int
	folds bool
}

// expected is a change, with its position, and 0 or the number of its walk.
type expected struct {
	number
	position uint64
	walk     int
}

func (f *follower) expect(c number, position uint64) {
	f.want = append(f.want, expected{c, position, 0})
}

func (f *follower) expectWalk(held map[types.NamespacedName]int, resync bool) {
	f.walks++
	for key, v := range held {
		c := number{Type: Added, Key: key, New: v, Initial: true}
		if resync {
			c = number{Type: Updated, Key: key, Old: v, New: v, Resync: true}
		}
		f.want = append(f.want, expected{c, f.l.backlog.log.tail.Load(), f.walks})
	}
}

// takeSome takes a batch, tells of some of it, and gives the rest back.
func (f *follower) takeSome(rnd *rand.Rand) {
	f.folds = f.folds || f.l.backlog.folding.Load()
	batch := f.l.take()
	n := len(batch)
	if rnd.IntN(3) == 0 {
		n = rnd.IntN(n + 1)
	}
	for _, c := range batch[:n] {
		f.tell(c)
	}
	if n < len(batch) {
		f.l.giveBack(batch[n:])
	}
}

// tell takes what was told off the list.
func (f *follower) tell(c number) {
	old, had := f.told[c.Key]
	if (c.Type == Added) == had || had && c.Old != old {
		f.t.Fatalf("%+v breaks the chain: told %d, %v", c, old, had)
	}
	if c.Type == Deleted {
		delete(f.told, c.Key)
	} else {
		f.told[c.Key] = c.New
	}
	at := slices.IndexFunc(f.want, func(e expected) bool {
		return e.Key == c.Key && e.New == c.New && (e.Type == Deleted) == (c.Type == Deleted) && e.Initial == c.Initial && e.Resync == c.Resync
	})
	if at < 0 {
		f.t.Fatalf("%+v is invented, or told twice", c)
	}
	this := f.want[at]
	for n, e := range f.want[:at] {
		if !f.folds && (e.walk == 0 || e.walk != this.walk) {
			f.t.Fatalf("%+v is told before %+v", c, e)
		}
		if e.walk != 0 && (e.walk != this.walk || e.Key == c.Key) || this.walk != 0 && e.walk == 0 && !f.vanishes(e.Key, n, at) {
			f.t.Fatalf("%+v is told on the wrong side of %+v", c, e)
		}
	}
	// The rest moves up: mostly there is none.
	left := at + 1
	for n := at - 1; n >= 0; n-- {
		if f.want[n].Key != c.Key {
			left--
			f.want[left] = f.want[n]
		}
	}
	f.want = f.want[left:]
	f.l.delivered.Add(1)
}

// vanishes reports whether what is expected of a key in a range, from its first
// change on, need not be told.
func (f *follower) vanishes(key types.NamespacedName, from, to int) bool {
	if _, had := f.told[key]; had {
		return false
	}
	last := Deleted
	for _, e := range f.want[from:to] {
		if e.Key == key {
			last = e.Type
		}
	}
	return last == Deleted
}

// vanished is vanishes for a change that may be one of many.
func (f *follower) vanished(n int) bool {
	_, had := f.told[f.want[n].Key]
	return f.folds && !had && slices.ContainsFunc(f.want[n:], func(e expected) bool {
		return e.Key == f.want[n].Key && e.Type == Deleted
	})
}

// checkTold checks what counts as told: all of it was, or came and went.
func (f *follower) checkTold() {
	f.folds = f.folds || f.l.backlog.folding.Load()
	if !f.l.toldInitial {
		return
	}
	position := f.l.backlog.told()
	for n, e := range f.want {
		if e.position >= position {
			break
		}
		if e.walk == 0 && !f.vanished(n) {
			f.t.Fatalf("%+v counts as told: all up to %d does", e, position)
		}
	}
	if s := f.l.status(); s.Pending < 0 || s.Pending > len(f.want) || s.FoldedKeys > 2*modelKeys {
		f.t.Fatalf("%d changes are expected, status is %+v", len(f.want), s)
	}
}

// drain takes everything, and compares the end with what the server has.
func (f *follower) drain(held map[types.NamespacedName]int) {
	f.folds = f.folds || f.l.backlog.folding.Load()
	for batch := f.l.take(); batch != nil; batch = f.l.take() {
		for _, c := range batch {
			f.tell(c)
		}
	}
	if fmt.Sprint(f.told) != fmt.Sprint(held) {
		f.t.Errorf("told %v, the server has %v", f.told, held)
	}
	for n, e := range f.want {
		if !f.folds || !f.vanishes(e.Key, n, len(f.want)) {
			f.t.Errorf("not told: %+v", e)
		}
	}
	if s := f.l.status(); s.Pending != 0 || s.Unread != 0 || s.FoldedKeys != 0 || s.BacklogBytes != 0 || !s.Synced {
		f.t.Errorf("status at the end: %+v", s)
	}
}
