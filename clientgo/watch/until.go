package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
)

// PreconditionFunc is client-go's: it looks at a store that is synced.
type PreconditionFunc = toolswatch.PreconditionFunc

// ConditionFunc is client-go's: it looks at one event.
type ConditionFunc = toolswatch.ConditionFunc

// ErrWatchClosed is client-go's. It is returned when a watch ends before the conditions
// hold.
var ErrWatchClosed = toolswatch.ErrWatchClosed

var (
	errNilWatcher   = errors.New("the watcher is nil")
	errNilCondition = errors.New("a condition is nil")
)

// UntilWithoutRetry gives the events of watcher to the first condition until it holds,
// the one with which it did to the second, and so on, and returns the last event that
// it has read, nil for none. It stops watcher.
//
// An error of a condition is returned with the event, ErrWatchClosed if watcher ends
// before, and an error for which wait.Interrupted holds if ctx ends. A nil watcher,
// context or condition is an error.
func UntilWithoutRetry(ctx context.Context, watcher watch.Interface, conditions ...ConditionFunc) (*watch.Event, error) {
	if isNil(watcher) {
		return nil, fmt.Errorf("UntilWithoutRetry: %w", errNilWatcher)
	}
	if err := checkConditions(ctx, conditions); err != nil {
		watcher.Stop()
		return nil, fmt.Errorf("UntilWithoutRetry: %w", err)
	}
	return toolswatch.UntilWithoutRetry(ctx, watcher, conditions...)
}

func checkConditions(ctx context.Context, conditions []ConditionFunc) error {
	if ctx == nil {
		return errNilContext
	}
	for _, condition := range conditions {
		if condition == nil {
			return errNilCondition
		}
	}
	return nil
}

// Until is [UntilWithoutRetry] over a [RetryWatcher]: it sees every event after
// initialResourceVersion, which must not be "" or "0", and gets over everything but
// what ends a RetryWatcher. That comes to the conditions as an event of type Error.
func Until(ctx context.Context, initialResourceVersion string, watcherClient cache.Watcher, conditions ...ConditionFunc) (*watch.Event, error) {
	if err := checkConditions(ctx, conditions); err != nil {
		return nil, fmt.Errorf("Until: %w", err)
	}
	w, err := NewRetryWatcherWithContext(ctx, initialResourceVersion, withContext(watcherClient))
	if err != nil {
		return nil, err
	}
	defer func() { <-w.Done() }()
	return toolswatch.UntilWithoutRetry(ctx, w, conditions...)
}

// ContextWithOptionalTimeout is client-go's: a context with a timeout, or none if it
// is 0 or, which is reported, negative.
func ContextWithOptionalTimeout(parent context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return toolswatch.ContextWithOptionalTimeout(parent, timeout)
}
