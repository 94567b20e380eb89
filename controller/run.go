package controller

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"
)

// Run registers with the watched informers, waits until they have told all that
// is there, and then reconciles until ctx ends. The informers are not run by it.
//
// When ctx ends, Run waits for the reconciles under way, whose context has ended
// too, and drops what is queued. It returns when everything it started has ended,
// and then nil. If that takes longer than [Options].StopTimeout, it returns a
// [StopError] that names what has not. The next run is told of every object of the
// watched informers again, so only keys that were added by hand can be lost.
//
// If ctx ends, or an informer stops, before the informers are synced, the error says
// what was missing and why. If a watched informer stops later, its objects would get
// old unnoticed: unless ctx ends within a second, Run ends as if it had, and the error
// names the informer and wraps [informer.ErrStopped]. So give informers and controllers
// one context, or stop the controllers first.
//
// With [Options].Leadership, Run waits between the two until this process leads: the
// informers run on, and what changes is queued. When it leads no longer, Run ends as if
// ctx had, and returns an error that is [ErrNotLeading].
//
// A controller can be run again after Run has returned. While it runs, or something
// that a StopError has named does, another Run is ErrRunning.
func (c *Controller) Run(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("controller %s: %w: the context is nil", c.name, errInvalid)
	}
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, klog.FromContext(ctx).WithValues("controller", c.name)))
	defer cancel()
	s, err := c.begin(ctx, cancel)
	if err != nil {
		return fmt.Errorf("controller %s: %w", c.name, err)
	}
	if err = c.sync(ctx, s); err == nil {
		err = c.serve(ctx, s)
	}
	cancel()
	if ended := c.end(ctx, s); err == nil {
		err = ended
	} else if ended != nil {
		err = fmt.Errorf("%w; %w", err, ended)
	}
	if err != nil {
		return fmt.Errorf("controller %s: %w", c.name, err)
	}
	return nil
}

// begin enters the first phase of a run.
func (c *Controller) begin(ctx context.Context, cancel context.CancelFunc) (*shift, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != Stopped {
		return nil, ErrRunning
	}
	if c.shift != nil {
		if left := c.shift.left(); left != nil {
			return nil, fmt.Errorf("%w: %w", ErrRunning, left)
		}
	}
	c.counts.begin()
	c.shift = newShift(ctx, cancel, c)
	c.enter(Syncing)
	return c.shift, nil
}

// sync starts the watches and waits until all of them have told what is there.
func (c *Controller) sync(ctx context.Context, s *shift) error {
	pending, err := c.startAll(s)
	if err != nil {
		return err
	}
	for _, w := range pending {
		if err := w.Wait(ctx); err != nil {
			return err
		}
		c.mu.Lock()
		c.waiting = c.waiting[1:]
		c.mu.Unlock()
	}
	return nil
}

// serve waits until the process leads, where that is asked for, and lets the workers
// work until ctx ends.
func (c *Controller) serve(ctx context.Context, s *shift) error {
	c.mu.Lock()
	c.enter(Standby)
	for _, w := range s.watches {
		s.guard(w)
	}
	c.mu.Unlock()
	if leads, err := c.lead(ctx, s); !leads {
		return err
	}
	c.work(ctx, s)
	return s.failure()
}

// startAll starts the watches.
func (c *Controller) startAll(s *shift) ([]watching, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.watches {
		if err := s.watch(w); err != nil {
			return nil, err
		}
		c.waiting = append(c.waiting, w.name)
	}
	return s.watches[:len(s.watches):len(s.watches)], nil
}

// work runs the workers until ctx ends.
func (c *Controller) work(ctx context.Context, s *shift) {
	c.mu.Lock()
	c.enter(Running)
	s.resize(c.workers)
	klog.FromContext(ctx).V(2).Info("Controller runs", "workers", c.workers)
	c.mu.Unlock()
	<-ctx.Done()
}

// end ends all that belongs to a run, and makes a queue for the next.
func (c *Controller) end(ctx context.Context, s *shift) error {
	c.mu.Lock()
	c.enter(Stopping)
	c.mu.Unlock()
	err := s.end(c.options.StopTimeout)
	if s.term != nil {
		s.term.Leave(err == nil)
	}
	klog.FromContext(ctx).V(2).Info("Controller stops", "dropped", s.queue.Stats().Dropped)

	next, failed := c.newQueue()
	c.mu.Lock()
	defer c.mu.Unlock()
	if failed == nil {
		c.queue = next
	} else if err == nil {
		err = failed
	}
	c.enter(Stopped)
	return err
}
