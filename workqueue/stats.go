package workqueue

import (
	"fmt"
	"time"
)

// counts are the counters that only grow.
type counts struct {
	adds, merged, refused, done, failures, strays, dropped uint64
}

// Stats is what a queue holds and has done, at one moment.
type Stats struct {
	// Ready, Delayed and Running are the numbers of keys that wait for a
	// worker, that wait for their time, and that a worker holds. A running key
	// that was added with a delay counts as running and as delayed.
	Ready, Delayed, Running int
	// OldestReady is how long the first ready key has been ready, and
	// LongestRunning how long the key that runs longest has been running. Both
	// are 0 where there is no such key.
	OldestReady, LongestRunning time.Duration

	// Adds counts the keys that Add and AddAfter accepted; Merged those among
	// them for which the key was in the queue already; Refused those that came
	// after Drain or Close.
	Adds, Merged, Refused uint64
	// Done counts the keys given back; Failures those among them that came
	// with an error.
	Done, Failures uint64
	// Strays counts calls of Done for keys that were not running.
	Strays uint64
	// Dropped counts keys that left the queue without the run they were due:
	// by Close, or because they failed during a drain.
	Dropped uint64
}

// Stats returns what the queue holds and has done. It takes the same short time
// whatever the number of keys.
func (q *Queue[K]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := Stats{
		Ready:    q.ready.len,
		Delayed:  q.delays.len(),
		Running:  q.running.len,
		Adds:     q.counts.adds,
		Merged:   q.counts.merged,
		Refused:  q.counts.refused,
		Done:     q.counts.done,
		Failures: q.counts.failures,
		Strays:   q.counts.strays,
		Dropped:  q.counts.dropped,
	}
	now := q.now()
	if it := q.ready.head; it != nil {
		s.OldestReady = now - it.since
	}
	if it := q.running.head; it != nil {
		s.LongestRunning = now - it.since
	}
	return s
}

// Place says where in a queue a key is.
type Place string

// The places of a key.
const (
	Ready   Place = "ready"   // waits for a worker
	Delayed Place = "delayed" // waits for its time
	Running Place = "running" // a worker holds it
)

// Reason says where a key is and why it waits.
type Reason struct {
	// Place is where the key is, and Since when it came there.
	Place Place
	Since time.Time
	// Again says that a running key was added meanwhile and will be ready as
	// soon as it is Done.
	Again bool
	// Due is when a delayed key becomes ready. It is set for a running key that
	// was added with a delay too, and else zero.
	Due time.Time
	// Failures is the number of tries in a row that have failed, and Err what
	// the last of them failed with.
	Failures int
	Err      error
}

// String tells the reason in words.
func (r Reason) String() string {
	s := fmt.Sprintf("%s since %s", r.Place, r.Since.Format(time.RFC3339))
	if r.Again {
		s += ", then again"
	}
	if !r.Due.IsZero() {
		s += ", due " + r.Due.Format(time.RFC3339)
	}
	if r.Failures > 0 {
		s += fmt.Sprintf(", after %d failures in a row, the last: %v", r.Failures, r.Err)
	}
	return s
}

// Why returns where a key is and why it waits, and false if the queue knows
// nothing of it.
func (q *Queue[K]) Why(key K) (Reason, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.shelf.items[key]
	if it == nil {
		return Reason{}, false
	}
	r := Reason{
		Place:    Delayed,
		Since:    q.start.Add(it.since),
		Again:    it.again,
		Failures: int(it.failures),
		Err:      it.err,
	}
	switch {
	case it.running:
		r.Place = Running
	case it.ready:
		r.Place = Ready
	}
	if it.slot > 0 {
		r.Due = q.start.Add(q.delays.due(it))
	}
	return r, true
}
