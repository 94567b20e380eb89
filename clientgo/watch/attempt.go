package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

const (
	// A watch asks for a life between these two, so that those of a fleet do not
	// end together, and is left when it has outlived that by slack: if something
	// between here and the server has died, nobody else ends it.
	minLife, maxLife, slack = 5 * time.Minute, 10 * time.Minute, 30 * time.Second
	// openTimeout bounds the wait for the answer to the request of a watch. A
	// server answers at once, or after a few seconds if its cache lags.
	openTimeout = 30 * time.Second
)

var (
	errOpening  = errors.New("the server did not answer the watch request")
	errNoWatch  = errors.New("the client returned no watch")
	errDeadline = errors.New("the server did not end the watch when it was due")
)

// attempt is one watch of a RetryWatcher.
type attempt struct {
	client cache.WatcherWithContext
	events chan<- watch.Event
	// version is the last one that was given away, or that a bookmark told.
	version string
}

// ending says how a watch has ended. The zero value is a clean end.
type ending struct {
	// final is set if there is to be no further watch.
	final bool
	// after is the pause that the server asks for, and err what went wrong.
	after time.Duration
	err   error
}

// run watches until something ends it.
func (a *attempt) run(ctx context.Context) ending {
	life := minLife + rand.N(maxLife-minLife)
	seconds := int64(life / time.Second)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	opening := time.AfterFunc(openTimeout, func() { cancel(errOpening) })
	w, err := heed(ctx, func() (watch.Interface, error) {
		return a.client.WatchWithContext(ctx, metav1.ListOptions{
			ResourceVersion: a.version, AllowWatchBookmarks: true, TimeoutSeconds: &seconds,
		})
	})
	opening.Stop()
	if err != nil {
		return a.refused(ctx, err)
	}
	if isNil(w) {
		return ending{err: errNoWatch}
	}
	defer w.Stop()
	deadline := time.NewTimer(life + slack)
	defer deadline.Stop()
	results := w.ResultChan()
	for {
		select {
		case <-ctx.Done():
			return ending{err: context.Cause(ctx)}
		case <-deadline.C:
			return ending{err: errDeadline}
		case event, ok := <-results:
			if !ok {
				return ending{}
			}
			if end := a.take(ctx, event); end != nil {
				return *end
			}
		}
	}
}

// refused says what an error of the request means.
func (a *attempt) refused(ctx context.Context, err error) ending {
	var status apierrors.APIStatus
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), isTooOld(err):
		object := apierrors.NewInternalError(err).ErrStatus
		if errors.As(err, &status) {
			object = status.Status()
		}
		a.give(ctx, watch.Event{Type: watch.Error, Object: &object})
		return ending{final: true}
	case errors.Is(err, io.EOF), net.IsProbableEOF(err), net.IsTimeout(err):
		return ending{} // the server restarts, or is slow
	}
	end := ending{err: err}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		end.after = time.Duration(seconds) * time.Second
	}
	return end
}

// isTooOld reports whether the server has forgotten the version. Nothing that follows
// can tell what was missed.
func isTooOld(err error) bool {
	return apierrors.IsGone(err) || apierrors.IsResourceExpired(err)
}

// versioned is what is asked of the objects of events.
type versioned interface{ GetResourceVersion() string }

// take gives an event away. The result is nil if the watch goes on.
func (a *attempt) take(ctx context.Context, event watch.Event) *ending {
	switch event.Type {
	case watch.Added, watch.Modified, watch.Deleted, watch.Bookmark:
	case watch.Error:
		return a.failed(ctx, event)
	default:
		return a.lost(ctx, fmt.Errorf("failed to recognize event type %q", event.Type))
	}
	object, ok := event.Object.(versioned)
	if !ok || isNil(object) {
		return a.lost(ctx, fmt.Errorf("%T doesn't support resourceVersion", event.Object))
	}
	version := object.GetResourceVersion()
	if version == "" {
		return a.lost(ctx, fmt.Errorf("an object of type %T has no resourceVersion", event.Object))
	}
	if event.Type != watch.Bookmark && !a.give(ctx, event) {
		return &ending{final: true}
	}
	a.version = version
	return nil
}

// lost ends the watcher with an error event: to go on could skip something.
func (a *attempt) lost(ctx context.Context, err error) *ending {
	a.give(ctx, watch.Event{Type: watch.Error, Object: &apierrors.NewInternalError(fmt.Errorf("retryWatcher: %w", err)).ErrStatus})
	return &ending{final: true}
}

// failed says what an error event means.
func (a *attempt) failed(ctx context.Context, event watch.Event) *ending {
	if isNil(event.Object) {
		return &ending{err: errors.New("the server sent an error event with nothing in it")}
	}
	err := apierrors.FromObject(event.Object)
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return &ending{err: fmt.Errorf("the server sent an error event that is no status: %w", err)}
	}
	if status.ErrStatus.Code == http.StatusGone || isTooOld(err) {
		a.give(ctx, event)
		return &ending{final: true}
	}
	end := &ending{err: err}
	if details := status.ErrStatus.Details; details != nil {
		end.after = time.Duration(details.RetryAfterSeconds) * time.Second
	}
	return end
}

// give waits until the reader has the event. It reports false if ctx has ended before.
func (a *attempt) give(ctx context.Context, event watch.Event) bool {
	select {
	case a.events <- event:
		return true
	case <-ctx.Done():
		return false
	}
}

// heed makes call return when ctx ends, whether it heeds that or not. A call that does
// not is left behind, and the watch that it opens too late is stopped.
func heed(ctx context.Context, call func() (watch.Interface, error)) (watch.Interface, error) {
	type outcome struct {
		w   watch.Interface
		err error
	}
	handover := make(chan outcome)
	go func() {
		w, err := call()
		select {
		case handover <- outcome{w, err}:
		case <-ctx.Done():
			if err == nil && !isNil(w) {
				w.Stop()
			}
		}
	}()
	select {
	case got := <-handover:
		return got.w, got.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// isNil reports whether v is nil, or a nil pointer and the like in an interface.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	switch value := reflect.ValueOf(v); value.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
		return value.IsNil()
	}
	return false
}
