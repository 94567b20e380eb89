package indexer

// superseded is a version that another one has taken the place of. Readers at
// epochs from its own up to, without, until may see it.
type superseded[T any] struct {
	// entry is nil if the version never was a committed one.
	entry   *entry[T]
	version *version[T]
	until   uint64
}

const (
	// sweepSize is the number of kept versions that are looked at in one go,
	// beside twice the number that came with a transaction.
	sweepSize = 64
	// tidySize is the number for which one who gives a pin back takes the
	// writers' lock at a time.
	tidySize = 1024
	// maxPostings is the number of postings for which a free version keeps
	// the memory.
	maxPostings = 16
)

// reclaim takes out what no reader needs, after a commit or a pin given back. For
// each key there remain the newest version and one for each pinned epoch. Work is
// bounded: those among touched, and some of those that were kept before.
func (c *core[T]) reclaim(touched []superseded[T]) {
	c.pinned = c.pins.taken(c.pinned[:0])
	c.trimStates()
	c.sweep(sweepSize + 2*len(touched))
	for _, s := range touched {
		if s.version == nil {
			continue
		}
		if c.needs(s) {
			c.kept = append(c.kept, s)
		} else {
			c.drop(s)
		}
	}
	c.retained.Store(int64(len(c.kept)))
}

// needs reports whether a reader may see a version.
func (c *core[T]) needs(s superseded[T]) bool {
	return s.entry != nil && between(c.pinned, s.version.epoch(), s.until)
}

// passed reports whether all readers are past an epoch. One that is not may be on
// its way through what was superseded in it, even where it need not see it.
func (c *core[T]) passed(epoch uint64) bool {
	return len(c.pinned) == 0 || c.pinned[0] >= epoch
}

// sweep looks at up to n of the kept versions, where it stopped the last time.
func (c *core[T]) sweep(n int) {
	for n = min(n, len(c.kept)); n > 0; n-- {
		if c.hand >= len(c.kept) {
			c.hand = 0
		}
		s := c.kept[c.hand]
		if c.needs(s) {
			c.hand++
			continue
		}
		c.drop(s)
		last := len(c.kept) - 1
		c.kept[c.hand] = c.kept[last]
		c.kept[last] = superseded[T]{}
		c.kept = c.kept[:last]
	}
	if len(c.kept) < cap(c.kept)/4 {
		c.kept = append([]superseded[T](nil), c.kept...)
	}
}

// drop takes out a version that nobody needs, and the entry if it was all that
// kept it there.
func (c *core[T]) drop(s superseded[T]) {
	alone := s.entry != nil && c.unlink(s.entry, s.version)
	if c.passed(s.until) {
		c.recycle(s.version, alone)
	}
}

// unlink takes a version off an entry. It reports whether no other version shares
// its postings: only those that follow each other do.
func (c *core[T]) unlink(e *entry[T], v *version[T]) (alone bool) {
	head := e.head.Load()
	next := head
	for next.prev.Load() != v {
		next = next.prev.Load()
	}
	next.prev.Store(v.prev.Load())
	alone = v.prev.Load() == nil && !same(v.postings, next.postings)
	if !same(v.postings, next.postings) {
		for _, p := range v.postings {
			if _, listed := head.lists(p.bucket); !listed {
				unplace(p)
			}
		}
	}
	if head.deleted() && head.prev.Load() == nil {
		// The last version is left to the garbage collector: a reader may be
		// about to look at it.
		c.entries.remove(e)
	}
	return alone
}

// unplace takes an entry out of a bucket.
func unplace[T any](p posting[T]) {
	b := p.bucket
	b.remove(p.place)
	// Not before: while nothing is stale, readers trust what they find.
	b.stale.Add(-1)
	if b.live.Load() == 0 {
		b.index.drop(b)
	}
}

// newVersion returns an empty version that no reader knows. It may have memory
// for postings.
func (c *core[T]) newVersion() *version[T] {
	n := len(c.free)
	if n == 0 {
		return new(version[T])
	}
	v := c.free[n-1]
	c.free[n-1] = nil
	c.free = c.free[:n-1]
	return v
}

// recycle keeps a version for newVersion. All readers that could come across it
// have given their pins back. If no other version has its postings, their memory
// is kept too.
func (c *core[T]) recycle(v *version[T], alone bool) {
	if len(c.free) >= scratchSize {
		return
	}
	var none T
	v.prev.Store(nil)
	v.uid, v.version, v.object = "", "", none
	if alone && cap(v.postings) <= maxPostings {
		clear(v.postings)
		v.postings = v.postings[:0]
	} else {
		v.postings = nil
	}
	c.free = append(c.free, v)
}

// trimFree keeps no more free versions than a transaction of some size may need.
func (c *core[T]) trimFree(size int) {
	if keep := 2*size + 16; len(c.free) > keep {
		c.free = append([]*version[T](nil), c.free[:keep]...)
	}
}

// trimStates takes out states that nobody needs.
func (c *core[T]) trimStates() {
	next := c.state.Load()
	for s := next.prev.Load(); s != nil; s = next.prev.Load() {
		if between(c.pinned, s.epoch, next.epoch) {
			next = s
			continue
		}
		next.prev.Store(s.prev.Load())
		if c.passed(next.epoch) {
			s.prev.Store(nil)
			s.version, s.indexes = "", nil
			c.spare = s
		}
	}
}

// everything says in core.owed that all kept versions have to be looked at.
const everything = 1 << 62

// tidy looks at up to n of the kept versions if any have to be looked at. If everything
// has to be once more after that, somebody has given a pin back meanwhile and found
// the lock taken, perhaps the last one to call.
func (c *core[T]) tidy(n int64) {
	for c.owed.Load() > 0 && c.settle(n) {
		c.drain()
		if c.owed.Load() < everything {
			return
		}
	}
}

// settle looks at up to n of the kept versions that have to be looked at. It
// waits for nobody: it fails if somebody has the lock.
func (c *core[T]) settle(n int64) bool {
	if !c.writing.TryLock() {
		return false
	}
	defer c.writing.Unlock()
	owed := min(c.owed.Swap(0), int64(len(c.kept)))
	if owed > n {
		c.owed.CompareAndSwap(0, owed-n) // unless it is everything again
		owed = n
	}
	c.pinned = c.pins.taken(c.pinned[:0])
	c.trimStates()
	c.sweep(int(owed))
	c.retained.Store(int64(len(c.kept)))
	return true
}

// drain does all that is owed, if somebody has asked for that. Everybody calls it
// after unlocking: who asked may have found the lock taken, and whoever had it may
// have looked at the pins before.
func (c *core[T]) drain() {
	for c.draining.Load() {
		if c.owed.Load() == 0 {
			c.draining.Store(false)
			if c.owed.Load() == 0 {
				return
			}
			c.draining.Store(true)
		}
		if !c.settle(tidySize) {
			return
		}
	}
}
