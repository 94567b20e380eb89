package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/informer"
)

// shift is what belongs to one run: its queue, its watches and its workers.
type shift struct {
	*Controller
	ctx    context.Context // of the run
	cancel context.CancelFunc
	queue  *queue
	guards sync.WaitGroup
	own    own  // what the reconciles have written over what they had read
	term   Term // under which the workers work; nil if none is needed

	// watches and absences, by informer, are guarded by the lock of the
	// controller, and do not change any more once it stops.
	watches  []watching
	absences map[any]any

	mu    sync.Mutex
	err   error                              // what ended the run, if not its context
	over  bool                               // no worker starts any more
	quits []context.CancelFunc               // of the workers that are wanted
	count int                                // of the workers that have not ended
	idle  chan struct{}                      // closed when that is 0 and the run is over
	busy  map[types.NamespacedName]time.Time // keys that are being reconciled
	waits map[*wait]bool                     // receipts that keys are held for
}

// watching is a watch that has been started.
type watching struct {
	registration
	name string
}

func newShift(ctx context.Context, cancel context.CancelFunc, c *Controller) *shift {
	return &shift{
		Controller: c,
		ctx:        ctx,
		cancel:     cancel,
		queue:      c.queue,
		idle:       make(chan struct{}),
		absences:   make(map[any]any),
		waits:      make(map[*wait]bool),
		busy:       make(map[types.NamespacedName]time.Time),
	}
}

// watch starts a watch. The lock of the controller must be held.
func (s *shift) watch(w *watch) error {
	r, err := w.start(s)
	if err != nil {
		return err
	}
	s.watches = append(s.watches, watching{r, w.name})
	return nil
}

// stopGrace is how long after the stop of a watched informer the run may end by
// itself. Contexts that end together do not end at one instant: an informer can
// have stopped before the context of the controller knows.
const stopGrace = time.Second

// guard ends the run when the informer of a watch stops. The lock of the controller
// must be held, so that no guard begins after the run has ended.
func (s *shift) guard(w watching) {
	s.guards.Go(func() {
		err := w.Stopped(s.ctx)
		if !errors.Is(err, informer.ErrStopped) {
			return
		}
		grace := time.NewTimer(stopGrace)
		defer grace.Stop()
		select {
		case <-s.ctx.Done():
		case <-grace.C:
			s.fail(fmt.Errorf("%s: %w", w.name, err))
		}
	})
}

// fail ends the run, unless it ends already.
func (s *shift) fail(err error) {
	s.mu.Lock()
	if s.ctx.Err() == nil {
		s.err = cmp.Or(s.err, err)
	}
	s.mu.Unlock()
	s.cancel()
}

// failure is what ended the run, nil if its context did.
func (s *shift) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// resize starts workers, or lets the youngest quit, until n are wanted.
func (s *shift) resize(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return
	}
	for len(s.quits) < n {
		hiring, quit := context.WithCancel(s.ctx)
		s.quits = append(s.quits, quit)
		s.start(hiring)
	}
	for _, quit := range s.quits[n:] {
		quit()
	}
	s.quits = slices.Delete(s.quits, n, len(s.quits))
}

// start starts a worker that takes keys until hiring ends. If a function of the user
// ends its goroutine, another one takes its place. s.mu must be held.
func (s *shift) start(hiring context.Context) {
	s.count++
	go func() {
		returned := false
		defer func() { s.leave(hiring, returned) }()
		s.work(hiring)
		returned = true
	}()
}

// leave ends a worker, which has returned or was made to exit.
func (s *shift) leave(hiring context.Context, returned bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !returned {
		s.start(hiring)
	}
	s.count--
	s.endIfIdle()
}

func (s *shift) endIfIdle() {
	if s.over && s.count == 0 {
		close(s.idle)
	}
}

// end ends workers and watches, whose context has ended, and waits for them; if
// timeout is not 0, for so long at most.
func (s *shift) end(timeout time.Duration) error {
	s.queue.Close()
	defer s.forgetWaits()
	s.mu.Lock()
	s.over = true
	for _, quit := range s.quits {
		quit()
	}
	s.endIfIdle()
	s.mu.Unlock()
	s.guards.Wait()
	for _, w := range s.watches {
		w.Remove()
	}
	var late <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		late = timer.C
	}
	ends := []<-chan struct{}{s.idle}
	for _, w := range s.watches {
		ends = append(ends, w.Done())
	}
	for _, ended := range ends {
		select {
		case <-ended:
		case <-late:
			return s.left()
		}
	}
	return nil
}

// left says what has not ended yet, nil if all has.
func (s *shift) left() error {
	e := &StopError{Timeout: s.options.StopTimeout}
	for _, w := range s.watches {
		if !isClosed(w.Done()) {
			e.Watches = append(e.Watches, w.name)
		}
	}
	if !isClosed(s.idle) {
		e.Reconciling = s.reconciling()
	}
	if len(e.Watches) == 0 && len(e.Reconciling) == 0 {
		return nil
	}
	return e
}

// reconciling are the keys that are being reconciled, the longest running first.
func (s *shift) reconciling() []Reconciling {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []Reconciling
	for key, since := range s.busy {
		keys = append(keys, Reconciling{key, since})
	}
	slices.SortFunc(keys, func(a, b Reconciling) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key.String(), b.Key.String()))
	})
	return keys
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
