package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"heliograph.example/workqueue"
)

// Reconciler brings the world one step nearer to what the object of a key asks
// for. It is called by several workers at once, but never for the same key. It
// should read the object from the store of an informer: what it finds there is
// at least as new as the change that it is called for. An object that is not
// there has been deleted.
//
// ctx ends when the controller stops. An error is reported and the key is tried
// again after its back-off; a panic counts as an error, and an error made by
// [Permanent] is not tried again. See [Options] for the pauses.
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
	// Backoff is the pause before a key that failed is tried again. The zero
	// value is the default of package workqueue.
	Backoff workqueue.Backoff
	// Rate is the number of reconciles that may start in each second, with
	// Burst at once after a quiet time; as in [workqueue.Options]. 0 means no
	// limit.
	Rate  rate.Limit
	Burst int
	// Tenant and Weights share the workers fairly among tenants, such as
	// namespaces, as in [workqueue.Options]. nil means no tenants.
	Tenant  func(key types.NamespacedName) string
	Weights map[string]int
	// OnError, if not nil, is told of each error of a reconcile and each panic,
	// in place of the log. It is called by the worker, before the key is given
	// back, or by the handler that met a panic in a map or a
	// predicate. Errors that
	// say no more than that the controller was stopped are not told.
	OnError func(ctx context.Context, key types.NamespacedName, err error)
}

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
	running []registration // of the present run
	queue   *queue         // of the present run, or the next
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
	}
	c := &Controller{name: name, reconcile: reconcile, options: opts, phase: Stopped, since: time.Now()}
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

// Run registers with the watched informers, waits until they have told all that
// is there, and then reconciles until ctx ends. The informers are not run by it.
//
// When ctx ends, Run waits for the reconciles under way, whose context has ended
// too, and drops what is queued. It returns when everything it started has ended,
// and then nil. The next run is told of every object of the watched informers
// again, so only keys that were added by hand can be lost. If ctx ends, or an
// informer stops, before the informers are synced, the error says what was
// missing and why.
//
// A controller can be run again after Run has returned. While it runs, another
// Run is ErrRunning.
func (c *Controller) Run(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("controller %s: %w: the context is nil", c.name, errInvalid)
	}
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, klog.FromContext(ctx).WithValues("controller", c.name)))
	defer cancel()
	q, err := c.begin()
	if err != nil {
		return fmt.Errorf("controller %s: %w", c.name, err)
	}
	err = c.sync(ctx, q)
	if err == nil {
		c.work(ctx, q)
	}
	if ended := c.end(ctx); err == nil {
		err = ended
	}
	if err != nil {
		return fmt.Errorf("controller %s: %w", c.name, err)
	}
	return nil
}

// begin enters the first phase of a run.
func (c *Controller) begin() (*queue, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != Stopped {
		return nil, ErrRunning
	}
	c.enter(Syncing)
	return c.queue, nil
}

// enter notes a phase. c.mu must be held.
func (c *Controller) enter(p Phase) { c.phase, c.since, c.waiting = p, time.Now(), nil }

// sync starts the watches and waits until all of them have told what is there.
func (c *Controller) sync(ctx context.Context, q *queue) error {
	pending, err := c.startAll(q)
	if err != nil {
		return err
	}
	for _, r := range pending {
		if err := r.Wait(ctx); err != nil {
			return err
		}
		c.mu.Lock()
		c.waiting = c.waiting[1:]
		c.mu.Unlock()
	}
	return nil
}

// startAll starts the watches.
func (c *Controller) startAll(q *queue) ([]registration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.watches {
		r, err := w.start(q)
		if err != nil {
			return nil, err
		}
		c.running = append(c.running, r)
		c.waiting = append(c.waiting, w.name)
	}
	return c.running[:len(c.running):len(c.running)], nil
}

// work runs the workers until ctx ends.
func (c *Controller) work(ctx context.Context, q *queue) {
	c.mu.Lock()
	c.enter(Running)
	c.mu.Unlock()
	klog.FromContext(ctx).V(2).Info("Controller runs", "workers", c.options.Workers)
	w := workers{Controller: c, queue: q}
	for range c.options.Workers {
		w.start(ctx)
	}
	w.Wait()
}

// end ends the watches and the queue of a run, and makes a queue for the next.
func (c *Controller) end(ctx context.Context) error {
	c.mu.Lock()
	c.enter(Stopping)
	old, running := c.queue, c.running
	c.running = nil
	c.mu.Unlock()

	old.Close()
	for _, r := range running {
		r.Remove()
	}
	for _, r := range running {
		<-r.Done()
	}
	klog.FromContext(ctx).V(2).Info("Controller stops", "dropped", old.Stats().Dropped)

	next, err := c.newQueue()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		c.queue = next
	}
	c.enter(Stopped)
	return err
}
