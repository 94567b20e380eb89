package endpoints

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
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
	list, err := h.readList(ctx, q, opts)
	if err != nil {
		return err
	}
	return h.respondList(ctx, q, list, out)
}

// readList reads from the storage what opts ask for.
func (h *Handler) readList(ctx context.Context, q *request, opts *internalversion.ListOptions) (storage.List, error) {
	sel, err := selection(q.res, q.target, opts)
	if err != nil {
		return storage.List{}, err
	}
	store, err := q.srv.storage()
	if err != nil {
		return storage.List{}, err
	}
	return store.List(ctx, storage.ListOptions{
		Selection:       sel,
		ResourceVersion: opts.ResourceVersion,
		Match:           opts.ResourceVersionMatch,
		Limit:           max(opts.Limit, 0),
		Continue:        opts.Continue,
	})
}

// respondList answers with a page of a list.
func (h *Handler) respondList(ctx context.Context, q *request, list storage.List, out output) error {
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
	data, err := h.encodeObject(obj, out)
	if err != nil {
		return err
	}
	return q.respond(ctx, http.StatusOK, data, out)
}
