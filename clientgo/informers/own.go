package informers

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"

	"heliograph.example/clientgo/cache"
	"heliograph.example/clientgo/internal/running"
	"heliograph.example/informer"
	"heliograph.example/reflector"
)

var errNilClient = errors.New("the clientset is nil")

// own returns the factory's informer for the type of obj, which is one of ours if it
// was not made by a call of InformerFor.
func (f *sharedInformerFactory) own(obj runtime.Object) toolscache.SharedIndexInformer {
	key := reflect.TypeOf(obj)
	return f.informers.Informer(key, func() toolscache.SharedIndexInformer {
		made, err := f.create(obj)
		if err != nil {
			// Nobody can be told before it runs.
			made = running.Failing(fmt.Errorf("informer for %v: %w", key, err), obj, toolscache.SharedIndexInformerOptions{
				ResyncPeriod: f.resync(key), Indexers: running.ByNamespace(),
			})
		}
		return f.prepared(made)
	})
}

// create makes an informer.
func (f *sharedInformerFactory) create(obj runtime.Object) (toolscache.SharedIndexInformer, error) {
	if isNil(f.client) {
		return nil, errNilClient
	}
	resource, err := resourceOf(obj)
	if err != nil {
		return nil, err
	}
	at, ok := accessors()[reflect.TypeOf(obj)]
	if !ok {
		return nil, fmt.Errorf("no clientset lists %v", resource)
	}
	source, shape, err := f.source(obj, at, resource)
	if err != nil {
		return nil, err
	}
	return cache.NewSharedIndexInformerFromSource(source, obj, toolscache.SharedIndexInformerOptions{
		ResyncPeriod: f.resync(reflect.TypeOf(obj)), Indexers: running.ByNamespace(), Identifier: f.informerName.WithResource(resource),
	}, informer.Options[any]{
		Name: f.nameOf(resource, at), Shape: shape,
		// What client-go's users give as a transform writes into its argument.
		ReadOnlyTransform: !f.shape.Unshared && f.transform == nil,
		Reflector:         reflector.Options[any]{Group: f.lists},
	})
}

// nameOf is what errors call what an informer reads.
func (f *sharedInformerFactory) nameOf(resource schema.GroupVersionResource, at accessor) string {
	if at.namespaced && f.namespace != "" {
		return resource.GroupResource().String() + " in " + f.namespace
	}
	return resource.GroupResource().String()
}

// source reads a resource with our decoders through the REST client of its group, or,
// where that is not client-go's, by the methods of the typed client. It says what shape
// its objects can have.
func (f *sharedInformerFactory) source(obj runtime.Object, at accessor, resource schema.GroupVersionResource) (reflector.Source[any], reflector.Shape, error) {
	client, ok := at.restClient(f.client)
	if !ok {
		lw := toolscache.ToListWatcherWithWatchListSemantics(at.listWatch(f.client, f.namespace, f.tweak), f.client)
		source, err := reflector.FromListerWatcher[any](lw)
		return source, reflector.Shape{DropManagedFields: f.shape.DropManagedFields, Unshared: true}, err
	}
	opts := reflector.SourceOptions{Tweak: f.tweak}
	if at.namespaced {
		opts.Namespace = f.namespace
	}
	source, err := reflector.NewRESTSourceOf(client, resource.Resource, obj.(reflector.Object), opts)
	return reflector.Untyped(source), f.shape, err
}

// client returns the client of the group.
func (at accessor) client(clientset kubernetes.Interface) reflect.Value {
	return reflect.ValueOf(clientset).MethodByName(at.group).Call(nil)[0].Elem()
}

// restClient returns the REST client of the group. ok is false if the group's client is
// not what a clientset of client-go has: one that a program has put in its place wants
// to be called.
func (at accessor) restClient(clientset kubernetes.Interface) (client rest.Interface, ok bool) {
	group := at.client(clientset)
	if !group.IsValid() || group.Type() != at.client(&kubernetes.Clientset{}).Type() {
		return nil, false
	}
	client = group.Interface().(interface{ RESTClient() rest.Interface }).RESTClient()
	return client, !isNil(client)
}

// listWatch lists and watches by the methods of a typed client.
func (at accessor) listWatch(clientset kubernetes.Interface, namespace string, tweak func(*metav1.ListOptions)) *toolscache.ListWatch {
	call := func(method string, ctx context.Context, opts metav1.ListOptions) (any, error) {
		if tweak != nil {
			tweak(&opts)
		}
		var scope []reflect.Value
		if at.namespaced {
			scope = append(scope, reflect.ValueOf(namespace))
		}
		typed := at.client(clientset).MethodByName(at.resource).Call(scope)[0]
		results := typed.MethodByName(method).Call([]reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(opts)})
		if err, failed := results[1].Interface().(error); failed {
			return nil, err
		}
		return results[0].Interface(), nil
	}
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			list, err := call("List", ctx, opts)
			if err != nil {
				return nil, err
			}
			return list.(runtime.Object), nil
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			w, err := call("Watch", ctx, opts)
			if err != nil {
				return nil, err
			}
			opened, _ := w.(watch.Interface)
			return opened, nil
		},
	}
}

// isNil reports whether v is nil, or a nil pointer in an interface.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	value := reflect.ValueOf(v)
	return value.Kind() == reflect.Pointer && value.IsNil()
}
