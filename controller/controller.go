package controller

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/workqueue"
)

// Reconciler brings the world one step nearer to what the object of a key asks
// for. It is called by several workers at once, but never for the same key. It
// should read the object from the store of an informer: what it finds there is
// at least as new as the change that it is called for. An object that is not
// there has been deleted.
//
// ctx ends when the controller stops, and after [Options].Timeout. An error is
// reported and the key is tried again after its back-off; a panic counts as an
// error. An error made by [RetryAfter] is tried again after its time, and one made
// by [Permanent] is not. See [Options] for the pauses.
type Reconciler func(ctx context.Context, key types.NamespacedName) (Result, error)

// Result is what a [Reconciler] wishes for its key.
type Result struct {
	// RequeueAfter asks for another call after this time, unless something adds
	// the key earlier. Together with an error, it is the pause before the
	// retry, in place of the back-off; with a permanent error it is ignored. 0
	// asks for nothing; a negative duration, as of a deadline that has gone
	// by, means at once.
	RequeueAfter time.Duration
}

// Options say how a controller works. Workers must be set.
type Options struct {
	// Workers is the number of keys that are reconciled at the same time. Less
	// than 1 is an error.
	Workers int
	// Timeout is how long a reconcile may take: then its context ends, with a
	// cause that is [ErrTimeout]. 0 means as long as it likes; a negative
	// duration is an error. A reconciler that does not heed its context keeps
	// its worker, and [Status].Reconciling shows it.
	Timeout time.Duration
	// StopTimeout is how long Run waits, once its context has ended, for the
	// reconciles under way; it then returns a [StopError]. 0 means as long as
	// they take; a negative duration is an error.
	StopTimeout time.Duration
	// ReceiptTimeout is how long a key is held at most for what its reconcile
	// has written; see [Write]. 0 means DefaultReceiptTimeout; a negative
	// duration is an error.
	ReceiptTimeout time.Duration
	// Backoff is the pause before a key that failed is tried again. The zero
	// value is the default of package workqueue.
	Backoff workqueue.Backoff
	// Rate is the number of reconciles that may start in each second, with
	// Burst at once after a quiet time; as in [workqueue.Options]. 0 means no
	// limit.
	Rate  rate.Limit
	Burst int
	// Tenant and Weights share the workers fairly among tenants, as in
	// [workqueue.Options]; [ByNamespace] makes each namespace one. nil means no
	// tenants.
	Tenant  func(key types.NamespacedName) string
	Weights map[string]int
	// Leadership, if not nil, lets the workers start only once this process leads,
	// and ends Run when it does no longer. The informers of all processes run.
	Leadership Leadership
	// OnError, if not nil, is told of each error of a reconcile and each panic,
	// in place of the log, and of each receipt that was not met. It is called by
	// the worker, before the key is given back, by the handler that met a panic
	// in a map or a predicate, or by the timer of the queue. Errors that say no
	// more than that the controller was stopped are not told.
	OnError func(ctx context.Context, key types.NamespacedName, err error)
}

// ByNamespace makes each namespace a tenant; see [Options].Tenant.
func ByNamespace(key types.NamespacedName) string { return key.Namespace }

// queue is the queue of one run.
type queue = workqueue.Queue[types.NamespacedName]

// Controller calls a [Reconciler] for each key that is added to it, by hand or by
// the informers that it watches. All methods are safe for concurrent use. Make
// one with [New].
type Controller struct {
	name      string
	reconcile Reconciler
	options   Options
	counts    counts

	// mu guards what follows. It may be held while an informer takes a
	// handler; it is not held while one is called.
	mu      sync.Mutex
	phase   Phase
	since   time.Time
	waiting []string // watches that are not synced, while Syncing
	watches []*watch
	workers int    // that are wanted
	shift   *shift // the present run, or the last
	queue   *queue // of the present run, or the next
}

// New makes a controller. The name stands for it in errors, logs and status. An
// empty name, a nil reconciler and bad options are errors.
func New(name string, reconcile Reconciler, opts Options) (*Controller, error) {
	switch {
	case name == "":
		return nil, fmt.Errorf("controller: %w: the name is empty", errInvalid)
	case reconcile == nil:
		return nil, fmt.Errorf("controller %s: %w: the reconciler is nil", name, errInvalid)
	case opts.Workers < 1:
		return nil, fmt.Errorf("controller %s: %w: %d workers", name, errInvalid, opts.Workers)
	case opts.Leadership != nil && isNil(opts.Leadership):
		return nil, fmt.Errorf("controller %s: %w: the leadership is a nil pointer", name, errInvalid)
	case opts.Timeout < 0 || opts.StopTimeout < 0 || opts.ReceiptTimeout < 0:
		return nil, fmt.Errorf("controller %s: %w: a timeout of %v", name, errInvalid, min(opts.Timeout, opts.StopTimeout, opts.ReceiptTimeout))
	}
	opts.ReceiptTimeout = cmp.Or(opts.ReceiptTimeout, DefaultReceiptTimeout)
	c := &Controller{name: name, reconcile: reconcile, options: opts, workers: opts.Workers, phase: Stopped, since: time.Now()}
	var err error
	if c.queue, err = c.newQueue(); err != nil {
		return nil, fmt.Errorf("controller %s: %w", name, err)
	}
	return c, nil
}

func (c *Controller) newQueue() (*queue, error) {
	return workqueue.New(workqueue.Options[types.NamespacedName]{
		Name:    c.name,
		Backoff: c.options.Backoff,
		Rate:    c.options.Rate,
		Burst:   c.options.Burst,
		Tenant:  c.options.Tenant,
		Weights: c.options.Weights,
	})
}

// Name is the name that the controller was given.
func (c *Controller) Name() string { return c.name }

// Add asks for a reconcile of key. Before Run, the key waits for it. While a run
// ends, the error is [workqueue.ErrClosed].
func (c *Controller) Add(key types.NamespacedName) error {
	return c.added(c.present().Add(key))
}

// AddAfter asks for a reconcile of key after d, as [workqueue.Queue.AddAfter]
// does; the earliest time asked for wins.
func (c *Controller) AddAfter(key types.NamespacedName, d time.Duration) error {
	return c.added(c.present().AddAfter(key, d))
}

func (c *Controller) present() *queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queue
}

func (c *Controller) added(err error) error {
	if err != nil {
		return fmt.Errorf("controller %s: %w", c.name, err)
	}
	return nil
}

// SetWorkers changes the number of keys that are reconciled at the same time, from
// now on, whether the controller runs or not. Surplus workers end what they are at
// first. Less than 1 is an error.
func (c *Controller) SetWorkers(n int) error {
	if n < 1 {
		return fmt.Errorf("controller %s: %w: %d workers", c.name, errInvalid, n)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.workers = n
	if c.phase == Running {
		c.shift.resize(n)
	}
	return nil
}

// enter notes a phase. c.mu must be held.
func (c *Controller) enter(p Phase) { c.phase, c.since, c.waiting = p, time.Now(), nil }
