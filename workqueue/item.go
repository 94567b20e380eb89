package workqueue

import "time"

// item is all that a queue knows of one key. A key has an item while it is
// ready, delayed or running, and no longer: when it leaves the queue, its
// failures leave with it.
//
// A key that is running is not ready; Add sets again instead. It may be delayed
// at the same time.
type item[K comparable] struct {
	key K
	// next and prev link the item into the list of ready or of running keys;
	// next alone links it into the list of items to be used again.
	next, prev *item[K]
	// err is what the last try failed with; nil if failures is 0.
	err error
	// since is when the key became ready, running or else delayed.
	since time.Duration
	// slot is one more than the index in the heap of delays; 0 if the key is
	// not delayed.
	slot int
	// failures is the number of tries in a row that have failed.
	failures uint32
	// ready and running say in which list the item is.
	ready, running bool
	// again says that a running key was added and will be ready when Done.
	again bool
}

// list is a list of items in order, linked through the items: it needs no
// memory of its own and gives none back.
type list[K comparable] struct {
	head, tail *item[K]
	len        int
}

func (l *list[K]) push(it *item[K]) {
	it.prev = l.tail
	if l.tail == nil {
		l.head = it
	} else {
		l.tail.next = it
	}
	l.tail = it
	l.len++
}

func (l *list[K]) remove(it *item[K]) {
	if it.prev == nil {
		l.head = it.next
	} else {
		it.prev.next = it.next
	}
	if it.next == nil {
		l.tail = it.prev
	} else {
		it.next.prev = it.prev
	}
	it.next, it.prev = nil, nil
	l.len--
}

// shelf holds the items by key, and those that were used and can be again. Its
// memory follows the number of keys: a Go map never gives memory back, so after
// a flood has gone the shelf moves to a new one.
type shelf[K comparable] struct {
	items map[K]*item[K]
	free  *item[K]
	peak  int
}

const (
	// shelfKeep is a number of keys for which no memory is given back.
	shelfKeep = 1024
	// shelfShrink is the part of its peak below which a shelf shrinks. The
	// larger it is, the less is copied at once; and at the worst, this many
	// times the memory that the keys need is held.
	shelfShrink = 16
)

// add returns a new item for a key that has none.
func (s *shelf[K]) add(key K) *item[K] {
	it := s.free
	if it == nil {
		it = new(item[K])
	} else {
		s.free, it.next = it.next, nil
	}
	it.key = key
	s.items[key] = it
	s.peak = max(s.peak, len(s.items))
	return it
}

// drop forgets an item that is in no list and not delayed.
func (s *shelf[K]) drop(it *item[K]) {
	delete(s.items, it.key)
	*it = item[K]{next: s.free}
	s.free = it
	if s.peak > shelfKeep && len(s.items) < s.peak/shelfShrink {
		s.shrink()
	}
}

// shrink moves the items to a map of their size and lets go of the free ones.
func (s *shelf[K]) shrink() {
	items := make(map[K]*item[K], len(s.items))
	for key, it := range s.items {
		items[key] = it
	}
	s.items, s.free, s.peak = items, nil, len(items)
}
