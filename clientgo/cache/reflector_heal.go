package cache

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/klog/v2"

	"heliograph.example/reflector"
)

const (
	// streamingTimeout is how long a streaming list may bring nothing.
	streamingTimeout = reflector.DefaultStreamingTimeout
	// shortWatch is the life below which a watch that brought nothing has failed.
	shortWatch = time.Second
	// mostResumptions is how often in a row a watch is resumed that brings nothing.
	// Then the Reflector is to see for itself what the state is.
	mostResumptions = 10
)

// healer is a [ListerWatcher] between a Reflector and what it reads. Its means is that
// a Reflector takes "429 Too Many Requests" for a reason to pause and to watch again
// from where it was, and everything else for a reason to list.
type healer struct {
	ListerWatcherWithContext
	unstreamed bool
	// resumptions counts the watches in a row that brought nothing.
	resumptions atomic.Int32
}

func heal(lw ListerWatcher) *healer {
	if isNil(lw) {
		lw = failing(errNilListerWatcher)
	}
	return &healer{ListerWatcherWithContext: ToListerWatcherWithContext(lw), unstreamed: watchlist.DoesClientNotSupportWatchListSemantics(lw)}
}

var errNilListerWatcher = errors.New("the ListerWatcher is nil")

// IsWatchListSemanticsUnSupported says what lw says of itself.
func (h *healer) IsWatchListSemanticsUnSupported() bool { return h.unstreamed }

func (h *healer) List(opts metav1.ListOptions) (runtime.Object, error) {
	return h.ListWithContext(context.Background(), opts)
}

func (h *healer) Watch(opts metav1.ListOptions) (watch.Interface, error) {
	return h.WatchWithContext(context.Background(), opts)
}

func (h *healer) WatchWithContext(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	streaming := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	w, err := h.open(ctx, opts, streaming)
	switch {
	case err != nil && !streaming && resumes(err) && h.again(ctx, err):
		return nil, &resumable{err}
	case err != nil:
		return nil, err
	case isNil(w):
		return nil, fmt.Errorf("the client returned no watch")
	}
	return newHealedWatch(ctx, h, w, streaming), nil
}

// open opens a watch. A server that is busy, or not there, is asked for a streaming
// list until it answers: the Reflector would do the same, and would not heed ctx.
func (h *healer) open(ctx context.Context, opts metav1.ListOptions, streaming bool) (watch.Interface, error) {
	pause := wait.Backoff{Duration: 800 * time.Millisecond, Factor: 2, Jitter: 1, Steps: 6, Cap: 30 * time.Second}
	for {
		w, err := h.ListerWatcherWithContext.WatchWithContext(ctx, opts)
		if err == nil || !streaming || !apierrors.IsTooManyRequests(err) && !utilnet.IsConnectionRefused(err) {
			return w, err
		}
		klog.FromContext(ctx).Info("A streaming list could not be opened and will be tried again", "err", err)
		timer := time.NewTimer(max(pause.Step(), retryAfter(err)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		case <-timer.C:
		}
	}
}

// retryAfter is the pause that a server has asked for.
func retryAfter(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return time.Duration(seconds) * time.Second
}

// again reports whether one more watch is worth a try after err, and says so.
func (h *healer) again(ctx context.Context, err error) bool {
	if h.resumptions.Add(1) > mostResumptions {
		h.resumptions.Store(0)
		return false
	}
	klog.FromContext(ctx).Info("A watch has failed and will be resumed", "err", err)
	return true
}

// resumes reports whether a watch that has failed with err may go on from the same
// version: unless that version is gone, or the server refuses.
func resumes(err error) bool {
	if errors.Is(err, context.Canceled) || utilnet.IsConnectionRefused(err) {
		return false // the Reflector knows what to do
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return false
	}
	code := status.Status().Code
	return code == 0 || code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
}

// resumable is an error after which a Reflector pauses and watches again.
type resumable struct{ cause error }

func (e *resumable) Error() string { return e.cause.Error() }

func (e *resumable) Unwrap() error { return e.cause }

// Status is that of a server that is busy.
func (e *resumable) Status() metav1.Status {
	return apierrors.NewTooManyRequests(e.cause.Error(), int(retryAfter(e.cause).Seconds())).Status()
}
