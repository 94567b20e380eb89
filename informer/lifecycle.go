package informer

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"heliograph.example/reflector"
)

// lifecycle says whether an informer runs, and lets waits notice when it stops.
type lifecycle struct {
	mu      sync.Mutex
	running bool
	// runs counts the runs that have begun; err is what ended the last one, nil
	// if its context did.
	runs int
	err  error
	// changed is closed and replaced when running changes.
	changed chan struct{}
}

func newLifecycle() *lifecycle { return &lifecycle{changed: make(chan struct{})} }

func (l *lifecycle) begin() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running {
		return ErrRunning
	}
	l.runs++
	l.set(true)
	return nil
}

func (l *lifecycle) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
	l.set(false)
}

func (l *lifecycle) set(running bool) {
	l.running = running
	close(l.changed)
	l.changed = make(chan struct{})
}

// state returns whether a run is under way, whether any has ended, and a channel
// that is closed when that changes.
func (l *lifecycle) state() (running, stopped bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running, !l.running && l.runs > 0, l.changed
}

// stopReason is ErrStopped, with what ended the last run by itself.
func (l *lifecycle) stopReason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		return ErrStopped
	}
	return fmt.Errorf("%w: %w", ErrStopped, l.err)
}

// Wait waits until the store and every handler that is registered at the call
// are synced: the store holds a complete state, and each handler has returned
// from the last of its initial objects, or was removed. If ctx ends or the informer stops before
// that, the error names the collection, what the reader of the server is doing,
// its last error, and since when. Before Run has been called, Wait waits for it.
func (i *Informer[T]) Wait(ctx context.Context) error {
	regs := i.processor.registrations()
	if err := i.await(ctx, i.synced, nil, "store"); err != nil {
		return err
	}
	for _, r := range regs {
		if err := r.Wait(ctx); err != nil && !errors.Is(err, ErrRemoved) {
			return err
		}
	}
	return nil
}

// await waits for done, and explains why it did not come.
func (i *Informer[T]) await(ctx context.Context, done, removed <-chan struct{}, what string) error {
	if err := i.awaitEnd(ctx, done, removed); err != nil {
		return i.unsynced(what, err)
	}
	return nil
}

// awaitEnd waits for done, and returns what else ended the wait. Meanwhile the
// reader goes before others.
func (i *Informer[T]) awaitEnd(ctx context.Context, done, removed <-chan struct{}) error {
	defer i.reflector.Want()()
	return i.untilEnd(ctx, done, removed)
}

// awaitStop waits for the end of a run, and returns the reason or what else ended
// the wait. A run that has ended counts before a context that has.
func (i *Informer[T]) awaitStop(ctx context.Context, removed <-chan struct{}) error {
	if _, stopped, _ := i.life.state(); stopped && ctx != nil && !isClosed(removed) {
		return i.life.stopReason()
	}
	return i.untilEnd(ctx, nil, removed)
}

// untilEnd waits for done, if it is not nil, and returns what else ended the wait.
func (i *Informer[T]) untilEnd(ctx context.Context, done, removed <-chan struct{}) error {
	if ctx == nil {
		return fmt.Errorf("%w: the context is nil", ErrInvalid)
	}
	for {
		_, stopped, changed := i.life.state()
		switch {
		case isClosed(done):
			return nil
		case isClosed(removed):
			return ErrRemoved
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case stopped:
			return i.life.stopReason()
		}
		select {
		case <-done:
		case <-removed:
		case <-ctx.Done():
		case <-changed:
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// SyncError says what a wait was waiting for, and what stood in the way.
type SyncError struct {
	// Waiting is what was not synced: "store", or "handler" and its name.
	Waiting string
	// Status is that of the informer when the wait ended.
	Status Status
	// Err is what ended the wait: the cause of its context, [ErrStopped] or
	// [ErrRemoved].
	Err error
}

// Error names the collection, its state, the last error of its reader and since
// when.
func (e *SyncError) Error() string {
	s := fmt.Sprintf("%s; %s not synced: %v", e.Status.Reader.Explain(), e.Waiting, e.Err)
	if last := e.lastError(); last != nil && e.Status.Reader.State == reflector.Stopped {
		s += fmt.Sprintf("; before, in %d tries: %v", e.Status.Reader.Tries, last)
	}
	return s
}

// Unwrap returns what ended the wait and the last error of the reader, unless
// that was mended.
func (e *SyncError) Unwrap() []error {
	if last := e.lastError(); last != nil {
		return []error{e.Err, last}
	}
	return []error{e.Err}
}

func (e *SyncError) lastError() error {
	if e.Status.Reader.Tries == 0 {
		return nil
	}
	return e.Status.Reader.LastError
}

func (i *Informer[T]) unsynced(what string, cause error) error {
	return &SyncError{Waiting: what, Status: i.Status(), Err: cause}
}
