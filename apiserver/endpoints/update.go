package endpoints

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// update replaces an object, or its status.
func (h *Handler) update(ctx context.Context, q *request) error {
	opts := &metav1.UpdateOptions{}
	err := parseOptions(q.query, "UpdateOptions", opts, func() field.ErrorList {
		return metav1validation.ValidateUpdateOptions(opts)
	})
	if err != nil {
		return err
	}
	out, err := negotiate(q.Request, q.res, shapeObject)
	if err != nil {
		return err
	}
	obj, err := h.decodeBody(q)
	if err != nil {
		return err
	}
	if err := checkName(q, obj); err != nil {
		return err
	}
	updated, err := h.write(ctx, q, isDryRun(opts.DryRun), func(runtime.Object) (runtime.Object, error) {
		// A copy, because it is completed from the current object, and again
		// if that has changed meanwhile.
		return obj.DeepCopyObject(), nil
	})
	code := http.StatusOK
	if apierrors.IsNotFound(err) && q.res.CreateOnUpdate && q.subresource == "" {
		updated, err = h.createByUpdate(ctx, q, obj, isDryRun(opts.DryRun))
		code = http.StatusCreated
	}
	if err != nil {
		return err
	}
	return h.respondObject(ctx, q, code, updated, out)
}

// createByUpdate creates what an update did not find. Unlike a create it may
// name a resource version.
func (h *Handler) createByUpdate(ctx context.Context, q *request, obj runtime.Object, dryRun bool) (runtime.Object, error) {
	m, err := accessor(q.res, obj)
	if err != nil {
		return nil, err
	}
	m.SetResourceVersion("")
	return h.createObject(ctx, q, obj, dryRun)
}

// checkName makes sure that an object is the one that the path names.
func checkName(q *request, obj runtime.Object) error {
	m, err := accessor(q.res, obj)
	if err != nil {
		return err
	}
	if m.GetName() == "" {
		return badRequest("the name of the object (%s based on URL) was undeterminable: name must be provided", q.name)
	}
	if m.GetName() != q.name {
		return badRequest("the name of the object (%s) does not match the name on the URL (%s)", m.GetName(), q.name)
	}
	return setNamespace(q, m)
}

// write changes an object in one atomic step: change makes the wanted state,
// a fresh object, from the current one, and write completes it by the rules
// for all objects. It returns the state to show to the client.
func (h *Handler) write(ctx context.Context, q *request, dryRun bool, change func(current runtime.Object) (runtime.Object, error)) (runtime.Object, error) {
	store, err := q.srv.storage()
	if err != nil {
		return nil, err
	}
	var last runtime.Object // what a removed object looked like at last
	step := func(current runtime.Object) (runtime.Object, bool, error) {
		wanted, err := change(current)
		if err != nil {
			return nil, false, err
		}
		updated, err := prepareUpdate(q, current, wanted)
		if err != nil {
			return nil, false, err
		}
		remove, err := isFinalized(q.res, updated)
		if remove {
			last = updated
		} else {
			last = nil
		}
		return updated, remove, err
	}
	if dryRun {
		current, err := store.Get(ctx, q.key(), "")
		if err != nil {
			return nil, err
		}
		updated, _, err := step(current)
		return updated, err
	}
	updated, err := store.Update(ctx, q.key(), step)
	if err != nil {
		return nil, err
	}
	if last != nil {
		// The write removed the last finalizer: the client is shown the
		// object as it wanted it, at its old resource version.
		return last, nil
	}
	return updated, nil
}

// prepareUpdate completes wanted, which it changes, from the current state.
func prepareUpdate(q *request, current, wanted runtime.Object) (runtime.Object, error) {
	cm, err := accessor(q.res, current)
	if err != nil {
		return nil, err
	}
	wm, err := accessor(q.res, wanted)
	if err != nil {
		return nil, err
	}
	if err := checkPreconditions(q, cm, wm); err != nil {
		return nil, err
	}
	if q.subresource == "status" {
		return prepareStatus(q.res, current, wanted)
	}
	if q.res.Status {
		copyStatus(wanted, current)
	}
	keepOwned(wm, cm)
	if err := validateUpdate(q.res, wm, cm); err != nil {
		return nil, err
	}
	if q.res.Generation && !q.res.sameGeneration(current, wanted, cm, wm) {
		wm.SetGeneration(cm.GetGeneration() + 1)
	}
	return wanted, nil
}

