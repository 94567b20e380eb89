package endpoints

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/apiserver/storage"
)

// delete removes an object, or marks it as being deleted if finalizers or a
// grace period hold it.
func (h *Handler) delete(ctx context.Context, q *request) error {
	opts, err := deleteOptions(q)
	if err != nil {
		return err
	}
	out, err := negotiate(q.Request, q.res, shapeObject)
	if err != nil {
		return err
	}
	obj, removed, err := h.deleteObject(ctx, q, q.key(), opts)
	if err != nil {
		return err
	}
	if !removed || q.res.ReturnsDeleted {
		return h.respondObject(ctx, q, http.StatusOK, obj, out)
	}
	m, err := accessor(q.res, obj)
	if err != nil {
		return err
	}
	status := &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Details: &metav1.StatusDetails{
			Name: q.name, Group: q.res.GroupVersionKind.Group, Kind: q.res.Plural, UID: m.GetUID(),
		},
	}
	return h.respondObject(ctx, q, http.StatusOK, status, out)
}

// deleteOptions reads and checks the options of a delete.
func deleteOptions(q *request) (*metav1.DeleteOptions, error) {
	opts, err := decodeDeleteOptions(q)
	if err != nil {
		return nil, err
	}
	if errs := metav1validation.ValidateDeleteOptions(opts); len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	return opts, nil
}

// deleteObject deletes one object and returns its last state; removed is false
// if it is only marked.
func (h *Handler) deleteObject(ctx context.Context, q *request, key types.NamespacedName, opts *metav1.DeleteOptions) (obj runtime.Object, removed bool, err error) {
	store, err := q.srv.storage()
	if err != nil {
		return nil, false, err
	}
	step := func(current runtime.Object) (runtime.Object, bool, error) {
		var updated runtime.Object
		var err error
		updated, removed, err = markDeleted(q.res, current, opts)
		return updated, removed, err
	}
	if isDryRun(opts.DryRun) {
		obj, err = store.Get(ctx, key, "")
		if err == nil {
			obj, _, err = step(obj)
		}
		return obj, removed, err
	}
	obj, err = store.Update(ctx, key, step)
	if err != nil || removed {
		return obj, removed, err
	}
	return h.removeMarked(ctx, q, store, key, obj)
}

// removeMarked removes an object that a delete has just marked, if nothing holds
// it: kinds with a grace period are always marked first, so that their watches
// see both steps.
func (h *Handler) removeMarked(ctx context.Context, q *request, store storage.Interface, key types.NamespacedName, marked runtime.Object) (runtime.Object, bool, error) {
	done, err := isFinalized(q.res, marked)
	if err != nil || !done {
		return marked, false, err
	}
	mm, err := accessor(q.res, marked)
	if err != nil {
		return nil, false, err
	}
	last, err := store.Update(ctx, key, func(current runtime.Object) (runtime.Object, bool, error) {
		cm, err := accessor(q.res, current)
		if err != nil {
			return nil, false, err
		}
		// Another object of the same name stays as it is.
		return current, cm.GetUID() == mm.GetUID(), nil
	})
	if apierrors.IsNotFound(err) {
		return marked, true, nil // somebody else was quicker
	}
	return last, true, err
}

// markDeleted decides what becomes of an object that is deleted: it returns
// the state to store, or true if nothing holds the object. The rules are those
// of rest.BeforeDelete and of the generic registry in k8s.io/apiserver.
func markDeleted(r *Resource, current runtime.Object, opts *metav1.DeleteOptions) (runtime.Object, bool, error) {
	cm, err := accessor(r, current)
	if err != nil {
		return nil, false, err
	}
	if err := checkDeletePreconditions(r, cm, opts.Preconditions); err != nil {
		return nil, false, err
	}
	if cm.GetDeletionTimestamp() != nil && r.GracePeriod != nil {
		return shortenGrace(r, current, cm, opts)
	}
	grace := gracePeriod(r, current, opts)
	finalizers := withGarbageCollection(cm.GetFinalizers(), opts, r.OrphansDependents)
	if len(finalizers) == 0 && r.GracePeriod == nil {
		return current, true, nil
	}
	updated := current.DeepCopyObject()
	um, err := accessor(r, updated)
	if err != nil {
		return nil, false, err
	}
	um.SetFinalizers(finalizers)
	if cm.GetDeletionTimestamp() != nil {
		return updated, false, nil
	}
	at := metav1.NewTime(time.Now().Add(time.Duration(grace) * time.Second)).Rfc3339Copy()
	um.SetDeletionTimestamp(&at)
	um.SetDeletionGracePeriodSeconds(&grace)
	if g := um.GetGeneration(); g > 0 {
		um.SetGeneration(g + 1)
	}
	return updated, false, nil
}

