package indexer

import "k8s.io/apimachinery/pkg/types"

// scratch is what transactions use again.
type scratch[T any] struct {
	// touched has each entry that the transaction has written, once, with the
	// version it had before, nil if it is new; and without an entry each
	// version that was superseded within the transaction.
	touched []superseded[T]
	// created has the buckets that the transaction has made.
	created []*bucket[T]
	// values and postings are where those of one object are collected.
	values   []string
	postings []posting[T]
	// small counts the transactions in a row that needed little of touched.
	small int
	// sum is what reading ahead has added up.
	sum int
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

// begin starts a transaction. Its caller has to end it.
func (c *core[T]) begin() *tx[T] {
	c.writing.Lock()
	c.epoch++
	return &tx[T]{core: c}
}

// end ends a transaction; if it was not committed, nothing of it stays.
func (c *core[T]) end(t *tx[T]) {
	defer c.unlock()
	if !t.done {
		t.done = true
		c.rollBack()
	}
	for _, b := range c.scratch.created {
		if b.live.Load() == 0 {
			b.index.drop(b)
		}
	}
	c.trimFree(len(c.scratch.touched))
	c.scratch.reset()
}

// unlock lets the next writer in, and does what was left undone because of this
// one.
func (c *core[T]) unlock() {
	c.writing.Unlock()
	c.tidy(tidySize)
}

// reset forgets the transaction. It keeps the memory unless it is large and not
// often needed.
func (s *scratch[T]) reset() {
	if len(s.touched) < cap(s.touched)/4 {
		s.small++
	} else {
		s.small = 0
	}
	if len(s.touched) > scratchSize || s.small >= scratchPatience {
		*s = scratch[T]{}
		return
	}
	clear(s.touched)
	clear(s.created)
	clear(s.values[:cap(s.values)])
	clear(s.postings[:cap(s.postings)])
	s.touched, s.created = s.touched[:0], s.created[:0]
}

// rollBack takes off what the transaction has put on. Its epoch is not used
// again: a reader may be on the way through one of its versions.
func (c *core[T]) rollBack() {
	for _, s := range c.scratch.touched {
		switch {
		case s.entry == nil:
		case s.version == nil:
			// Who has found the entry must not take it for a later one.
			s.entry.stamp.Store(void)
			c.entries.remove(s.entry)
		default:
			s.entry.reset(s.version, c.inline)
		}
	}
	c.live = c.state.Load().len
}

// insert adds an entry with its first version.
func (c *core[T]) insert(key types.NamespacedName, hash uint32, v *version[T]) *entry[T] {
	key.Namespace = c.namespaces.share(c.seed, key.Namespace)
	e := newEntry[T](key, hash)
	e.set(v, c.inline)
	c.entries.insert(e)
	c.scratch.touched = append(c.scratch.touched, superseded[T]{entry: e})
	c.live++
	return e
}

// supersede puts a version in front of those that an entry has.
func (c *core[T]) supersede(e *entry[T], v *version[T]) {
	old := e.head.Load()
	if !old.deleted() {
		c.live--
	}
	if !v.deleted() {
		c.live++
	}
	if old.epoch() == c.epoch {
		// The second write of a key in one transaction.
		v.prev.Store(old.prev.Load())
		c.scratch.touched = append(c.scratch.touched, superseded[T]{version: old})
	} else {
		v.prev.Store(old)
		c.scratch.touched = append(c.scratch.touched, superseded[T]{entry: e, version: old})
	}
	e.set(v, c.inline)
}

// list computes the postings of an object in some indexes, in the scratch and
// without places, and reports whether they are the same as held, those of the
// version before.
func (c *core[T]) list(key types.NamespacedName, obj T, held []posting[T], indexes []*index[T]) (same bool, failures []*IndexError) {
	s := &c.scratch
	s.postings = s.postings[:0]
	same = true
	rest := held
	for _, ix := range indexes {
		n := 0
		for n < len(rest) && rest[n].bucket.index == ix {
			n++
		}
		before := rest[:n]
		rest = rest[n:]
		values, unchanged, failure := ix.compute(key, obj, before, s.values[:0])
		if unchanged {
			s.postings = append(s.postings, before...)
			continue
		}
		if failure != nil {
			failures = append(failures, failure)
		}
		same = c.listIn(ix, before, values) && same
		// The function may have returned a slice of the object, which is not
		// ours to write to.
		if len(values) > cap(s.values) {
			s.values = make([]string, 0, 2*len(values))
		}
	}
	return same, failures
}

// listIn appends the postings in one index to the scratch, and reports whether
// they are those of the version before.
func (c *core[T]) listIn(ix *index[T], before []posting[T], values []string) (unchanged bool) {
	s := &c.scratch
	from := len(s.postings)
	differ := len(values) != len(before)
	for i := 0; i < len(values) && !differ; i++ {
		differ = before[i].bucket.value != values[i]
	}
	if !differ {
		s.postings = append(s.postings, before...)
		return true
	}
	for _, value := range values {
		b := c.bucketFor(ix, before, value)
		if find(s.postings[from:], b) < 0 {
			s.postings = append(s.postings, posting[T]{bucket: b})
		}
	}
	found := s.postings[from:]
	if len(found) != len(before) {
		return false
	}
	for _, p := range found {
		if find(before, p.bucket) < 0 {
			return false
		}
	}
	copy(found, before) // the same values in another order
	return true
}

func (c *core[T]) bucketFor(ix *index[T], before []posting[T], value string) *bucket[T] {
	for i := range before {
		if before[i].bucket.value == value {
			return before[i].bucket
		}
	}
	b := ix.bucket(value)
	if b == nil {
		b = ix.newBucket(value)
		c.scratch.created = append(c.scratch.created, b)
	}
	return b
}

// commit makes the writes of a transaction visible, and then takes out what
// nobody needs any more.
func (c *core[T]) commit(t *tx[T], indexes []*index[T]) {
	t.done = true
	for i := range c.scratch.touched {
		c.scratch.touched[i].until = c.epoch
		c.place(&c.scratch.touched[i])
	}
	c.indexes = indexes
	next := c.spare
	c.spare = nil
	if next == nil {
		next = new(state[T])
	}
	next.epoch, next.len, next.version, next.indexes = c.epoch, c.live, t.version, indexes
	next.prev.Store(c.state.Load())
	c.state.Store(next)
	c.committed.Store(c.epoch)
	c.reclaim(c.scratch.touched)
}

// place tells the buckets of the difference between the newest version of an
// entry and the one before the transaction.
func (c *core[T]) place(s *superseded[T]) {
	if s.entry == nil {
		return
	}
	v := s.entry.head.Load()
	var old []posting[T]
	switch {
	case s.version != nil:
		old = s.version.postings
	case v.deleted(): // it came and went within the transaction
		c.entries.remove(s.entry)
		s.entry = nil
		return
	}
	if same(old, v.postings) {
		return
	}
	for i := range v.postings {
		p := &v.postings[i]
		if at := find(old, p.bucket); at >= 0 {
			p.place = old[at].place
			continue
		}
		p.bucket.changed.Store(c.epoch)
		if place, found := v.prev.Load().lists(p.bucket); found {
			p.place = place
			p.bucket.stale.Add(-1)
		} else {
			p.place = p.bucket.add(s.entry)
		}
	}
	for _, p := range old {
		if find(v.postings, p.bucket) < 0 {
			p.bucket.changed.Store(c.epoch)
			p.bucket.stale.Add(1)
		}
	}
}
