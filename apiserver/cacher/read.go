package cacher

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/apiserver/storage"
	"heliograph.example/apiserver/storage/history"
)

// Get implements [storage.Interface]. The newest state comes from the cache if
// that is fresh at the moment, and otherwise from the store, which costs less
// than waiting. So does any state while the cache is not ready.
func (c *Cacher) Get(ctx context.Context, key types.NamespacedName, resourceVersion string) (runtime.Object, error) {
	version, err := storage.ParseVersion(resourceVersion)
	if err != nil {
		return nil, err
	}
	if resourceVersion == "" {
		current, err := c.store.CurrentRevision(ctx)
		if err != nil {
			return nil, err
		}
		if f := c.freshness(); f.stopped || !f.reached(current) {
			return c.store.Get(ctx, key, "")
		}
	} else if err := c.wait(ctx, version); err != nil {
		if apierrors.IsTooManyRequests(err) {
			return c.store.Get(ctx, key, resourceVersion)
		}
		return nil, err
	}
	c.mu.RLock()
	e := c.window.Get(storage.KeyString(key))
	c.mu.RUnlock()
	if e == nil {
		return nil, apierrors.NewNotFound(c.of.GroupResource, key.Name)
	}
	return e.object, nil
}

// List implements [storage.Interface].
func (c *Cacher) List(ctx context.Context, opts storage.ListOptions) (storage.List, error) {
	q, err := storage.ParseList(opts)
	if err != nil {
		return storage.List{}, err
	}
	if q.Exact > 0 {
		return c.listExact(ctx, q, opts)
	}
	version := q.Minimum
	newest := version == 0 && !q.Any
	if newest {
		if version, err = c.store.CurrentRevision(ctx); err != nil {
			return storage.List{}, err
		}
	}
	if err := c.wait(ctx, version); err != nil {
		if newest && tooLarge(err) || spares(q, err) {
			// The cache lags: the store can still answer.
			return c.store.List(ctx, opts)
		}
		return storage.List{}, err
	}
	c.mu.Lock()
	view := c.window.Now()
	c.mu.Unlock()
	return c.page(ctx, q, view)
}

// listExact answers from the past of the cache, unless the store has compacted
// it: then, what has expired must not depend on who is asked.
func (c *Cacher) listExact(ctx context.Context, q storage.ListQuery, opts storage.ListOptions) (storage.List, error) {
	compacted, err := c.store.CompactRevision(ctx)
	if err != nil {
		return storage.List{}, err
	}
	if q.Exact < compacted {
		return c.store.List(ctx, opts)
	}
	if err := c.wait(ctx, q.Exact); err != nil {
		if current, _ := c.store.CurrentRevision(ctx); tooLarge(err) && q.Exact <= current || spares(q, err) {
			return c.store.List(ctx, opts)
		}
		return storage.List{}, err
	}
	c.mu.Lock()
	view, err := c.window.At(q.Exact)
	c.mu.Unlock()
	var gone *history.CompactedError
	if errors.As(err, &gone) {
		return c.store.List(ctx, opts)
	}
	if err != nil {
		return storage.List{}, err
	}
	return c.page(ctx, q, view)
}

// spares reports whether the store answers a list in place of a cache that is
// not ready: kube-apiserver lets it do so for pages, which cost little.
func spares(q storage.ListQuery, err error) bool {
	return apierrors.IsTooManyRequests(err) && q.Limit > 0 && !q.ByContent()
}

// page picks what the query asks for out of one state.
func (c *Cacher) page(ctx context.Context, q storage.ListQuery, view *history.View[entry]) (storage.List, error) {
	items := make([]runtime.Object, 0, c.guess(q, view))
	var last string
	remaining := 0
	for key, e := range view.Prefix(q.Prefix(), q.Start) {
		if q.Limit > 0 && int64(len(items)) == q.Limit {
			if remaining++; q.ByContent() {
				// That there is more is all that will be told.
				break
			}
			continue
		}
		if !q.Includes(e.key) {
			continue
		}
		ok, err := e.selectedBy(q.Selection, c.of.Attributes)
		if err != nil {
			return storage.List{}, err
		}
		if ok {
			items = append(items, e.object)
			last = key
		}
	}
	if err := ctx.Err(); err != nil {
		return storage.List{}, err
	}
	return q.Page(items, view.Revision, last, remaining), nil
}

// guess is the room to make for a page, so that it need not grow where
// everything is taken, and is not wasted where little is.
func (c *Cacher) guess(q storage.ListQuery, view *history.View[entry]) int {
	if q.ByContent() || q.Name != "" || q.Namespace != "" {
		return 0
	}
	if q.Limit > 0 {
		return int(min(q.Limit, int64(view.Len())))
	}
	return view.Len()
}
