package controller

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/workqueue"
)

// Phase says what a controller is doing.
type Phase string

// The phases of a controller, in their order.
const (
	Stopped  Phase = "stopped"  // does not run
	Syncing  Phase = "syncing"  // waits for the watched informers
	Standby  Phase = "standby"  // is ready, and waits until this process leads
	Running  Phase = "running"  // reconciles
	Stopping Phase = "stopping" // waits for the reconciles under way and ends its watches
)

// Status is the state of a controller at one moment.
type Status struct {
	Name string
	// Phase is what the controller is doing, and Since when.
	Phase Phase
	Since time.Time
	// WaitingFor names, while Phase is Syncing, the informers that have not
	// yet told all that is there.
	WaitingFor []string

	Counters

	// Workers is the number of keys that may be reconciled at the same time.
	Workers int
	// Reconciling are the keys that are being reconciled, the one that has been
	// running longest first. Keys that a [StopError] has named stay here until
	// their reconciles return.
	Reconciling []Reconciling
	// GivenUp are keys whose last reconcile ended with a permanent error, the
	// oldest first, at most 100 of them; GivenUpKeys is how many there are. A
	// key leaves them when a reconcile of it ends in another way, and all do
	// when a run begins.
	GivenUp     []Failure
	GivenUpKeys int

	// Queue is that of the queue of the present run, or of the next.
	Queue workqueue.Stats
}

// Reconciling is a key that is being reconciled, and since when.
type Reconciling struct {
	Key   types.NamespacedName
	Since time.Time
}

// Failure is an error that is not retried, and since when its key has failed with
// it.
type Failure struct {
	Key   types.NamespacedName
	Err   error
	Since time.Time
}

// maxFailures is the number of failures that a status lists.
const maxFailures = 100

// Counters tell what a controller has done, over all its runs.
type Counters struct {
	// Reconciles counts the reconciles that have ended, and Errors those among
	// them that failed in whatever way. Panics and Permanent count those among
	// the errors that were a panic, and that are not retried.
	Reconciles, Errors, Panics, Permanent uint64
	// MapPanics counts the panics of maps, predicates and tenant functions that a
	// watch has called.
	MapPanics uint64
	// Unseen counts receipts that were not met in time; see [Write].
	Unseen uint64
	// LastError is the error reported last, nil if there was none, with the
	// key and the time at which it happened.
	LastError     error
	LastErrorKey  types.NamespacedName
	LastErrorTime time.Time
}

// Status returns the state of the controller at this moment.
func (c *Controller) Status() Status {
	c.mu.Lock()
	s := Status{Name: c.name, Phase: c.phase, Since: c.since}
	s.WaitingFor = append(s.WaitingFor, c.waiting...)
	s.Workers = c.workers
	q, shift := c.queue, c.shift
	c.mu.Unlock()
	if shift != nil {
		s.Reconciling = shift.reconciling()
	}
	s.Counters, s.GivenUp, s.GivenUpKeys = c.counts.get()
	s.Queue = q.Stats()
	return s
}

// Why says where a key is in the queue and why it waits; false if the queue knows
// nothing of it.
func (c *Controller) Why(key types.NamespacedName) (workqueue.Reason, bool) {
	return c.present().Why(key)
}

// counts are the counters of a controller behind a lock.
type counts struct {
	mu sync.Mutex
	Counters
	givenUp map[types.NamespacedName]Failure
}

func (c *counts) get() (n Counters, givenUp []Failure, of int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	givenUp = slices.SortedFunc(maps.Values(c.givenUp), func(a, b Failure) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key.String(), b.Key.String()))
	})
	return c.Counters, slices.Clip(givenUp[:min(len(givenUp), maxFailures)]), len(givenUp)
}

// begin forgets what the last run has given up: the next one tries it again.
func (c *counts) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.givenUp = nil
}

// stopped counts a reconcile that the end of the run has cut short.
func (c *counts) stopped() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Reconciles++
}

// reconciled counts a reconcile that ended with err, and reports whether the key
// was given up for the same before.
func (c *counts) reconciled(key types.NamespacedName, err error) (known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Reconciles++
	known = c.giveUp(key, err)
	if err == nil {
		return false
	}
	c.Errors++
	switch {
	case isPanic(err):
		c.Panics++
	case isPermanent(err):
		c.Permanent++
	}
	c.last(key, err)
	return known
}

// giveUp notes whether a key is given up, and reports whether it was for the same.
func (c *counts) giveUp(key types.NamespacedName, err error) (known bool) {
	if !isPermanent(err) {
		delete(c.givenUp, key)
		return false
	}
	failure := Failure{Key: key, Err: err, Since: time.Now()}
	if last, ok := c.givenUp[key]; ok && last.Err.Error() == err.Error() {
		known, failure.Since = true, last.Since
	}
	if c.givenUp == nil {
		c.givenUp = make(map[types.NamespacedName]Failure)
	}
	c.givenUp[key] = failure
	return known
}

// unmapped counts a panic of a map, a predicate or a tenant function.
func (c *counts) unmapped(key types.NamespacedName, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.MapPanics++
	c.last(key, err)
}

// unseen counts a receipt that was not met.
func (c *counts) unseen(key types.NamespacedName, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Unseen++
	c.last(key, err)
}

func (c *counts) last(key types.NamespacedName, err error) {
	c.LastError, c.LastErrorKey, c.LastErrorTime = err, key, time.Now()
}
