package watch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// restartDelay is the least time between the beginnings of two watches, and
	// maxRestartDelay the most that failures in a row make of it.
	restartDelay, maxRestartDelay = time.Second, 30 * time.Second
	// stableWatch is the life from which on a watch was no failure, even if it
	// brought nothing.
	stableWatch = 10 * time.Second
)

var (
	errNilClient  = errors.New("the client to watch with is nil")
	errNilContext = errors.New("the context is nil")
	errStopped    = errors.New("asked to stop")
)

// RetryWatcher gives the events of a collection after a resource version, each once
// and in the order of the server. When its watch ends or fails, it opens another that
// goes on from the last event or bookmark; bookmarks themselves are not given.
//
// It ends, with an [watch.Error] event as its last, when it can give no more without a
// gap: the server has forgotten the version (410 Gone), denies the watch (401 and
// 403), or sends what cannot be understood. Everything else is tried again, a second
// after the last try began, and up to half a minute after failures in a row, or
// when the server says so by Retry-After.
//
// It implements [watch.Interface] and is safe for concurrent use. Who makes one has to
// end its context or to call Stop.
type RetryWatcher struct {
	client cache.WatcherWithContext
	stop   context.CancelCauseFunc
	events chan watch.Event
	done   chan struct{}
	pace   wait.Backoff
}

var _ watch.Interface = (*RetryWatcher)(nil)

// NewRetryWatcher is [NewRetryWatcherWithContext] without a context: Stop ends it.
//
// Deprecated: use NewRetryWatcherWithContext, which ends with its context.
func NewRetryWatcher(initialResourceVersion string, watcherClient cache.Watcher) (*RetryWatcher, error) {
	return newRetryWatcher(context.Background(), initialResourceVersion, withContext(watcherClient), restartDelay)
}

// NewRetryWatcherWithContext watches what follows initialResourceVersion until ctx ends
// or Stop is called. "" and "0" are an error: with them a watch begins with a state of
// the server's choice, made up of events that never happened. A nil client or context
// is an error too.
func NewRetryWatcherWithContext(ctx context.Context, initialResourceVersion string, watcherClient cache.WatcherWithContext) (*RetryWatcher, error) {
	return newRetryWatcher(ctx, initialResourceVersion, watcherClient, restartDelay)
}

// withContext leaves nil as it is, so that it is seen.
func withContext(client cache.Watcher) cache.WatcherWithContext {
	if isNil(client) {
		return nil
	}
	return cache.ToWatcherWithContext(client)
}

func newRetryWatcher(ctx context.Context, version string, client cache.WatcherWithContext, delay time.Duration) (*RetryWatcher, error) {
	switch {
	case version == "" || version == "0":
		return nil, fmt.Errorf("initial RV %q is not supported due to issues with underlying WATCH", version)
	case isNil(client):
		return nil, fmt.Errorf("retry watcher from version %s: %w", version, errNilClient)
	case ctx == nil:
		return nil, fmt.Errorf("retry watcher from version %s: %w", version, errNilContext)
	}
	ctx, stop := context.WithCancelCause(ctx)
	rw := &RetryWatcher{
		client: client, stop: stop,
		events: make(chan watch.Event), done: make(chan struct{}),
		pace: wait.Backoff{Duration: delay, Factor: 2, Jitter: 0.2, Cap: maxRestartDelay, Steps: math.MaxInt32},
	}
	go rw.run(ctx, version)
	return rw, nil
}

// ResultChan returns the channel of events, which is closed after the last.
func (rw *RetryWatcher) ResultChan() <-chan watch.Event { return rw.events }

// Stop ends the watcher, and does not wait for that: Done tells. It may be called more
// than once.
func (rw *RetryWatcher) Stop() { rw.stop(errStopped) }

// Done returns a channel that is closed when the watcher has ended.
func (rw *RetryWatcher) Done() <-chan struct{} { return rw.done }

// run opens one watch after the other.
func (rw *RetryWatcher) run(ctx context.Context, version string) {
	defer rw.stop(nil) // frees the context
	defer close(rw.done)
	defer close(rw.events)
	logger := klog.FromContext(ctx)
	pace := rw.pace
	for ctx.Err() == nil {
		began := time.Now()
		try := &attempt{client: rw.client, events: rw.events, version: version}
		end := try.run(ctx)
		if end.final || ctx.Err() != nil {
			return
		}
		lasted := time.Since(began)
		if try.version != version || lasted >= stableWatch {
			pace = rw.pace
		}
		version = try.version
		pause := max(pace.Step()-lasted, end.after)
		if end.err != nil {
			logger.Error(end.err, "Watch failed, and will be opened again", "resourceVersion", version, "after", pause)
		} else {
			logger.V(4).Info("Watch ended, and will be opened again", "resourceVersion", version, "after", pause)
		}
		sleep(ctx, pause)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
