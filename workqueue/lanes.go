package workqueue

import "time"

// lanes hold the ready keys in the order in which they are handed out. Keys of one
// priority and one tenant stand in one lane, first come, first served.
//
// Among the priorities, a key ranks by the time at which it took its stand, less
// the ageing step for each unit of its priority; the smallest rank comes first.
// That is the same as a priority that rises with the wait, but a rank never
// changes while its key waits, so nothing has to be sorted anew: the best key is
// the first of some lane, and a heap of lanes finds it.
//
// Among the tenants, the rank of the best key decides which priority has its
// turn, and the tenants with keys of this priority take turns by weight. A tenant
// that comes goes to the end of the round, so none is passed over for ever.
//
// A queue without tenants, all of whose keys have priority 0, has one lane and
// pays for no more.
type lanes[K comparable] struct {
	step    time.Duration
	fair    bool
	weights map[string]int
	len     int            // ready keys
	base    *lane[K]       // that of tenant "" and priority 0, which stays
	order   heap[*lane[K]] // lanes with ready keys, by the rank of their first
	byID    map[laneID]*lane[K]
	rounds  map[int16]*round[K] // by priority, only if fair
	free    *lane[K]            // a lane that can be used again
}

type laneID struct {
	tenant   string
	priority int16
}

// lane is the line of the ready keys of one tenant and one priority. It exists as
// long as the queue has a key of them, ready or not.
type lane[K comparable] struct {
	id   laneID
	keys int // items that refer to it
	list[K]
	slot int32 // in lanes.order

	// Only if fair: where the lane stands in its round, if it has ready keys,
	// and how many of them may still go before the next lane has its turn.
	round      *round[K]
	next, prev *lane[K]
	turns      int
}

func (l *lane[K]) heapSlot() *int32 { return &l.slot }

// round is the circle of the lanes with ready keys of one priority, in the order
// of their turns. The head has its turn.
type round[K comparable] struct {
	head *lane[K]
}

func newLanes[K comparable](step time.Duration, fair bool, weights map[string]int) lanes[K] {
	ls := lanes[K]{step: step, fair: fair, weights: weights, byID: map[laneID]*lane[K]{}}
	if fair {
		ls.rounds = map[int16]*round[K]{}
	} else {
		ls.base = &lane[K]{keys: 1}
	}
	return ls
}

// join gives an item its lane.
func (ls *lanes[K]) join(it *item[K], tenant string, priority int16) {
	it.priority = priority
	if priority == 0 && !ls.fair {
		it.lane = ls.base
	} else {
		it.lane = ls.lane(laneID{tenant, priority})
	}
	it.lane.keys++
}

// leave takes its lane from an item that is not ready.
func (ls *lanes[K]) leave(it *item[K]) {
	l := it.lane
	it.lane = nil
	l.keys--
	if l.keys > 0 {
		return
	}
	delete(ls.byID, l.id)
	*l = lane[K]{}
	ls.free = l
}

// lane finds or makes a lane.
func (ls *lanes[K]) lane(id laneID) *lane[K] {
	l := ls.byID[id]
	if l != nil {
		return l
	}
	if l, ls.free = ls.free, nil; l == nil {
		l = new(lane[K])
	}
	l.id = id
	ls.byID[id] = l
	if ls.fair {
		r := ls.rounds[id.priority]
		if r == nil {
			r = new(round[K])
			ls.rounds[id.priority] = r
		}
		l.round = r
	}
	return l
}

// push puts an item at the end of the lane of its priority.
func (ls *lanes[K]) push(it *item[K], now time.Duration) {
	l := it.lane
	if l.id.priority != it.priority {
		tenant := l.id.tenant
		ls.leave(it)
		ls.join(it, tenant, it.priority)
		l = it.lane
	}
	it.stamp = now
	l.push(it)
	ls.len++
	if l.len == 1 {
		ls.order.set(l, ls.rank(l), -int64(l.id.priority))
		if ls.fair {
			l.turns = ls.weight(l.id.tenant)
			l.round.enter(l)
		}
	}
}

// remove takes an item out of its lane, wherever it stands.
func (ls *lanes[K]) remove(it *item[K]) {
	l := it.lane
	first := l.head == it
	l.remove(it)
	ls.len--
	switch {
	case l.len == 0:
		ls.order.remove(l)
		if ls.fair {
			l.round.exit(l)
		}
	case first:
		ls.order.set(l, ls.rank(l), -int64(l.id.priority))
	}
}

// take removes the item that is next. There must be one.
func (ls *lanes[K]) take() *item[K] {
	l := ls.order.first()
	if ls.fair {
		l = l.round.head
		l.turns--
		if l.turns == 0 {
			l.turns = ls.weight(l.id.tenant)
			l.round.head = l.next
		}
	}
	it := l.head
	ls.remove(it)
	return it
}

// gains reports whether a ready item would be handed out earlier if it took a new
// stand now, with this priority.
func (ls *lanes[K]) gains(it *item[K], priority int16, now time.Duration) bool {
	return now-time.Duration(priority)*ls.step < it.stamp-time.Duration(it.lane.id.priority)*ls.step
}

// rank is that of the first key of a lane.
func (ls *lanes[K]) rank(l *lane[K]) time.Duration {
	return l.head.stamp - time.Duration(l.id.priority)*ls.step
}

func (ls *lanes[K]) weight(tenant string) int {
	if w, ok := ls.weights[tenant]; ok {
		return w
	}
	return 1
}

// oldest is since when the key is ready that is the first of its lane for longest.
// There must be one.
func (ls *lanes[K]) oldest() time.Duration {
	since := ls.order.first().head.since
	for i := range ls.order.entries {
		since = min(since, ls.order.entries[i].of.head.since)
	}
	return since
}

// enter puts a lane at the end of the round.
func (r *round[K]) enter(l *lane[K]) {
	if r.head == nil {
		l.next, l.prev, r.head = l, l, l
		return
	}
	l.next, l.prev = r.head, r.head.prev
	l.next.prev, l.prev.next = l, l
}

// exit takes a lane out of the round. If it is its turn, the next has it.
func (r *round[K]) exit(l *lane[K]) {
	switch {
	case l.next == l:
		r.head = nil
	case r.head == l:
		r.head = l.next
	}
	l.next.prev, l.prev.next = l.prev, l.next
	l.next, l.prev = nil, nil
}
