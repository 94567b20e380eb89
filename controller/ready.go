package controller

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrNotReady is what the error of [Controller.Ready] wraps.
var ErrNotReady = errors.New("not ready")

// ErrStuck is what the error of [Controller.Healthy] wraps if a reconcile takes too long.
var ErrStuck = errors.New("reconciles that do not end")

// errPending is the end of a wait that was none.
var errPending = errors.New("not yet")

// Ready is nil while the controller reconciles, or stands by, ready to: its run has
// begun, and all informers that it watches have told what is there. Otherwise the error
// names what is missing and why. It asks no server and does not wait.
func (c *Controller) Ready() error {
	s := c.Status()
	if s.Phase == Stopped || s.Phase == Stopping {
		return fmt.Errorf("controller %s: %w: %s", c.name, ErrNotReady, s.Phase)
	}
	now, cancel := context.WithCancelCause(context.Background())
	cancel(errPending)
	var missing []error
	for _, w := range c.watching() {
		if err := w.Wait(now); err != nil {
			missing = append(missing, err)
		}
	}
	switch {
	case len(missing) > 0:
		return fmt.Errorf("controller %s: %w: %w", c.name, ErrNotReady, errors.Join(missing...))
	case s.Phase == Syncing:
		return fmt.Errorf("controller %s: %w: %s", c.name, ErrNotReady, s.Phase)
	}
	return nil
}

// watching are the watches of the present run.
func (c *Controller) watching() []watching {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shift == nil {
		return nil
	}
	return c.shift.watches[:len(c.shift.watches):len(c.shift.watches)]
}

// Healthy is nil unless reconciles have been running for longer than limit, as if they
// would not end: then the error names up to ten of them. A key that is stuck holds up
// no other as long as there are workers left; a restart of the process is the last
// resort. A limit that is not positive is an error.
func (c *Controller) Healthy(limit time.Duration) error {
	if limit <= 0 {
		return fmt.Errorf("controller %s: %w: a limit of %v", c.name, errInvalid, limit)
	}
	var stuck []Reconciling
	for _, r := range c.Status().Reconciling {
		if time.Since(r.Since) > limit {
			stuck = append(stuck, r)
		}
	}
	if len(stuck) == 0 {
		return nil
	}
	return fmt.Errorf("controller %s: %w in %v: %s", c.name, ErrStuck, limit, brief(stuck))
}
