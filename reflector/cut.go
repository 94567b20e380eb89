package reflector

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// identity are the fields that no Shape leaves out: what an Item has beside its
// object, and what an object is.
var (
	identity = []string{"metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion"}
	typeMeta = []string{"apiVersion", "kind"}
)

const managedFields = "managedFields" // of metadata

// A cut takes away from decoded objects what a Shape leaves out. It is immutable.
type cut[T any] struct {
	drop bool
	mask *mask // nil keeps everything
}

// newCut returns the cut for a shape, nil if that leaves nothing out.
func newCut[T any](shape Shape) (*cut[T], error) {
	return newCutOf[T](reflect.TypeFor[T](), shape)
}

// newCutOf is newCut for the objects of one type among those that are a T.
func newCutOf[T any](object reflect.Type, shape Shape) (*cut[T], error) {
	t := object
	switch {
	case !shape.DropManagedFields && len(shape.Fields) == 0:
		return nil, nil
	case t.Kind() != reflect.Interface && !t.Implements(reflect.TypeFor[metav1.Object]()):
		return nil, fmt.Errorf("%w shape for %v: it has no metadata", ErrInvalid, t)
	case len(shape.Fields) == 0:
		return &cut[T]{drop: true}, nil
	case t == reflect.TypeFor[*unstructured.Unstructured]():
		t = nil
	case t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct:
		return nil, fmt.Errorf("%w fields for %v: only a pointer to a struct has fields that can be chosen", ErrInvalid, t)
	}
	c := &cut[T]{drop: shape.DropManagedFields, mask: &mask{}}
	for _, path := range slices.Concat(identity, typeMeta, shape.Fields) {
		if err := c.mask.add(t, strings.Split(path, ".")); err != nil && !slices.Contains(typeMeta, path) {
			return nil, fmt.Errorf("%w field %q of %v: %w", ErrInvalid, path, object, err)
		}
		if c.drop && (strings.HasPrefix(path+".", "metadata."+managedFields+".")) {
			return nil, fmt.Errorf("%w field %q of %v: managedFields are to be dropped", ErrInvalid, path, object)
		}
	}
	return c, nil
}

// of returns what is left of obj. It writes into obj only if that is own: else
// others may hold it.
func (c *cut[T]) of(obj T, own bool) T {
	if c == nil {
		return obj
	}
	if u, ok := any(obj).(*unstructured.Unstructured); ok {
		return any(c.unstructured(u, own)).(T)
	}
	if c.mask != nil {
		left := reflect.New(reflect.TypeOf(obj)).Elem()
		c.mask.copy(left, reflect.ValueOf(obj))
		obj, own = left.Interface().(T), true
	}
	meta, ok := any(obj).(metav1.Object)
	if !c.drop || !ok || meta.GetManagedFields() == nil {
		return obj
	}
	if at := reflect.ValueOf(obj); !own && at.Kind() == reflect.Pointer {
		left := reflect.New(at.Type().Elem())
		left.Elem().Set(at.Elem())
		obj, meta = left.Interface().(T), left.Interface().(metav1.Object)
	}
	meta.SetManagedFields(nil)
	return obj
}

func (c *cut[T]) unstructured(u *unstructured.Unstructured, own bool) *unstructured.Unstructured {
	if c.mask != nil {
		left, _ := c.mask.within(u.Object)
		object, _ := left.(map[string]any)
		u = &unstructured.Unstructured{Object: object}
		own = false // what is below belongs to the first object too
	}
	meta, _ := u.Object["metadata"].(map[string]any)
	if _, has := meta[managedFields]; !c.drop || !has {
		return u
	}
	if !own {
		meta = maps.Clone(meta)
		u = &unstructured.Unstructured{Object: maps.Clone(u.Object)}
		u.Object["metadata"] = meta
	}
	delete(meta, managedFields)
	return u
}
