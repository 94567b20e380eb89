package leader

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"heliograph.example/controller"
)

// ErrRunning is returned by Run while another Run of the same election has not ended.
var ErrRunning = errors.New("already running")

// ErrEnded is what the error of Lead wraps after Run has returned.
var ErrEnded = errors.New("the election has ended")

// Election takes part in the election of one of several processes, by a Lease. It is
// a [controller.Leadership] for any number of controllers of the process. Make one with
// [New]; all methods are safe for concurrent use.
type Election struct {
	options Options
	// hook is called by the timer of a tenure. Tests stop a process with it.
	hook func()

	mu    sync.Mutex
	phase Phase
	since time.Time
	// holder is who has the lease, as was seen last, and failed what went wrong with
	// the last request.
	holder  string
	failed  error
	ended   error   // why the last run has ended; nil before and while it runs
	tenure  *tenure // the present one of this process, or the one that ends the run
	changed chan struct{}
}

var _ controller.Leadership = (*Election)(nil)

// New makes an election. Options that cannot be used are errors.
func New(opts Options) (*Election, error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	return &Election{options: opts, hook: func() {}, phase: Stopped, since: time.Now(), changed: make(chan struct{})}, nil
}

// Identity is what stands for this process in the Lease.
func (e *Election) Identity() string { return e.options.Identity }

// Run takes part until ctx ends or the process leads no longer.
//
// When ctx ends, Run lets nobody begin, waits until all controllers that have a term
// have left it, renews the lease meanwhile, and then releases it, so that another
// process takes over at once. Controllers whose own context has not ended after a second
// are told that their term is over. If one of them has left work behind that it could
// not stop, the lease is not released: it has to run out. Then Run returns nil.
//
// If the lease is lost, Run returns an error that is [controller.ErrNotLeading]. Most
// programs then exit; Run may also be called again.
func (e *Election) Run(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("leader election: %w: the context is nil", errInvalid)
	}
	if err := e.begin(); err != nil {
		return err
	}
	logger := klog.FromContext(ctx).WithValues("lease", e.name(), "identity", e.options.Identity)
	logger.V(2).Info("Takes part in the election")
	err := e.run(ctx)
	if err != nil {
		logger.Error(err, "Leads no longer")
	}
	e.end(err)
	return err
}

func (e *Election) begin() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.phase != Stopped {
		return fmt.Errorf("leader election: lease %s: %w", e.name(), ErrRunning)
	}
	e.tenure, e.ended, e.failed, e.holder = nil, nil, nil, ""
	e.enter(Candidate)
	return nil
}

func (e *Election) end(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.ended = ErrEnded
	if err != nil {
		e.ended = fmt.Errorf("%w: %w", ErrEnded, err)
	}
	e.enter(Stopped)
}

// run runs the elector, whose context does not end with ctx: it goes on renewing while
// the controllers stop.
func (e *Election) run(ctx context.Context) error {
	began := make(chan struct{})
	elector, err := e.elector(began)
	if err != nil {
		return fmt.Errorf("leader election: lease %s: %w", e.name(), err)
	}
	electing, cancel := context.WithCancel(klog.NewContext(context.WithoutCancel(ctx), klog.Logger{}))
	defer cancel()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		elector.Run(electing)
	}()
	e.attend(ctx, gone)
	cancel()
	<-gone
	e.mu.Lock()
	t := e.tenure
	e.mu.Unlock()
	if t == nil {
		return nil
	}
	<-began // the elector calls it in a goroutine that nobody waits for
	e.mu.Lock()
	defer e.mu.Unlock()
	if ctx.Err() == nil || !isClosed(t.left) {
		t.lose(errNotRenewed) // the elector has noticed it first
	}
	if t.lost != nil {
		return fmt.Errorf("leader election: %w: %w", controller.ErrNotLeading, t.lost)
	}
	t.timer.Stop()
	return nil
}

// elector makes client-go's, which closes began some time after the process leads.
func (e *Election) elector(began chan struct{}) (*leaderelection.LeaderElector, error) {
	lease := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: e.options.Namespace, Name: e.options.Name},
		Client:     e.options.Leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: e.options.Identity, EventRecorder: e.options.Events},
	}
	return leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock{lease, e},
		LeaseDuration:   e.options.LeaseDuration,
		RenewDeadline:   e.options.RenewDeadline,
		RetryPeriod:     e.options.RetryPeriod,
		ReleaseOnCancel: true, // which the lock forbids where it would do harm
		Name:            e.name(),
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(began) },
			OnStoppedLeading: func() {},
		},
	})
}

// attend waits until the elector may end: the lease is lost, or ctx has ended and nobody
// acts for this process any more. Until then the lease is renewed.
func (e *Election) attend(ctx context.Context, gone <-chan struct{}) {
	t := e.await(ctx, gone)
	if t == nil && e.withdraw() {
		return
	}
	if t == nil {
		t = e.await(ctx, gone) // it has just won
	}
	holds := func(until <-chan struct{}, timeout <-chan time.Time) bool {
		select {
		case <-until:
		case <-timeout:
		case <-t.expired:
			return false
		case <-gone:
			return false
		}
		return true
	}
	if !holds(ctx.Done(), nil) {
		return
	}
	e.mu.Lock()
	t.close()
	e.enter(Stopping)
	e.mu.Unlock()
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	if !holds(t.left, grace.C) {
		return
	}
	e.mu.Lock()
	t.finish(ErrEnded)
	e.mu.Unlock()
	holds(t.left, nil)
}

// withdraw ends a candidacy, unless it has just succeeded. If the lease is won even so, by
// a request that is under way, nobody begins under it, and it is released.
func (e *Election) withdraw() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tenure != nil {
		return false
	}
	e.enter(Stopping)
	return true
}

// stopGrace is how long controllers may take to notice that their own context has
// ended too.
const stopGrace = time.Second

// await waits until this process leads; nil if that will not be.
func (e *Election) await(ctx context.Context, gone <-chan struct{}) *tenure {
	for {
		e.mu.Lock()
		t, changed := e.tenure, e.changed
		e.mu.Unlock()
		if t != nil {
			return t
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		case <-gone:
			return nil
		}
	}
}

// Lead waits until this process leads, and returns its term. Before Run it waits for it;
// when Run has ended, the error is [ErrEnded] and says why.
func (e *Election) Lead(ctx context.Context) (controller.Term, error) {
	if ctx == nil {
		return nil, fmt.Errorf("leader election: %w: the context is nil", errInvalid)
	}
	for {
		e.mu.Lock()
		if e.tenure != nil {
			if t, ok := e.tenure.admit(); ok {
				e.mu.Unlock()
				return t, nil
			}
		}
		ended, changed := e.ended, e.changed
		e.mu.Unlock()
		if ended != nil {
			return nil, fmt.Errorf("leader election: lease %s: %w: %w", e.name(), controller.ErrNotLeading, ended)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (e *Election) name() string { return e.options.Namespace + "/" + e.options.Name }

// enter notes a phase and wakes those who wait for one. The lock must be held.
func (e *Election) enter(p Phase) {
	e.phase, e.since = p, time.Now()
	close(e.changed)
	e.changed = make(chan struct{})
}

// note remembers how the last request has ended. That there is no lease yet, or that
// somebody else was quicker, is no failure. The lock must be held.
func (e *Election) note(err error) {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		err = nil
	}
	e.failed = err
}
