package reflector

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// ErrNoObject is wrapped by the error of a Getter whose collection has no object
// of the name. It is not the 404 of a server that does not serve the resource.
var ErrNoObject = errors.New("reflector: no such object")

// Getter is implemented by a Source that can read one object again by its name.
// The reflector uses it for objects that could not be used before.
type Getter[T any] interface {
	// Get returns the newest state of the object under key, as List would
	// give it: an object that cannot be used is an item with Err set, and no
	// error. If the collection has no such object, because it is gone or a
	// selector leaves it out, the error wraps ErrNoObject, and the version of
	// the item is that of the collection without it, where that is known. An
	// error that wraps errors.ErrUnsupported says that Get will never work.
	Get(ctx context.Context, key types.NamespacedName) (Item[T], error)
}

// nameSelector narrows a field selector to one name. Every resource has the field
// metadata.name, and kube-apiserver answers such a list with one look at its
// storage; the user needs no verb beside list, and the selectors of the source
// hold.
func nameSelector(selector, name string) string {
	byName := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	if selector == "" {
		return byName
	}
	return selector + "," + byName
}

// named are the options of a request for the one object under key.
func (o SourceOptions) named(key types.NamespacedName) metav1.ListOptions {
	var opts metav1.ListOptions
	o.apply(&opts)
	opts.FieldSelector = nameSelector(opts.FieldSelector, key.Name)
	return opts
}

// Get reads one object as a list of one.
func (s *clientSource[T]) Get(ctx context.Context, key types.NamespacedName) (Item[T], error) {
	if s.named == nil {
		return Item[T]{}, fmt.Errorf("%s: reading %s again: %w", s.name, key, errors.ErrUnsupported)
	}
	single := *s
	single.list = func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
		return s.named(ctx, key)
	}
	return find(s.name, key, func(each func(Item[T]) error) (Page, error) {
		return single.List(ctx, metav1.ListOptions{}, each)
	})
}

// find looks for key in a list of the collection called name.
func find[T any](name string, key types.NamespacedName, list func(each func(Item[T]) error) (Page, error)) (Item[T], error) {
	var found Item[T]
	there := false
	page, err := list(func(it Item[T]) error {
		// Fakes ignore field selectors, so a name has to fit. What has no
		// name that can be read was still asked for by name.
		if it.Key == key || it.Key.Name == "" && !there {
			found, there = it, true
		}
		return nil
	})
	if err != nil {
		return Item[T]{}, err
	}
	found.Key = key
	if !there {
		found.Version = page.Version
		return found, fmt.Errorf("%s: %s: %w", name, key, ErrNoObject)
	}
	return found, nil
}
