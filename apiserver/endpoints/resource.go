package endpoints

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource says how one resource is served. GroupVersionKind and Plural are
// required.
type Resource struct {
	// GroupVersionKind is the kind of its objects. If the scheme of the
	// handler knows it, objects are Go values of its type; else they are
	// unstructured.
	GroupVersionKind schema.GroupVersionKind
	// Plural is its name in paths, such as "pods".
	Plural string
	// Singular is its name in discovery; empty means the kind in lower case.
	Singular string
	// ShortNames are other names in discovery.
	ShortNames []string
	// Namespaced is whether its objects live in namespaces.
	Namespaced bool
	// Status is whether it has a status subresource: then writes to the
	// object leave its status alone, and writes to the subresource leave all
	// the rest alone, except for StatusMetadata.
	Status bool
	// Custom is whether it behaves as resources from a
	// CustomResourceDefinition do: no protobuf, no strategic merge patch.
	Custom bool
	// StatusMetadata, if not nil, says that a write to the status subresource
	// changes labels, annotations, finalizers and owners as well, as it does
	// for the older built-in kinds. It is called with the metadata as it is to
	// become and as it is, and takes back what may not be changed.
	StatusMetadata func(wanted, current metav1.Object)
	// Generation is whether the server counts in metadata.generation the
	// changes outside metadata and status.
	Generation bool
	// CountedMetadata, if not nil, returns what of the metadata counts, too.
	CountedMetadata func(m metav1.Object) map[string]string
	// Unconditional is whether an update may come without a resource version.
	Unconditional bool
	// CreateOnUpdate is whether an update of an object that does not exist
	// creates it.
	CreateOnUpdate bool
	// ReturnsDeleted is whether a delete answers with the object instead of a
	// Status.
	ReturnsDeleted bool
	// OrphansDependents is whether a delete that does not say what becomes of
	// dependents leaves them to the garbage collector as orphans, for which it
	// sets a finalizer.
	OrphansDependents bool
	// Fields are the fields that a field selector may name besides
	// metadata.name and metadata.namespace, each with its value.
	Fields map[string]func(obj runtime.Object) string
	// Initialize, if not nil, completes an object that is being created and
	// has got its name, once for each name that is tried. It may change it.
	Initialize func(obj runtime.Object)
	// GracePeriod, if not nil, tells in seconds how long a deleted object
	// stays, given the period that the client asked for (nil if none). Nil
	// means that objects do not stay.
	GracePeriod func(obj runtime.Object, asked *int64) int64
}

// GroupVersionResource is the resource with its version.
func (r *Resource) GroupVersionResource() schema.GroupVersionResource {
	return r.GroupVersionKind.GroupVersion().WithResource(r.Plural)
}

// GroupResource is the resource without a version.
func (r *Resource) GroupResource() schema.GroupResource {
	return r.GroupVersionResource().GroupResource()
}

// Attributes returns what selectors match on: the labels of obj and the
// fields that may be selected.
func (r *Resource) Attributes(obj runtime.Object) (labels.Set, fields.Set, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", r.GroupResource(), err)
	}
	set := make(fields.Set, len(r.Fields)+2)
	set["metadata.name"] = m.GetName()
	set["metadata.namespace"] = m.GetNamespace()
	for name, value := range r.Fields {
		set[name] = value(obj)
	}
	return m.GetLabels(), set, nil
}

// checkFields returns the error for a field selector that names a field which
// r does not offer.
func (r *Resource) checkFields(selector fields.Selector) error {
	for _, req := range selector.Requirements() {
		if req.Field == "metadata.name" || req.Field == "metadata.namespace" {
			continue
		}
		if _, ok := r.Fields[req.Field]; ok {
			continue
		}
		if len(r.Fields) == 0 && !r.Custom {
			return badRequest(`%q is not a known field selector: only "metadata.name", "metadata.namespace"`, req.Field)
		}
		return badRequest("field label not supported: %s", req.Field)
	}
	return nil
}

// check tells what is missing in r, if anything.
func (r *Resource) check() error {
	gvk := r.GroupVersionKind
	if gvk.Version == "" || gvk.Kind == "" {
		return fmt.Errorf("%w: version and kind are required: %v", ErrInvalidResource, gvk)
	}
	if gvk.Group == "" && gvk.Version != "v1" {
		return fmt.Errorf("%w: the core group has only version v1: %v", ErrInvalidResource, gvk)
	}
	if r.Plural == "" || r.Plural != strings.ToLower(r.Plural) || strings.ContainsAny(r.Plural, "/ ") {
		return fmt.Errorf("%w: %v: the plural must be a lower-case word: %q", ErrInvalidResource, gvk, r.Plural)
	}
	return nil
}

