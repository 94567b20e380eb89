package informer

import (
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scope narrows what an informer of a factory reads.
type Scope struct {
	// Kind names the kind to read. It must be given for unstructured and
	// metadata-only objects, and for a type that is several kinds in the
	// scheme; for other types it is empty or must agree with the scheme.
	Kind schema.GroupVersionKind
	// Resource is the plural name of the kind in paths, such as "widgets". If it
	// is empty, the server is asked, and has to serve the kind when it is. Give
	// it for a kind that the server may come to serve later: then the informer
	// waits for that, in state reflector.NotServed.
	Resource string
	// Namespace is the one namespace to read; empty means all. It must be
	// empty for a cluster-scoped resource.
	Namespace string
	// LabelSelector and FieldSelector, in the syntax of the API, narrow the
	// collection at the server; empty means everything.
	LabelSelector string
	FieldSelector string
}

// normalize checks the selectors and writes them in one way, so that the same
// selection is the same scope.
func (s Scope) normalize() (Scope, error) {
	l, err := labels.Parse(s.LabelSelector)
	if err != nil {
		return s, fmt.Errorf("%w: label selector %q: %w", ErrInvalid, s.LabelSelector, err)
	}
	f, err := fields.ParseSelector(s.FieldSelector)
	if err != nil {
		return s, fmt.Errorf("%w: field selector %q: %w", ErrInvalid, s.FieldSelector, err)
	}
	s.LabelSelector, s.FieldSelector = l.String(), f.String()
	return s, nil
}

// name is what errors and logs call the collection.
func (s Scope) name(resource schema.GroupResource) string {
	var b strings.Builder
	b.WriteString(resource.String())
	if s.Namespace != "" {
		fmt.Fprintf(&b, " in %s", s.Namespace)
	}
	if s.LabelSelector != "" {
		fmt.Fprintf(&b, " with labels %s", s.LabelSelector)
	}
	if s.FieldSelector != "" {
		fmt.Fprintf(&b, " with fields %s", s.FieldSelector)
	}
	return b.String()
}

// form is how objects of a Go type are read from a server.
type form int

const (
	typed form = iota
	unstructuredForm
	metadataForm
)

// formOf classifies T.
func formOf(t reflect.Type) (form, error) {
	switch t {
	case reflect.TypeFor[*unstructured.Unstructured]():
		return unstructuredForm, nil
	case reflect.TypeFor[*metav1.PartialObjectMetadata]():
		return metadataForm, nil
	}
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return 0, fmt.Errorf("%w: type %v is not a pointer to an API type, such as *corev1.Pod", ErrInvalid, t)
	}
	return typed, nil
}

// kindOf returns the kind that T is read as.
func kindOf(t reflect.Type, f form, asked schema.GroupVersionKind, scheme *runtime.Scheme) (schema.GroupVersionKind, error) {
	if f != typed {
		if asked.Kind == "" || asked.Version == "" {
			return asked, fmt.Errorf("%w: %v needs Scope.Kind with at least version and kind", ErrInvalid, t)
		}
		return asked, nil
	}
	example, ok := reflect.New(t.Elem()).Interface().(runtime.Object)
	if !ok {
		return asked, fmt.Errorf("%w: %v is not a runtime.Object", ErrInvalid, t)
	}
	kinds, _, err := scheme.ObjectKinds(example)
	if err != nil {
		return asked, fmt.Errorf("%w: %v is not in the factory's scheme; register it and give the scheme in FactoryOptions: %w", ErrInvalid, t, err)
	}
	if asked.Empty() {
		if len(kinds) > 1 {
			return asked, fmt.Errorf("%w: %v is each of %v in the scheme; say which in Scope.Kind", ErrInvalid, t, kinds)
		}
		return kinds[0], nil
	}
	for _, k := range kinds {
		if k == asked {
			return k, nil
		}
	}
	return asked, fmt.Errorf("%w: %v is %v in the scheme, not %v", ErrInvalid, t, kinds, asked)
}
