package endpoints

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"heliograph.example/apiserver/storage"
)

// list serves a collection, or a page of it.
func (h *Handler) list(ctx context.Context, q *request) error {
	out, err := negotiate(q.Request, q.res, shapeList)
	if err != nil {
		return err
	}
	opts, err := parseListOptions(q.query, false)
	if err != nil {
		return err
	}
	list, sel, err := h.readList(ctx, q, opts)
	if err != nil {
		return err
	}
	return h.respondList(ctx, q, list, sel, out)
}

// readList reads from the storage what opts ask for. It also returns what has
// been selected.
func (h *Handler) readList(ctx context.Context, q *request, opts *internalversion.ListOptions) (storage.List, storage.Selection, error) {
	sel, err := h.selection(q.res, q.target, opts)
	if err != nil {
		return storage.List{}, sel, err
	}
	store, err := q.srv.storage()
	if err != nil {
		return storage.List{}, sel, err
	}
	list, err := store.List(ctx, storage.ListOptions{
		Selection:       sel,
		ResourceVersion: opts.ResourceVersion,
		Match:           opts.ResourceVersionMatch,
		Limit:           max(opts.Limit, 0),
		Continue:        opts.Continue,
	})
	return list, sel, err
}

// respondList answers with a page of a list.
func (h *Handler) respondList(ctx context.Context, q *request, list storage.List, sel storage.Selection, out output) error {
	var obj runtime.Object
	var err error
	if out.partial {
		obj, err = partialList(list.Items)
	} else {
		obj, err = q.res.newList(h.scheme, list.Items)
	}
	if err != nil {
		return err
	}
	m, err := meta.ListAccessor(obj)
	if err != nil {
		return fmt.Errorf("list of %s: %w", q.res.GroupResource(), err)
	}
	m.SetResourceVersion(list.ResourceVersion)
	if list.Continue != "" {
		m.SetContinue(list.Continue)
	}
	if list.Remaining != nil {
		m.SetRemainingItemCount(list.Remaining)
	}
	// As on kube-apiserver, only lists of built-in types have room for this:
	// those of custom resources have none, and lists of metadata lose it.
	if typed, ok := obj.(metav1.ShardedListInterface); ok && sel.Shard != nil && !out.partial && !q.res.Custom {
		typed.SetShardInfo(&metav1.ShardInfo{Selector: sel.Shard.String()})
	}
	data, err := h.encodeObject(obj, out)
	if err != nil {
		return err
	}
	return q.respond(ctx, http.StatusOK, data, out)
}