// checkDeletePreconditions compares the preconditions of a delete with the
// object. kube-apiserver names the kind in these errors, not the resource.
func checkDeletePreconditions(r *Resource, m metav1.Object, p *metav1.Preconditions) error {
	gr := schema.GroupResource{Group: r.GroupVersionKind.Group, Resource: r.GroupVersionKind.Kind}
	switch {
	case p == nil:
	case p.UID != nil && *p.UID != m.GetUID():
		return apierrors.NewConflict(gr, m.GetName(), fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, m.GetUID()))
	case p.ResourceVersion != nil && *p.ResourceVersion != m.GetResourceVersion():
		return apierrors.NewConflict(gr, m.GetName(), fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, m.GetResourceVersion()))
	}
	return nil
}

// gracePeriod is how many seconds a deleted object stays.
func gracePeriod(r *Resource, obj runtime.Object, opts *metav1.DeleteOptions) int64 {
	if r.GracePeriod == nil {
		return 0
	}
	grace := r.GracePeriod(obj, opts.GracePeriodSeconds)
	if grace < 0 {
		return 1
	}
	return grace
}

// shortenGrace deletes an object that is being deleted already. Its grace
// period can only become shorter, and with none left only finalizers hold it.
func shortenGrace(r *Resource, current runtime.Object, cm metav1.Object, opts *metav1.DeleteOptions) (runtime.Object, bool, error) {
	held := len(cm.GetFinalizers()) > 0
	old := cm.GetDeletionGracePeriodSeconds()
	if old == nil || *old == 0 {
		return current, !held, nil
	}
	asked := opts.GracePeriodSeconds
	if asked == nil || *asked >= *old {
		return current, false, nil
	}
	grace := *asked
	if grace < 0 {
		grace = 1
	}
	updated := current.DeepCopyObject()
	um, err := accessor(r, updated)
	if err != nil {
		return nil, false, err
	}
	at := metav1.NewTime(cm.GetDeletionTimestamp().Add(time.Duration(grace-*old) * time.Second))
	if now := metav1.Now().Rfc3339Copy(); at.Before(&now) {
		at = now
	}
	um.SetDeletionTimestamp(&at)
	um.SetDeletionGracePeriodSeconds(&grace)
	return updated, false, nil
}

// withGarbageCollection returns the finalizers that an object has after a
// delete with the given options: those of the garbage collector are set or
// taken away by the propagation policy. Without one they stay as they are; if
// there are none, orphans says whether dependents become orphans.
func withGarbageCollection(finalizers []string, opts *metav1.DeleteOptions, orphans bool) []string {
	//lint:ignore SA1019 clients may still send it
	oldOrphan := opts.OrphanDependents
	if opts.PropagationPolicy == nil && oldOrphan == nil {
		if !orphans || slices.ContainsFunc(finalizers, isGarbageCollection) {
			return finalizers
		}
		return append(slices.Clip(finalizers), metav1.FinalizerOrphanDependents)
	}
	orphan, foreground := oldOrphan != nil && *oldOrphan, false
	if policy := opts.PropagationPolicy; policy != nil {
		orphan = *policy == metav1.DeletePropagationOrphan
		foreground = *policy == metav1.DeletePropagationForeground
	}
	var result []string
	for _, f := range finalizers {
		if !isGarbageCollection(f) {
			result = append(result, f)
		}
	}
	if orphan {
		result = append(result, metav1.FinalizerOrphanDependents)
	}
	if foreground {
		result = append(result, metav1.FinalizerDeleteDependents)
	}
	return slices.Clip(result)
}

// isGarbageCollection reports whether a finalizer is one of the garbage collector.
func isGarbageCollection(finalizer string) bool {
	return finalizer == metav1.FinalizerOrphanDependents || finalizer == metav1.FinalizerDeleteDependents
}

// deleteCollection deletes all objects that the selectors of the request
// select, and answers with them as they were before.
func (h *Handler) deleteCollection(ctx context.Context, q *request) error {
	opts, err := deleteOptions(q)
	if err != nil {
		return err
	}
	out, err := negotiate(q.Request, q.res, shapeList)
	if err != nil {
		return err
	}
	listOpts, err := parseListOptions(q.query, false)
	if err != nil {
		return err
	}
	list, sel, err := h.readList(ctx, q, listOpts)
	if err != nil {
		return err
	}
	for _, item := range list.Items {
		m, err := accessor(q.res, item)
		if err != nil {
			return err
		}
		key := types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}
		// Those that others have deleted meanwhile are told, too.
		if _, _, err := h.deleteObject(ctx, q, key, opts); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return h.respondList(ctx, q, list, sel, out)
}
