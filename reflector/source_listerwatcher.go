package reflector

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// FromListerWatcher returns a source over any ListerWatcher of client-go. T is
// the type of its objects; runtime.Object takes whatever comes. Scope and
// selectors are the ListerWatcher's own.
//
// A ListerWatcher that says IsWatchListSemanticsUnSupported, as those over
// client-go's fakes do, is listed in pages, and the resource versions of its
// objects are taken to mean nothing (see Unversioned).
//
// Many a ListerWatcher takes no context or does not heed it. A call that is
// still under way when its context ends is left behind: it ends when it ends,
// and a watch that it opens too late is stopped.
//
// A nil lw is an error that wraps ErrInvalid.
func FromListerWatcher[T any](lw cache.ListerWatcher) (Source[T], error) {
	if isNil(lw) {
		return nil, fmt.Errorf("%w lister-watcher: it is nil", ErrInvalid)
	}
	withContext := cache.ToListerWatcherWithContext(lw)
	return &clientSource[T]{
		name: fmt.Sprintf("%T", lw),
		list: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return heed(ctx, func() (runtime.Object, error) {
				return withContext.ListWithContext(ctx, opts)
			}, func(runtime.Object) {})
		},
		watch: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return heed(ctx, func() (watch.Interface, error) {
				return withContext.WatchWithContext(ctx, opts)
			}, watch.Interface.Stop)
		},
		fake: isFake(lw),
	}, nil
}

// heed makes call return when ctx ends. A result that comes later is given to
// late.
func heed[R any](ctx context.Context, call func() (R, error), late func(R)) (R, error) {
	type outcome struct {
		result R
		err    error
	}
	handover := make(chan outcome)
	go func() {
		result, err := call()
		select {
		case handover <- outcome{result, err}:
		case <-ctx.Done():
			if err == nil && !isNil(result) {
				late(result)
			}
		}
	}()
	select {
	case got := <-handover:
		return got.result, got.err
	case <-ctx.Done():
		var zero R
		return zero, ctx.Err()
	}
}
