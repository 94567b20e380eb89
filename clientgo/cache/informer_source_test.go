package cache

import (
	"reflect"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/informer"
	"heliograph.example/reflector"
)

func TestASourceOfOursIsReadWithOurDecodersAndSharesOnlyWhenAsked(t *testing.T) {
	for name, readOnly := range map[string]bool{"private": false, "shared": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := apiservertest.Start(t, apiserver.Options{})
				for _, name := range []string{"a", "b", "c", "d", "e"} {
					if _, err := server.Client().CoreV1().ConfigMaps("ns").Create(t.Context(), configMap(name, "x"), metav1.CreateOptions{}); err != nil {
						t.Fatal(err)
					}
				}
				config := server.Config()
				config.ContentType = runtime.ContentTypeProtobuf
				client, err := kubernetes.NewForConfig(config)
				if err != nil {
					t.Fatal(err)
				}
				source, err := reflector.NewRESTSource[*corev1.ConfigMap](client.CoreV1().RESTClient(), "configmaps", reflector.SourceOptions{})
				if err != nil {
					t.Fatal(err)
				}
				shared, err := NewSharedIndexInformerFromSource(reflector.Untyped(source), &corev1.ConfigMap{}, SharedIndexInformerOptions{},
					informer.Options[any]{Name: "configmaps", ReadOnlyTransform: readOnly})
				if err != nil {
					t.Fatal(err)
				}
				r := &recorder{}
				add(t, shared, r)
				run(t, shared)
				r.expect(t, "at first", "add a1 true", "add b1 true", "add c1 true", "add d1 true", "add e1 true")
				if one := labelsAt(t, shared, "ns/d") == labelsAt(t, shared, "ns/e"); one != readOnly {
					t.Errorf("the two objects share equal labels: %v", one)
				}
				if err := server.Client().CoreV1().ConfigMaps("ns").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				r.expect(t, "the delete", "delete a1")
				native, ok := Native(shared)
				if !ok || native.Name() != "configmaps" || shared.LastSyncResourceVersion() != native.Store().Version() {
					t.Errorf("%v: %s at %s", ok, native.Status(), shared.LastSyncResourceVersion())
				}
			})
		})
	}
}

// labelsAt says where the labels of a stored object are.
func labelsAt(t *testing.T, informer SharedInformer, key string) uintptr {
	t.Helper()
	obj, ok, err := informer.GetStore().GetByKey(key)
	if err != nil || !ok {
		t.Fatalf("%s: %v, %v", key, ok, err)
	}
	return reflect.ValueOf(obj.(*corev1.ConfigMap).Labels).Pointer()
}

func TestWhatASourceCannotBeGivenIsRefused(t *testing.T) {
	for name, more := range map[string]informer.Options[any]{
		"no source": {},
		"transform": {Transform: func(obj any) (any, error) { return obj, nil }},
		"scope":     {Scope: informer.Scope{Namespace: "ns"}},
	} {
		if i, err := NewSharedIndexInformerFromSource(reflector.Untyped[any](nil), nil, SharedIndexInformerOptions{}, more); err == nil || i != nil {
			t.Errorf("%s: %v, %v", name, i, err)
		}
	}
}
