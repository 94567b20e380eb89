package reflector

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// NewDynamicSource returns a source of any resource as unstructured objects over
// a dynamic client, such as a fake. It takes an answer as a whole; NewRESTSource
// reads the same from a server one by one. A nil client, an empty resource, a bad namespace or a bad selector is an error
// that wraps ErrInvalid.
func NewDynamicSource(client dynamic.Interface, gvr schema.GroupVersionResource, opts SourceOptions) (Source[*unstructured.Unstructured], error) {
	if isNil(client) {
		return nil, fmt.Errorf("%w dynamic client for %q: it is nil", ErrInvalid, gvr.Resource)
	}
	if err := opts.check(gvr.Resource); err != nil {
		return nil, err
	}
	scoped := func(namespace string) dynamic.ResourceInterface {
		if namespace == "" {
			return client.Resource(gvr)
		}
		return client.Resource(gvr).Namespace(namespace)
	}
	return &clientSource[*unstructured.Unstructured]{
		name: opts.name(gvr.GroupResource().String()),
		list: func(ctx context.Context, list metav1.ListOptions) (runtime.Object, error) {
			opts.apply(&list)
			return scoped(opts.Namespace).List(ctx, list)
		},
		watch: func(ctx context.Context, list metav1.ListOptions) (watch.Interface, error) {
			opts.apply(&list)
			return scoped(opts.Namespace).Watch(ctx, list)
		},
		named: func(ctx context.Context, key types.NamespacedName) (runtime.Object, error) {
			return scoped(key.Namespace).List(ctx, opts.named(key))
		},
		fake: isFake(client),
	}, nil
}