// New returns an empty object of the resource, its kind set: a Go value if
// scheme knows the kind, else unstructured.
func (r *Resource) New(scheme *runtime.Scheme) runtime.Object {
	return newObject(scheme, r.GroupVersionKind)
}

// newObject makes an empty object of a kind.
func newObject(scheme *runtime.Scheme, gvk schema.GroupVersionKind) runtime.Object {
	if scheme.Recognizes(gvk) {
		// Recognizes has just said that New knows the kind.
		if obj, err := scheme.New(gvk); err == nil {
			obj.GetObjectKind().SetGroupVersionKind(gvk)
			return obj
		}
	}
	u := &unstructured.Unstructured{Object: make(map[string]any, 4)}
	u.SetGroupVersionKind(gvk)
	return u
}

// newList makes the list object of r, without items.
func (r *Resource) newList(scheme *runtime.Scheme) (runtime.Object, error) {
	gvk := r.GroupVersionKind
	gvk.Kind += "List"
	if !scheme.Recognizes(gvk) || !scheme.Recognizes(r.GroupVersionKind) {
		list := &unstructured.UnstructuredList{
			// Lists of custom resources carry an empty continue token.
			Object: map[string]any{"metadata": map[string]any{"continue": ""}},
		}
		list.SetGroupVersionKind(gvk)
		return list, nil
	}
	list, err := scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	list.GetObjectKind().SetGroupVersionKind(gvk)
	// So that there is an empty list and not null.
	return list, r.setItems(list, nil)
}

// setItems puts items into a list object of r or a list of metadata. It shares
// the contents of items.
func (r *Resource) setItems(list runtime.Object, items []runtime.Object) error {
	if partials, ok := list.(*metav1.PartialObjectMetadataList); ok {
		for _, item := range items {
			partial, err := partialObject(item)
			if err != nil {
				return err
			}
			partials.Items = append(partials.Items, *partial)
		}
		return nil
	}
	if err := meta.SetList(list, items); err != nil {
		return fmt.Errorf("list of %s: %w", r.GroupResource(), err)
	}
	if _, ok := list.(*unstructured.UnstructuredList); ok || r.Custom {
		return nil
	}
	// The items are copies, so nothing shared is changed.
	return meta.EachListItem(list, func(item runtime.Object) error {
		item.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		return nil
	})
}

// copyStatus sets the status of to to that of from. An object without a
// status is left as it is.
func copyStatus(to, from runtime.Object) {
	if u, ok := to.(*unstructured.Unstructured); ok {
		status, found := from.(*unstructured.Unstructured).Object["status"]
		if !found {
			delete(u.Object, "status")
			return
		}
		u.Object["status"] = runtime.DeepCopyJSONValue(status)
		return
	}
	field := reflect.ValueOf(to).Elem().FieldByName("Status")
	if !field.IsValid() {
		return
	}
	// A deep copy, because objects of the storage are shared.
	field.Set(reflect.ValueOf(from.DeepCopyObject()).Elem().FieldByName("Status"))
}

// clearStatus removes the status of obj.
func clearStatus(obj runtime.Object) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		delete(u.Object, "status")
		return
	}
	if field := reflect.ValueOf(obj).Elem().FieldByName("Status"); field.IsValid() {
		field.SetZero()
	}
}

// sameGeneration reports whether nothing has changed that counts.
func (r *Resource) sameGeneration(a, b runtime.Object, am, bm metav1.Object) bool {
	return r.sameContent(a, b) && (r.CountedMetadata == nil || maps.Equal(r.CountedMetadata(am), r.CountedMetadata(bm)))
}

// sameContent reports whether two objects of r are equal outside metadata,
// and outside status where that is a subresource.
func (r *Resource) sameContent(a, b runtime.Object) bool {
	if ua, ok := a.(*unstructured.Unstructured); ok {
		return r.sameMap(ua.Object, b.(*unstructured.Unstructured).Object)
	}
	va, vb := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range va.NumField() {
		name := va.Type().Field(i).Name
		if name == "TypeMeta" || name == "ObjectMeta" || name == "Status" && r.Status {
			continue
		}
		if !equality.Semantic.DeepEqual(va.Field(i).Interface(), vb.Field(i).Interface()) {
			return false
		}
	}
	return true
}

// sameMap is sameContent for unstructured objects.
func (r *Resource) sameMap(a, b map[string]any) bool {
	skip := func(key string) bool {
		return key == "apiVersion" || key == "kind" || key == "metadata" || key == "status" && r.Status
	}
	for key, value := range a {
		if other, ok := b[key]; !skip(key) && (!ok || !equality.Semantic.DeepEqual(value, other)) {
			return false
		}
	}
	for key := range b {
		if _, ok := a[key]; !skip(key) && !ok {
			return false
		}
	}
	return true
}
