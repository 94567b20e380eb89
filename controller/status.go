package controller

import (
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
	Running  Phase = "running"  // reconciles
	Stopping Phase = "stopping" // ends its watches, after the last reconcile
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

	// Queue is that of the queue of the present run, or of the next.
	Queue workqueue.Stats
}

// Counters tell what a controller has done, over all its runs.
type Counters struct {
	// Reconciles counts the reconciles that have ended, and Errors those among
	// them that failed in whatever way. Panics and Permanent count those among
	// the errors that were a panic, and that are not retried.
	Reconciles, Errors, Panics, Permanent uint64
	// MapPanics counts the panics of maps and predicates.
	MapPanics uint64
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
	q := c.queue
	c.mu.Unlock()
	s.Counters = c.counts.get()
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
}

func (c *counts) get() Counters {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Counters
}

// reconciled counts a reconcile that ended with err.
func (c *counts) reconciled(key types.NamespacedName, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Reconciles++
	if err == nil {
		return
	}
	c.Errors++
	switch {
	case isPanic(err):
		c.Panics++
	case isPermanent(err):
		c.Permanent++
	}
	c.last(key, err)
}

// unmapped counts a panic of a map or a predicate.
func (c *counts) unmapped(key types.NamespacedName, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.MapPanics++
	c.last(key, err)
}

func (c *counts) last(key types.NamespacedName, err error) {
	c.LastError, c.LastErrorKey, c.LastErrorTime = err, key, time.Now()
}
