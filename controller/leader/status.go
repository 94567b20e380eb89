package leader

import (
	"fmt"
	"time"
)

// Phase says what an election is doing.
type Phase string

// The phases of an election, in their order.
const (
	Stopped   Phase = "stopped"   // does not run
	Candidate Phase = "candidate" // waits for the lease
	Leading   Phase = "leading"   // has it
	Stopping  Phase = "stopping"  // has it until the controllers have ended
)

// Status is the state of an election at one moment.
type Status struct {
	// Lease is the namespace and name of the Lease, and Identity that of this
	// process.
	Lease, Identity string
	// Phase is what the election is doing, and Since when.
	Phase Phase
	Since time.Time
	// Holder is who had the lease when this process saw it last; empty if nobody
	// had it, or if it was not seen yet.
	Holder string
	// Renewed is when this process has renewed its lease last, in the present run or
	// the last; zero if it had none.
	Renewed time.Time
	// LastError is what went wrong with the last request, nil if nothing did.
	LastError error
	// Ended says why the last run has ended, nil before and while one runs.
	Ended error
}

// Status returns the state of the election.
func (e *Election) Status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := Status{Lease: e.name(), Identity: e.options.Identity, Phase: e.phase, Since: e.since,
		Holder: e.holder, LastError: e.failed, Ended: e.ended}
	if e.tenure != nil {
		s.Renewed = e.tenure.renewed
	}
	return s
}

// Leads reports whether this process leads at this moment, by its own clock.
func (e *Election) Leads() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tenure == nil || e.phase == Stopped {
		return false
	}
	e.tenure.check(time.Now())
	return e.tenure.err == nil
}

// Healthy is nil while the election does what it should: it leads, or waits for the lease
// and reads it. A process that is not healthy in this sense should be restarted only if
// that lasts: an API server that is away mends itself.
func (e *Election) Healthy() error {
	s := e.Status()
	switch {
	case s.Phase == Stopped && s.Ended != nil:
		return fmt.Errorf("leader election: lease %s: %w", s.Lease, s.Ended)
	case s.Phase == Stopped:
		return fmt.Errorf("leader election: lease %s: does not run", s.Lease)
	case s.Phase == Candidate && s.LastError != nil:
		return fmt.Errorf("leader election: lease %s: %w", s.Lease, s.LastError)
	}
	return nil
}
