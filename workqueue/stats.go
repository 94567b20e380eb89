package workqueue

import "time"

// counts are what a queue has done: what only grows.
type counts struct {
	adds, merged, refused, done, failures, retries, givenUp uint64
	strays, dropped, expired                                uint64
	waits, runs                                             Histogram
}

// Stats is what a queue holds and has done, at one moment. Its numbers of keys are
// read from the queue and not counted beside it, so they are never off.
type Stats struct {
	// Name is that of the options.
	Name string
	// Ready, Delayed, Held and Running are the numbers of keys that wait for a
	// worker, that wait for their time, that are held, and that a worker holds.
	// A key that is delayed and something else too counts in both; one that is
	// running and held counts as running.
	Ready, Delayed, Held, Running int
	// OldestReady is how long the first ready key of its priority and tenant
	// has been ready, and LongestRunning how long the key that runs longest has
	// been running. Both are 0 where there is no such key. [Queue.All] tells
	// which keys they are.
	OldestReady, LongestRunning time.Duration

	// Adds counts the keys that were accepted; Merged those among them for
	// which the key was in the queue already; Refused those that came after
	// Drain or Close.
	Adds, Merged, Refused uint64
	// Done counts the keys given back; Failures those among them that came
	// with an error; Retries those among the failures that are tried again
	// because of it; GivenUp the results that said Drop.
	Done, Failures, Retries, GivenUp uint64
	// Strays counts calls of Done for keys that were not running.
	Strays uint64
	// Dropped counts keys that left the queue without the run they were due:
	// by Close, by a drain that was to drop delayed keys, or because they
	// failed during a drain.
	Dropped uint64
	// HoldsExpired counts the holds that ended by their limit.
	HoldsExpired uint64
	// Waits are the times from becoming ready to being handed out, and Runs
	// those from there to Done.
	Waits, Runs Histogram
}

// Stats returns what the queue holds and has done. It takes a short time whatever
// the number of keys; with tenants, it takes longer the more of them have ready
// keys.
func (q *Queue[K]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := Stats{
		Name:         q.name,
		Ready:        q.ready.len,
		Delayed:      q.delays.len(),
		Held:         q.held.len,
		Running:      q.running.len,
		Adds:         q.counts.adds,
		Merged:       q.counts.merged,
		Refused:      q.counts.refused,
		Done:         q.counts.done,
		Failures:     q.counts.failures,
		Retries:      q.counts.retries,
		GivenUp:      q.counts.givenUp,
		Strays:       q.counts.strays,
		Dropped:      q.counts.dropped,
		HoldsExpired: q.counts.expired,
		Waits:        q.counts.waits,
		Runs:         q.counts.runs,
	}
	now := q.now()
	if q.ready.len > 0 {
		s.OldestReady = now - q.ready.oldest()
	}
	if it := q.running.head; it != nil {
		s.LongestRunning = now - it.since
	}
	return s
}
