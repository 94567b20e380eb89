package endpoints

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"heliograph.example/apiserver/storage"
)

const (
	// nameTries is how many names are tried for a generateName.
	nameTries = 8
	// nameSuffix is the length of what is appended to a generateName, and
	// maxGenerated the length that the whole may have.
	nameSuffix   = 5
	maxGenerated = 63
)

// create stores a new object.
func (h *Handler) create(ctx context.Context, q *request) error {
	opts := &metav1.CreateOptions{}
	err := parseOptions(q.query, "CreateOptions", opts, func() field.ErrorList {
		return metav1validation.ValidateCreateOptions(opts)
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
	created, err := h.createObject(ctx, q, obj, isDryRun(opts.DryRun))
	if err != nil {
		return err
	}
	return h.respondObject(ctx, q, http.StatusCreated, created, out)
}

// createObject completes obj, which it may change, and stores it.
func (h *Handler) createObject(ctx context.Context, q *request, obj runtime.Object, dryRun bool) (runtime.Object, error) {
	store, err := q.srv.storage()
	if err != nil {
		return nil, err
	}
	m, err := accessor(q.res, obj)
	if err != nil {
		return nil, err
	}
	if v := m.GetResourceVersion(); v != "" && v != "0" {
		// As on kube-apiserver a 500 without a reason.
		return nil, errors.New("resourceVersion should not be set on objects to be created")
	}
	m.SetResourceVersion("")
	if err := setNamespace(q, m); err != nil {
		return nil, err
	}
	initialize(q.res, obj, m)

	generate := m.GetName() == "" && m.GetGenerateName() != ""
	for try := 1; ; try++ {
		if generate {
			m.SetName(generateName(m.GetGenerateName()))
		}
		if q.res.Initialize != nil {
			q.res.Initialize(obj)
		}
		if errs := validateMeta(q.res, m); len(errs) > 0 {
			return nil, apierrors.NewInvalid(q.res.GroupVersionKind.GroupKind(), m.GetName(), errs)
		}
		created, err := storeNew(ctx, store, q, m, obj, dryRun)
		if !apierrors.IsAlreadyExists(err) {
			return created, err
		}
		if !generate {
			return nil, existsError(ctx, store, q, m, err)
		}
		if try == nameTries {
			return nil, apierrors.NewGenerateNameConflict(q.res.GroupResource(), m.GetName(), 1)
		}
	}
}

// setNamespace gives an object the namespace of the request, or says that it
// has another one.
func setNamespace(q *request, m metav1.Object) error {
	switch {
	case !q.res.Namespaced, m.GetNamespace() == "":
		m.SetNamespace(q.namespace)
	case m.GetNamespace() != q.namespace:
		return badRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	return nil
}

// initialize sets the fields of a new object that the server owns.
func initialize(r *Resource, obj runtime.Object, m metav1.Object) {
	if r.Status {
		clearStatus(obj)
	}
	m.SetUID(uuid.NewUUID())
	m.SetCreationTimestamp(metav1.Now().Rfc3339Copy())
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetSelfLink("")
	m.SetManagedFields(nil)
	// Where the server does not count generations, it keeps what it is sent.
	if r.Generation {
		m.SetGeneration(1)
	}
}

// generateName makes a name from a base.
func generateName(base string) string {
	return base[:min(len(base), maxGenerated-nameSuffix)] + rand.String(nameSuffix)
}

// validateMeta checks the metadata of an object as kube-apiserver does for all
// kinds. Most kinds want a DNS subdomain for a name; those of RBAC take what
// fits into a path. Built-in kinds want finalizers to name a domain.
func validateMeta(r *Resource, m metav1.Object) field.ErrorList {
	name := validation.NameIsDNSSubdomain
	if r.GroupVersionKind.Group == "rbac.authorization.k8s.io" {
		name = nameIsPathSegment
	}
	path := field.NewPath("metadata")
	errs := validation.ValidateObjectMetaAccessor(m, r.Namespaced, name, path)
	if r.Custom {
		return errs
	}
	for i, f := range m.GetFinalizers() {
		if !strings.Contains(f, "/") && !slices.Contains(standardFinalizers, f) {
			errs = append(errs, field.Invalid(path.Child("finalizers").Index(i), f,
				"name is neither a standard finalizer name nor is it fully qualified"))
		}
	}
	return errs
}

// standardFinalizers are those that built-in kinds may have without a domain.
var standardFinalizers = []string{string(corev1.FinalizerKubernetes), metav1.FinalizerOrphanDependents, metav1.FinalizerDeleteDependents}

// nameIsPathSegment tells what keeps a name, or the beginning of one, from
// being a segment of a path.
func nameIsPathSegment(name string, prefix bool) []string {
	if prefix {
		return content.IsPathSegmentPrefix(name)
	}
	return content.IsPathSegmentName(name)
}

// storeNew stores a new object, or only finds out whether it could be stored.
func storeNew(ctx context.Context, store storage.Interface, q *request, m metav1.Object, obj runtime.Object, dryRun bool) (runtime.Object, error) {
	key := types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}
	if !dryRun {
		return store.Create(ctx, key, obj)
	}
	switch _, err := store.Get(ctx, key, ""); {
	case apierrors.IsNotFound(err):
		return obj, nil
	case err != nil:
		return nil, err
	}
	return nil, apierrors.NewAlreadyExists(q.res.GroupResource(), m.GetName())
}

// existsError is the answer to a create for a name that is taken. It tells if
// the name is about to become free.
func existsError(ctx context.Context, store storage.Interface, q *request, m metav1.Object, err error) error {
	key := types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}
	existing, gerr := store.Get(ctx, key, "")
	if gerr != nil {
		// It has gone meanwhile; the answer still is what was found.
		return err
	}
	em, gerr := accessor(q.res, existing)
	if gerr != nil || em.GetDeletionTimestamp() == nil {
		return err
	}
	status := toStatus(err)
	status.Message = "object is being deleted: " + status.Message
	return &apierrors.StatusError{ErrStatus: *status}
}