// prepareStatus returns current with the status of wanted, and with its
// metadata where the resource allows that.
func prepareStatus(r *Resource, current, wanted runtime.Object) (runtime.Object, error) {
	updated := current.DeepCopyObject()
	copyStatus(updated, wanted)
	if r.StatusMetadata == nil {
		return updated, nil
	}
	um, err := accessor(r, updated)
	if err != nil {
		return nil, err
	}
	wm, err := accessor(r, wanted)
	if err != nil {
		return nil, err
	}
	cm, err := accessor(r, current)
	if err != nil {
		return nil, err
	}
	um.SetLabels(wm.GetLabels())
	um.SetAnnotations(wm.GetAnnotations())
	um.SetFinalizers(wm.GetFinalizers())
	um.SetOwnerReferences(wm.GetOwnerReferences())
	r.StatusMetadata(um, cm)
	return updated, validateUpdate(r, um, cm)
}

// validateUpdate checks changed metadata. What must not change is checked
// first, and alone.
func validateUpdate(r *Resource, wanted, current metav1.Object) error {
	errs := validation.ValidateObjectMetaAccessorUpdate(wanted, current, field.NewPath("metadata"))
	if len(errs) == 0 {
		errs = validateMeta(r, wanted)
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(r.GroupVersionKind.GroupKind(), wanted.GetName(), errs)
	}
	return nil
}

// checkPreconditions compares the resource version and the UID in a write
// with those of the current object.
func checkPreconditions(q *request, current, wanted metav1.Object) error {
	switch version := wanted.GetResourceVersion(); {
	case version != "" && version != "0":
		if _, err := strconv.ParseUint(version, 10, 64); err != nil {
			// As on kube-apiserver a 500 without a reason.
			return err
		}
		if version != current.GetResourceVersion() {
			return conflictModified(q.res, current.GetName())
		}
	case !q.res.Unconditional && q.verb == "update":
		// kube-apiserver names the resource where it names kinds elsewhere.
		gk := q.res.GroupVersionKind.GroupKind()
		gk.Kind = q.res.Plural
		return apierrors.NewInvalid(gk, current.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
	}
	// For a patch, which starts from the current object, a UID is no
	// precondition but a change that validation refuses.
	if uid := wanted.GetUID(); q.verb == "update" && uid != "" && uid != current.GetUID() {
		reason := fmt.Sprintf("Precondition failed: UID in precondition: %v, UID in object meta: %v", uid, current.GetUID())
		return apierrors.NewConflict(q.res.GroupResource(), current.GetName(), errors.New(reason))
	}
	return nil
}

// keepOwned sets the metadata that the server owns to what it is. Where that is
// not silent on kube-apiserver, validateUpdate refuses what is left here.
func keepOwned(wanted, current metav1.Object) {
	wanted.SetResourceVersion(current.GetResourceVersion())
	if wanted.GetUID() == "" {
		wanted.SetUID(current.GetUID())
	}
	wanted.SetCreationTimestamp(current.GetCreationTimestamp())
	if current.GetDeletionTimestamp() != nil {
		wanted.SetDeletionTimestamp(current.GetDeletionTimestamp())
	}
	if wanted.GetDeletionGracePeriodSeconds() == nil {
		wanted.SetDeletionGracePeriodSeconds(current.GetDeletionGracePeriodSeconds())
	}
	wanted.SetGeneration(current.GetGeneration())
	wanted.SetSelfLink("")
	wanted.SetManagedFields(nil)
}

// isFinalized reports whether nothing holds a deleted object any more.
func isFinalized(r *Resource, obj runtime.Object) (bool, error) {
	m, err := accessor(r, obj)
	if err != nil {
		return false, err
	}
	grace := m.GetDeletionGracePeriodSeconds()
	return m.GetDeletionTimestamp() != nil && len(m.GetFinalizers()) == 0 && (grace == nil || *grace == 0), nil
}
