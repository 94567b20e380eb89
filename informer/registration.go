package informer

import (
	"context"
	"sync"
)

// Registration is a handler's place at an informer. All methods are safe for
// concurrent use, also from inside the handler.
type Registration struct {
	name   string
	status func() HandlerStatus
	remove func()
	// wait explains, for a wait that ended without success, why.
	wait func(ctx context.Context, synced <-chan struct{}, what string) error
	// waitForVersion waits for the store and then for the handler.
	waitForVersion func(ctx context.Context, version string) error
	// stopped waits for the end of a run.
	stopped func(ctx context.Context) error

	syncOnce sync.Once
	synced   chan struct{}
	done     chan struct{}
}

// Name is the name that the handler was given, or the one made for it.
func (r *Registration) Name() string { return r.name }

// Synced is closed when the handler has returned from the last of the objects
// that were there when it started to listen.
func (r *Registration) Synced() <-chan struct{} { return r.synced }

// Wait waits until Synced is closed. If ctx ends, the informer stops or the
// handler is removed before that, the error says what was missing and why.
func (r *Registration) Wait(ctx context.Context) error {
	return r.wait(ctx, r.synced, "handler "+r.name)
}

// WaitForVersion waits until the handler has returned from every change up to
// version that it is told of: what was folded away or does not match its filter
// counts as told. The store has come there before. See [Informer.WaitForVersion]
// for the rules; the removal of the handler ends the wait with ErrRemoved.
func (r *Registration) WaitForVersion(ctx context.Context, version string) error {
	return r.waitForVersion(ctx, version)
}

// Stopped waits until the informer stops, and returns an ErrStopped that says why;
// at once if it has stopped already, also if ctx has ended too. Before Run has been called, it waits for that
// too. If ctx ends or the handler is removed first, the error is the cause of ctx or
// ErrRemoved.
func (r *Registration) Stopped(ctx context.Context) error { return r.stopped(ctx) }

// Remove ends the registration. Changes that wait are dropped, the context of a
// running call ends, and after that call the handler is not called again. Remove
// does not wait; Done tells when the last call has returned. Removing twice does
// nothing.
func (r *Registration) Remove() { r.remove() }

// Done is closed when the registration has been removed and the handler's last
// call has returned.
func (r *Registration) Done() <-chan struct{} { return r.done }

// Status returns the state of the handler at this moment.
func (r *Registration) Status() HandlerStatus { return r.status() }

func (r *Registration) closeSynced() { r.syncOnce.Do(func() { close(r.synced) }) }

func (r *Registration) isSynced() bool { return isClosed(r.synced) }
