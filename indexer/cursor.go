package indexer

import "iter"

// Cursor goes through the entries of a snapshot a few at a time, for those who
// cannot stay in a loop until they have seen all. It keeps no goroutine. It must
// not be used by two goroutines at a time.
type Cursor[T any] struct {
	snapshot *Snapshot[T]
	// groups are those of the table when the cursor was made. They have all that
	// the snapshot has, as long as that is open. at is the next slot in them.
	groups []group[entry[T]]
	at     int
}

// Cursor returns a cursor at the first of the snapshot's entries, which come in no
// particular order.
func (s *Snapshot[T]) Cursor() *Cursor[T] {
	c := &Cursor[T]{snapshot: s}
	if s.enter() {
		c.groups = *s.core.entries.groups.Load()
		s.held.leave()
	}
	return c
}

// Next yields the following entries, n at most. When there are none, the cursor
// has come to the end, or its snapshot was closed.
func (c *Cursor[T]) Next(n int) iter.Seq[Entry[T]] {
	return func(yield func(Entry[T]) bool) {
		if !c.snapshot.enter() {
			return
		}
		defer c.snapshot.held.leave()
		epoch := c.snapshot.held.view.epoch
		for c.at < len(c.groups)*groupSize && n > 0 {
			e := c.groups[c.at/groupSize].slots[c.at%groupSize].Load()
			c.at++
			if e == nil {
				continue
			}
			if v := e.at(epoch); v != nil {
				n--
				if !yield(e.entry(v)) {
					return
				}
			}
		}
	}
}
