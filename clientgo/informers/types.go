package informers

import (
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"heliograph.example/reflector"
)

// accessor says where in a clientset the client of a type is: CoreV1 and Pods.
type accessor struct {
	group, resource string
	namespaced      bool
}

// accessors has those of all types that a clientset can list, by the type of a pointer
// to an object. The types of the clientset's methods tell: List returns a list, which
// has items.
var accessors = sync.OnceValue(func() map[reflect.Type]accessor {
	found := make(map[reflect.Type]accessor)
	clientset := reflect.TypeFor[kubernetes.Interface]()
	for i := range clientset.NumMethod() {
		group := clientset.Method(i)
		client, ok := result(group.Type)
		if !ok {
			continue
		}
		for j := range client.NumMethod() {
			resource := client.Method(j)
			typed, ok := result(resource.Type)
			if !ok {
				continue
			}
			if object, ok := listed(typed); ok {
				found[object] = accessor{group.Name, resource.Name, resource.Type.NumIn() == 1}
			}
		}
	}
	return found
})

// result returns the interface that a method returns, if that is all that it does.
func result(method reflect.Type) (reflect.Type, bool) {
	if method.NumOut() != 1 || method.Out(0).Kind() != reflect.Interface {
		return nil, false
	}
	return method.Out(0), true
}

// listed returns the type of a pointer to what a typed client lists and watches.
func listed(client reflect.Type) (reflect.Type, bool) {
	list, ok := client.MethodByName("List")
	if _, watches := client.MethodByName("Watch"); !ok || !watches || list.Type.NumOut() != 2 || list.Type.Out(0).Kind() != reflect.Pointer {
		return nil, false
	}
	items, ok := list.Type.Out(0).Elem().FieldByName("Items")
	if !ok || items.Type.Kind() != reflect.Slice {
		return nil, false
	}
	return reflect.PointerTo(items.Type.Elem()), true
}

// resourceOf returns the resource of an object of a built-in type. The name is guessed
// from that of the kind, which is right for all of them.
func resourceOf(obj runtime.Object) (schema.GroupVersionResource, error) {
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return resource, nil
}

// exampleOf returns an object of the type of a built-in resource.
func exampleOf(resource schema.GroupVersionResource) (reflector.Object, error) {
	for kind, t := range scheme.Scheme.KnownTypes(resource.GroupVersion()) {
		if _, ok := accessors()[reflect.PointerTo(t)]; !ok {
			continue
		}
		if name, _ := meta.UnsafeGuessKindToResource(resource.GroupVersion().WithKind(kind)); name == resource {
			return reflect.New(t).Interface().(reflector.Object), nil
		}
	}
	return nil, fmt.Errorf("no informer found for %v", resource)
}
