package informer

import (
	"context"
	"fmt"

	"heliograph.example/internal/versionclock"
	"heliograph.example/reflector"
)

// What a [VersionError] wraps, beside the end of a context.
var (
	// ErrEpoch marks a wait for a version that lost its meaning, because the
	// server went back in time.
	ErrEpoch = reflector.ErrEpoch
	// ErrIncomparable marks a wait for a version in a collection whose
	// versions have no order, as those of client-go's fakes.
	ErrIncomparable = reflector.ErrIncomparable
)

// VersionError says which version a wait was for, and what stood in the way.
type VersionError struct {
	// Waiting is what has not come so far: "store", or "handler" and its name.
	Waiting string
	// Version is what was waited for.
	Version string
	// Status is that of the informer when the wait ended.
	Status Status
	// Err is what ended the wait: the cause of its context, [ErrInvalid],
	// [ErrStopped], [ErrRemoved], [ErrEpoch] or [ErrIncomparable].
	Err error
}

// Error names the collection, its state, the last error of its reader and since
// when, and how far the store has come.
func (e *VersionError) Error() string {
	return fmt.Sprintf("%s; the store is at version %q; %s not at version %q: %v",
		e.Status.Reader.Explain(), e.Status.Version, e.Waiting, e.Version, e.Err)
}

// Unwrap returns what ended the wait and the last error of the reader, unless
// that was mended.
func (e *VersionError) Unwrap() []error {
	if e.Status.Reader.Tries > 0 && e.Status.Reader.LastError != nil {
		return []error{e.Err, e.Status.Reader.LastError}
	}
	return []error{e.Err}
}

// WaitForVersion waits until the store has every change up to version, which is
// the resourceVersion that a write or a list of the same resource has returned.
// An event, a bookmark or a list that shows the version or a later one ends the
// wait. An object that cannot be used does not hold it up (see Broken). Before Run
// has been called, WaitForVersion waits for it.
//
// If ctx ends or the informer stops before that, the error is a *[VersionError].
// So it is, at once, if version is not a positive decimal number (ErrInvalid), if
// the collection has versions without an order (ErrIncomparable), and for all
// waits under way if the server goes back in time (ErrEpoch); see
// [reflector.Reflector.WaitForVersion] for the rules.
func (i *Informer[T]) WaitForVersion(ctx context.Context, version string) error {
	if err := i.awaitVersion(ctx, version, nil); err != nil {
		return i.notReached("store", version, err)
	}
	return nil
}

// OnVersion calls f once, when the store has every change up to version, or with
// an error when the wait has lost its meaning (ErrEpoch, ErrIncomparable): at
// once, before it returns, if either is so already. It is WaitForVersion for those
// who have many versions to wait for and no goroutine for each. f is called by the
// controller loop, after the change is in the store, and must not block. A stop of
// the informer does not call it: the next run may reach the version.
//
// stop ends the wait, and reports whether f has not been called and will not be.
// A nil f, or a version that is not a positive decimal number, is an error.
func (i *Informer[T]) OnVersion(version string, f func(error)) (stop func() bool, err error) {
	if f == nil {
		return nil, i.notReached("store", version, fmt.Errorf("%w: the function is nil", ErrInvalid))
	}
	if i.unversioned {
		f(ErrIncomparable)
		return func() bool { return false }, nil
	}
	waiter, err := i.clock.Await(version, f)
	if err != nil {
		return nil, i.notReached("store", version, fmt.Errorf("%w: %w", ErrInvalid, err))
	}
	return func() bool { return i.clock.Forget(waiter) }, nil
}

// awaitVersion waits until the store has come to version, and returns what ended
// the wait before that.
func (i *Informer[T]) awaitVersion(ctx context.Context, version string, removed <-chan struct{}) error {
	var outcome error
	done := make(chan struct{})
	tell := func(err error) { outcome = err; close(done) }
	if i.unversioned {
		return ErrIncomparable
	}
	waiter, err := i.clock.Await(version, tell)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	defer i.clock.Forget(waiter)
	if err := i.awaitEnd(ctx, done, removed); err != nil {
		return err
	}
	return outcome
}

func (i *Informer[T]) notReached(what, version string, cause error) error {
	return &VersionError{Waiting: what, Version: version, Status: i.Status(), Err: cause}
}

// handled waits until the store has come to version and the listener has told
// its handler of everything up to there.
func (i *Informer[T]) handled(ctx context.Context, l *processorListener[T], version string) error {
	err := i.awaitVersion(ctx, version, l.removed)
	if err == nil {
		// The changes of a version are given to the listeners before the clock
		// moves there, so what the handler has to be told is pending by now.
		told, forget := l.mark()
		defer forget()
		err = i.awaitEnd(ctx, told, l.removed)
	}
	if err != nil {
		return i.notReached("handler "+l.opts.Name, version, err)
	}
	return nil
}

// reached moves the clock to the version that the store has come to.
func (i *Informer[T]) reached(version string, back bool) {
	if back {
		i.clock.Restart(version)
		return
	}
	i.clock.Advance(version)
}

// clock is how far the store has come.
type clock = versionclock.Clock
