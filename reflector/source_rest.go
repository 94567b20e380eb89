package reflector

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// NewRESTSource returns a source of the resource, such as "pods", over a REST
// client of its group and version, such as clientset.CoreV1().RESTClient(). The
// config of the client decides between JSON and protobuf, and its scheme knows
// the types. Objects of another type than T come as items with an error.
//
// The client's own retries are off for these requests: one back-off, that of
// the reflector, honours Retry-After and shows in its status.
//
// A nil client, an empty resource, a bad namespace or a bad selector is an error
// that wraps ErrInvalid.
func NewRESTSource[T Object](client rest.Interface, resource string, opts SourceOptions) (Source[T], error) {
	if isNil(client) {
		return nil, fmt.Errorf("%w REST client for %q: it is nil", ErrInvalid, resource)
	}
	if err := opts.check(resource); err != nil {
		return nil, err
	}
	name := opts.name(resource)
	request := func(list metav1.ListOptions, namespace string) *rest.Request {
		return client.Get().
			NamespaceIfScoped(namespace, namespace != "").
			Resource(resource).
			VersionedParams(&list, metav1.ParameterCodec).
			MaxRetries(0)
	}
	read := func(ctx context.Context, request *rest.Request) (runtime.Object, error) {
		result := request.Do(ctx)
		if err := result.Error(); err != nil {
			return nil, err
		}
		obj, err := result.Get()
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %w", name, ErrDecode, err)
		}
		return obj, nil
	}
	return &clientSource[T]{
		name: name,
		list: func(ctx context.Context, list metav1.ListOptions) (runtime.Object, error) {
			opts.apply(&list)
			return read(ctx, request(list, opts.Namespace))
		},
		watch: func(ctx context.Context, list metav1.ListOptions) (watch.Interface, error) {
			opts.apply(&list)
			return request(list, opts.Namespace).Watch(ctx)
		},
		named: func(ctx context.Context, key types.NamespacedName) (runtime.Object, error) {
			return read(ctx, request(opts.named(key), key.Namespace))
		},
		fake: isFake(client),
	}, nil
}
