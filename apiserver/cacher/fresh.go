package cacher

import (
	"context"
	"fmt"
	"math"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/apiserver/storage"
)

// kube-apiserver waits three seconds for its cache to catch up, and asks etcd
// for progress every 100 milliseconds meanwhile.
const (
	freshTimeout   = 3 * time.Second
	progressPeriod = 100 * time.Millisecond
)

// freshness is how far the cache has come.
type freshness struct {
	ready, stopped, refusing bool
	revision                 uint64
}

func (f freshness) reached(version uint64) bool { return f.ready && f.revision >= version }

// look returns how far the cache has come, and a channel that is closed when it
// gets further, unless it has reached version already.
func (c *Cacher) look(version uint64) (freshness, <-chan struct{}) {
	if f := c.freshness(); f.reached(version) || f.stopped {
		return f, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moved == nil {
		c.moved = make(chan struct{})
	}
	return c.freshnessLocked(), c.moved
}

func (c *Cacher) freshness() freshness {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.freshnessLocked()
}

func (c *Cacher) freshnessLocked() freshness {
	return freshness{ready: c.ready, stopped: c.stopped, refusing: c.refusing, revision: c.window.Revision()}
}

// wait waits until the cache has reached a version; 0 means until it is ready.
// The error is a 504 with the cause ResourceVersionTooLarge if it has not come so
// far within three seconds, a 429 if it has not become ready at all (without
// waiting if it is not to), and a 503 if it has been stopped.
func (c *Cacher) wait(ctx context.Context, version uint64) error {
	c.want()
	f, moved := c.look(version)
	if f.reached(version) && !f.stopped {
		return nil
	}
	timeout := time.NewTimer(freshTimeout)
	defer timeout.Stop()
	ask := time.NewTicker(progressPeriod)
	defer ask.Stop()
	for asked := false; ; f, moved = c.look(version) {
		if f.stopped {
			return apierrors.NewServiceUnavailable(fmt.Sprintf("the watch cache of %s has been stopped", c.resource))
		}
		if f.reached(version) {
			return nil
		}
		if f.refusing {
			return c.notReady()
		}
		if f.ready && !asked {
			asked = true
			if err := c.store.RequestProgress(ctx); err != nil {
				return err
			}
		}
		select {
		case <-moved:
		case <-ask.C:
			asked = false
		case <-ctx.Done():
			return ctx.Err()
		case <-timeout.C:
			return c.stale(version)
		}
	}
}

// tooLarge reports whether wait has given up on a cache that lags.
func tooLarge(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// stale says why wait has given up.
func (c *Cacher) stale(version uint64) error {
	if f := c.freshness(); f.ready {
		return storage.NewTooLargeError(version, f.revision, 1)
	}
	return c.notReady()
}

// notReady is the 429 of a cache that has no state. As kube-apiserver does, it
// asks for the more patience the longer that has lasted: from one second to half
// a minute, which is reached after one.
func (c *Cacher) notReady() error {
	c.mu.RLock()
	down := time.Since(c.unready)
	c.mu.RUnlock()
	retry := int(min(math.Exp(0.06*down.Seconds()), 30))
	return apierrors.NewTooManyRequests(fmt.Sprintf("storage is (re)initializing: %s", c.Status().Explain()), retry)
}
