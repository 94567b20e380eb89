package workqueue

import (
	"fmt"
	"iter"
	"time"
)

// Place says where in a queue a key is.
type Place string

// The places of a key.
const (
	Ready   Place = "ready"   // waits for a worker
	Delayed Place = "delayed" // waits for its time
	Held    Place = "held"    // waits for a release
	Running Place = "running" // a worker holds it
)

// Reason says where a key is and why it waits.
type Reason struct {
	// Place is where the key is, and Since when it came there.
	Place Place
	Since time.Time
	// Priority is the priority of the present wait or run, and Tenant whose the
	// key is.
	Priority int
	Tenant   string
	// Again says that a key that is running or held was added, and will be
	// ready as soon as it is neither.
	Again bool
	// Due is when a delayed key becomes ready. It is set too for a key that is
	// delayed beside something else, and else zero.
	Due time.Time
	// Holds are the holds on the key, the youngest first.
	Holds []HoldReason
	// Failures is the number of tries in a row that have failed, up to 65535,
	// and Err what the last of them failed with.
	Failures int
	Err      error
}

// HoldReason is a hold on a key: for what, since when, and until when at most.
type HoldReason struct {
	Reason       string
	Since, Until time.Time
}

// String tells the reason in words.
func (r Reason) String() string {
	s := fmt.Sprintf("%s since %s", r.Place, r.Since.Format(time.RFC3339))
	if r.Priority != 0 {
		s += fmt.Sprintf(" with priority %d", r.Priority)
	}
	if r.Again {
		s += ", then again"
	}
	if !r.Due.IsZero() {
		s += ", due " + r.Due.Format(time.RFC3339)
	}
	for _, h := range r.Holds {
		s += fmt.Sprintf(", held for %q until %s", h.Reason, h.Until.Format(time.RFC3339))
	}
	if r.Failures > 0 {
		s += fmt.Sprintf(", after %d failures in a row, the last: %v", r.Failures, r.Err)
	}
	return s
}

// Why returns where a key is and why it waits, and false if the queue knows
// nothing of it.
func (q *Queue[K]) Why(key K) (Reason, bool) {
	if !q.isKey(key) {
		return Reason{}, false
	}
	hash := q.table.hash(key)
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.table.find(hash, key)
	if it == nil {
		return Reason{}, false
	}
	return q.reason(it), true
}

func (q *Queue[K]) reason(it *item[K]) Reason {
	r := Reason{
		Place:    Delayed,
		Since:    q.start.Add(it.since),
		Priority: int(it.priority),
		Tenant:   it.lane.id.tenant,
		Again:    it.want != nothing,
		Failures: int(it.failures),
		Err:      it.err,
	}
	switch {
	case it.place == running:
		r.Place = Running
	case it.place == ready:
		r.Place = Ready
	case it.holds != nil:
		r.Place = Held
	}
	if it.slot > 0 {
		r.Due = q.start.Add(q.delays.at(it))
	}
	for h := it.holds; h != nil; h = h.next {
		r.Holds = append(r.Holds, HoldReason{h.Reason, q.start.Add(h.since), q.start.Add(q.holds.at(h))})
	}
	return r
}

// All yields the keys of the queue with their reasons: first those that run, the
// one that runs longest first, and then the others in no order. The keys are
// those of the moment at which the loop begins, and each reason is that of the
// moment at which it is yielded; a key that has left the queue by then is left
// out. The loop may use the queue.
func (q *Queue[K]) All() iter.Seq2[K, Reason] {
	return func(yield func(K, Reason) bool) {
		for _, key := range q.keys() {
			if r, ok := q.Why(key); ok && !yield(key, r) {
				return
			}
		}
	}
}

func (q *Queue[K]) keys() []K {
	q.mu.Lock()
	defer q.mu.Unlock()
	keys := make([]K, 0, q.table.len)
	for it := q.running.head; it != nil; it = it.next {
		keys = append(keys, it.key)
	}
	q.table.all(func(it *item[K]) {
		if it.place != running {
			keys = append(keys, it.key)
		}
	})
	return keys
}
