package workqueue

import "time"

// item is all that a queue knows of one key. A key has an item while it is in the
// queue, and no longer: when it leaves, its failures and its priority leave with
// it.
type item[K comparable] struct {
	key K
	// next and prev link the item into the list of its place: ready keys are in
	// that of their lane, running ones and those held aside in those of the
	// queue. next alone links it into the list of items to be used again.
	next, prev *item[K]
	// lane is that of the key's tenant, and of its priority when it was last
	// ready.
	lane *lane[K]
	// holds are the holds that are on the key, linked.
	holds *hold[K]
	// err is what the last try failed with; nil if failures is 0.
	err error
	// since is when the key came to its place, and stamp when it took its
	// stand in the lane, which for a key that was raised is later.
	since, stamp time.Duration
	// hash is that of the key.
	hash uint32
	// slot is one more than the index in the heap of delays; 0 if the key is
	// not delayed.
	slot int32
	// failures is the number of tries in a row that have failed, up to the
	// largest number that fits.
	failures uint16
	// priority is the priority of the present wait or run, pending that of the
	// next run that was asked for while the key runs.
	priority, pending int16
	place             place
	// want says whether the key will be ready as soon as it neither runs nor is
	// held. It is nothing for a key that neither runs nor is held.
	want want
}

// place is where an item is. It may be delayed at any place.
type place uint8

const (
	aside   place = iota // delayed or held
	ready                // in a lane
	running              // a worker holds the key
)

// want is whether an add waits for a key to be let go.
type want uint8

const (
	nothing want = iota
	patient      // it does, but respects the back-off if the run fails
	wanted       // it does
)

// waitsOutBackoff reports whether the item is delayed because its work has failed.
func (it *item[K]) waitsOutBackoff() bool {
	return it.place == aside && it.slot > 0 && it.failures > 0
}

// pursued reports whether somebody has asked for a further run of an item, beside
// that for which it may be ready.
func (it *item[K]) pursued() bool { return it.want != nothing || it.slot > 0 }

func (it *item[K]) heapSlot() *int32 { return &it.slot }

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
