package apiserver_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"heliograph.example/apiserver"
)

// notServed are client-go's versions that Kubernetes 1.37 has removed as a
// whole, and its one kind that is not stored.
func notServed(group, version, kind string) bool {
	if group == "" && kind == "ComponentStatus" {
		return true
	}
	obj, err := scheme.Scheme.New(schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	if err != nil {
		return false
	}
	r, ok := obj.(interface{ APILifecycleRemoved() (int, int) })
	if !ok {
		return false
	}
	major, minor := r.APILifecycleRemoved()
	return major == 1 && minor <= 37
}

// TestEveryTypedClientListsItsResource calls List of each client that client-go
// generates. A wrong plural, scope or version in the table of built-ins is a
// 404 here.
func TestEveryTypedClientListsItsResource(t *testing.T) {
	s := start(t, apiserver.Options{})
	c := client(t, s, "application/vnd.kubernetes.protobuf")
	listed := 0
	eachTypedClient(t, c, func(name string, gv schema.GroupVersion, kind string, typed reflect.Value) {
		results := typed.MethodByName("List").Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.ValueOf(metav1.ListOptions{})})
		err, _ := results[1].Interface().(error)
		switch {
		case notServed(gv.Group, gv.Version, kind):
			if !apierrors.IsNotFound(err) {
				t.Errorf("%s is removed from Kubernetes, but: %v", name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		default:
			listed++
		}
	})
	if listed < 70 {
		t.Errorf("only %d resources were listed", listed)
	}
}

// eachTypedClient calls each for every client of a clientset that can list.
func eachTypedClient(t *testing.T, c *kubernetes.Clientset, each func(name string, gv schema.GroupVersion, kind string, typed reflect.Value)) {
	set := reflect.ValueOf(c)
	for i := range set.NumMethod() {
		method := set.Type().Method(i)
		if method.Type.NumIn() != 1 || method.Type.NumOut() != 1 {
			continue
		}
		group := set.Method(i).Call(nil)[0].Elem()
		rested, ok := group.Interface().(interface{ RESTClient() rest.Interface })
		if !ok {
			continue
		}
		gv := rested.RESTClient().APIVersion()
		for j := range group.NumMethod() {
			getter := group.Type().Method(j)
			args := []reflect.Value{}
			if getter.Type.NumIn() == 2 && getter.Type.In(1).Kind() == reflect.String {
				args = append(args, reflect.ValueOf("some-namespace"))
			} else if getter.Type.NumIn() != 1 {
				continue
			}
			typed := group.Method(j).Call(args)[0]
			list := typed.MethodByName("List")
			if !list.IsValid() {
				continue
			}
			kind := strings.TrimSuffix(list.Type().Out(0).Elem().Name(), "List")
			each(method.Name+"."+getter.Name, gv, kind, typed)
		}
	}
}

func TestEveryStoredKindOfTheSchemeIsServed(t *testing.T) {
	s := start(t, apiserver.Options{})
	_, lists, err := client(t, s, "").Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	served := make(map[schema.GroupVersionKind]string)
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				served[gv.WithKind(r.Kind)] = r.Name
			}
		}
	}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		obj, err := scheme.Scheme.New(gvk)
		if err != nil {
			continue
		}
		_, isObject := obj.(metav1.Object)
		hasList := scheme.Scheme.Recognizes(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		want := isObject && hasList && !notServed(gvk.Group, gvk.Version, gvk.Kind)
		if _, got := served[gvk]; got != want {
			t.Errorf("%v: served = %v, want %v", gvk, got, want)
		}
		delete(served, gvk)
	}
	if len(served) > 0 {
		t.Errorf("served, but not in the scheme: %v", served)
	}
}

func TestShortNamesAndStatusAreInDiscovery(t *testing.T) {
	s := start(t, apiserver.Options{})
	list, err := client(t, s, "").Discovery().ServerResourcesForGroupVersion("apps/v1")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == "deployments" })
	if i < 0 || !slices.Equal(list.APIResources[i].ShortNames, []string{"deploy"}) || !list.APIResources[i].Namespaced ||
		list.APIResources[i].SingularName != "deployment" || list.APIResources[i+1].Name != "deployments/status" {
		t.Errorf("%+v", list.APIResources)
	}
}
