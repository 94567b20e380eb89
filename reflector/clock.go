package reflector

import (
	"context"
	"errors"
	"fmt"

	"heliograph.example/internal/versionclock"
)

// What a VersionError wraps, beside the end of a context.
var (
	// ErrEpoch ends a wait for a version when the server went back in time: a
	// write that the wait was for may be undone, and versions count anew.
	ErrEpoch = versionclock.ErrEpoch
	// ErrIncomparable ends a wait for a version in a collection whose versions
	// have no order.
	ErrIncomparable = versionclock.ErrIncomparable
	// ErrRunEnded ends a wait for a version when the run of the reflector has
	// ended.
	ErrRunEnded = errors.New("reflector: the run has ended")
)

// VersionError says which version a wait was for, and what stood in the way.
type VersionError struct {
	// Version is what was waited for.
	Version string
	// Status is that of the reflector when the wait ended.
	Status Status
	// Err is what ended the wait: the cause of its context, ErrInvalid,
	// ErrEpoch, ErrIncomparable or ErrRunEnded.
	Err error
}

// Error names the collection, its state, the last error of its reader, since
// when, and how far it has come.
func (e *VersionError) Error() string {
	return fmt.Sprintf("%s; version %q not reached, but %q: %v", e.Status.Explain(), e.Version, e.Status.Version, e.Err)
}

// Unwrap returns what ended the wait and the last error, unless that was mended.
func (e *VersionError) Unwrap() []error {
	if e.Status.Tries > 0 && e.Status.LastError != nil {
		return []error{e.Err, e.Status.LastError}
	}
	return []error{e.Err}
}

// WaitForVersion waits until all changes up to version have been pushed to the
// sink: until an event, a bookmark or a complete state shows that version, or a
// later one. An object that could not be used counts as pushed (see Broken).
// Before the first run it waits for one. If ctx ends, if the run ends, or if the
// wait has lost its meaning, the error is a *VersionError.
//
// Versions are compared as numbers, which servers promise since Kubernetes 1.35
// and have kept since long before. A version that is not a positive decimal
// number is refused with ErrInvalid, and where the collection has other versions
// the wait fails with ErrIncomparable: no order is guessed.
//
// When the server goes back in time (a restored backup), every wait under way
// fails with ErrEpoch. Of a version from before, the reflector cannot tell
// afterwards that it is one: a wait that begins later lasts until the server
// gets as far again, or ctx ends.
func (r *Reflector[T]) WaitForVersion(ctx context.Context, version string) error {
	if ctx == nil {
		return r.notReached(version, fmt.Errorf("%w context: it is nil", ErrInvalid))
	}
	done := make(chan error, 1)
	if r.unversioned {
		done <- ErrIncomparable
	}
	waiter, err := r.clock.Await(version, func(err error) {
		select {
		case done <- err:
		default:
		}
	})
	if err != nil {
		return r.notReached(version, fmt.Errorf("%w version: %w", ErrInvalid, err))
	}
	defer r.clock.Forget(waiter)
	if r.hasEnded() {
		select {
		case done <- ErrRunEnded:
		default:
		}
	}
	select {
	case err = <-done:
	default:
		select {
		case err = <-done:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		return r.notReached(version, err)
	}
	return nil
}

// hasEnded reports whether a run was and none is.
func (r *Reflector[T]) hasEnded() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ran && r.status.State == Stopped
}

func (r *Reflector[T]) notReached(version string, cause error) error {
	return &VersionError{Version: version, Status: r.Status(), Err: cause}
}

// reached moves the clock to the version that was pushed last.
func (r *Reflector[T]) reached() { r.clock.Advance(r.version) }

// reachedState moves the clock to a complete state, which may be an older one.
func (r *Reflector[T]) reachedState(before string) {
	if order, ok := compareVersions(r.version, before); ok && order < 0 {
		r.clock.Restart(r.version)
		return
	}
	r.clock.Advance(r.version)
}
