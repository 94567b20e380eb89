package controller

import (
	"context"
	"errors"
	"fmt"
)

// Leadership lets one of several processes act, and the others stand by with warm
// caches. An election of package leader, in the folder below, has it; one can serve
// any number of controllers.
type Leadership interface {
	// Lead waits until this process leads, and returns its term. The error is
	// that of ctx if it ends first, or says why this process will not lead.
	Lead(ctx context.Context) (Term, error)
}

// Term is the time for which a process leads. Its methods are safe for concurrent
// use.
type Term interface {
	// Valid reports whether the process leads at this moment, by its own clock. It
	// is asked right before each reconcile, and never true again once it was false.
	Valid() bool
	// Lost is closed when the term has ended, and Err then says why.
	Lost() <-chan struct{}
	Err() error
	// Leave is called once, when the work under the term has ended; or, with
	// ended false, when some of it goes on that could not be stopped, so that
	// nobody may be told that the work is free to take.
	Leave(ended bool)
}

// ErrNotLeading is what the error of Run wraps when the process leads no longer, or
// will not.
var ErrNotLeading = errors.New("this process does not lead")

// lead waits, with all caches warm and the keys of a run in its queue, until the
// process leads. It reports whether it does: it does not if the run ends before.
func (c *Controller) lead(ctx context.Context, s *shift) (bool, error) {
	if c.options.Leadership == nil {
		return true, nil
	}
	term, err := c.options.Leadership.Lead(ctx)
	switch {
	case err == nil && isNil(term):
		return false, fmt.Errorf("%w: the leadership has given no term", ErrNotLeading)
	case err == nil:
		s.bind(term)
		return true, nil
	case ctx.Err() != nil:
		return false, s.failure()
	}
	return false, err
}

// bind binds the run to a term: when that is lost, the run ends.
func (s *shift) bind(term Term) {
	s.term = term
	s.guards.Go(func() {
		select {
		case <-s.ctx.Done():
		case <-term.Lost():
			s.fail(notLeading(term))
		}
	})
}

// mayStart reports whether a reconcile may start now. If not, the run ends: the clock
// may know before anybody else that the term is over, as in a process that was paused.
func (s *shift) mayStart() bool {
	if s.term == nil || s.term.Valid() {
		return true
	}
	s.fail(notLeading(s.term))
	return false
}

func notLeading(term Term) error {
	err := term.Err()
	if err == nil || errors.Is(err, ErrNotLeading) {
		return errors.Join(err, ErrNotLeading)
	}
	return fmt.Errorf("%w: %w", ErrNotLeading, err)
}
