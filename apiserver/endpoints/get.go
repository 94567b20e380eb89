package endpoints

import "context"

// get serves one object. The status subresource shows the whole object.
func (h *Handler) get(ctx context.Context, q *request) error {
	out, err := negotiate(q.Request, q.res, shapeObject)
	if err != nil {
		return err
	}
	store, err := q.srv.storage()
	if err != nil {
		return err
	}
	obj, err := store.Get(ctx, q.key(), q.query.Get("resourceVersion"))
	if err != nil {
		return err
	}
	return h.respondObject(ctx, q, 200, obj, out)
}
