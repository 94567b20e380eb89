package endpoints

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

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

// respondList answers with a page of a list: in parts, if its type and encoding
// allow that.
func (h *Handler) respondList(ctx context.Context, q *request, list storage.List, sel storage.Selection, out output) error {
	obj, err := h.emptyList(q.res, list, sel, out)
	if err != nil {
		return err
	}
	item := itemType(obj)
	form := itemForm(func(obj runtime.Object) (runtime.Object, error) { return obj, nil })
	switch {
	case out.partial:
		item = nil // any that has metadata
		form = func(obj runtime.Object) (runtime.Object, error) { return partialObject(obj) }
	case item == nil:
		return h.respondWhole(ctx, q, obj, list.Items, out)
	case !q.res.Custom && out.media != runtime.ContentTypeProtobuf:
		// kube-apiserver leaves the kind out of the items of built-in lists.
		// In protobuf there is none anyway.
		form = withoutKind(item)
	}
	if err := checkItems(q.res, list.Items, item); err != nil {
		return err
	}
	parts, err := splitList(obj, list.Items, form, out)
	if err != nil {
		return err
	}
	if parts == nil {
		return h.respondWhole(ctx, q, obj, list.Items, out)
	}
	return h.sendParts(ctx, q, parts, list.Items, out)
}

// respondWhole answers with a list that is encoded as a whole; list is empty
// before.
func (h *Handler) respondWhole(ctx context.Context, q *request, list runtime.Object, items []runtime.Object, out output) error {
	if err := q.res.setItems(list, items); err != nil {
		return err
	}
	data, err := h.encodeObject(list, out)
	if err != nil {
		return err
	}
	return q.respond(ctx, http.StatusOK, data, out)
}

// emptyList makes the list object for a page, without the items.
func (h *Handler) emptyList(r *Resource, list storage.List, sel storage.Selection, out output) (runtime.Object, error) {
	obj := newPartialList()
	if !out.partial {
		var err error
		if obj, err = r.newList(h.scheme); err != nil {
			return nil, err
		}
	}
	m, err := meta.ListAccessor(obj)
	if err != nil {
		return nil, fmt.Errorf("list of %s: %w", r.GroupResource(), err)
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
	if typed, ok := obj.(metav1.ShardedListInterface); ok && sel.Shard != nil && !out.partial && !r.Custom {
		typed.SetShardInfo(&metav1.ShardInfo{Selector: sel.Shard.String()})
	}
	return obj, nil
}

// checkItems returns an error unless all items are objects, of the given type if
// that is not nil.
func checkItems(r *Resource, items []runtime.Object, want reflect.Type) error {
	for i, item := range items {
		v := reflect.ValueOf(item)
		if v.Kind() != reflect.Pointer || v.IsNil() {
			return fmt.Errorf("list of %s: item %d is nil", r.GroupResource(), i)
		}
		if want != nil && v.Type() != want {
			return fmt.Errorf("list of %s: item %d is a %T, not a %v", r.GroupResource(), i, item, want)
		}
	}
	return nil
}
