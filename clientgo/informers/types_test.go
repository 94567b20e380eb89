package informers

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	ourcache "heliograph.example/clientgo/cache"
)

// generated has every informer that client-go generates, made by a factory, with the
// names of its methods.
func generated(f SharedInformerFactory) map[string]cache.SharedIndexInformer {
	all := make(map[string]cache.SharedIndexInformer)
	factory := reflect.ValueOf(f)
	groups := reflect.TypeFor[SharedInformerFactory]()
	for i := range groups.NumMethod() {
		group := groups.Method(i)
		if group.Type.NumIn() != 0 || group.Type.NumOut() != 1 || group.Name == "InformerName" {
			continue
		}
		versions := factory.MethodByName(group.Name).Call(nil)[0]
		for j := range versions.NumMethod() {
			version := versions.Method(j).Call(nil)[0]
			for k := range version.NumMethod() {
				resource := version.Method(k).Call(nil)[0].Interface().(interface {
					Informer() cache.SharedIndexInformer
				})
				name := group.Name + "." + versions.Type().Method(j).Name + "." + version.Type().Method(k).Name
				all[name] = resource.Informer()
			}
		}
	}
	return all
}

// listsOf are the resources that the informers of a factory list through a fake, as many
// times as they do.
func listsOf(t *testing.T, ctx context.Context, f SharedInformerFactory, client *fake.Clientset) (resources []string, types []reflect.Type) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	defer f.Shutdown()
	defer cancel()
	f.StartWithContext(ctx)
	soon, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	result := f.WaitForCacheSyncWithContext(soon)
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	for _, action := range client.Actions() {
		if action.GetVerb() == "list" {
			resources = append(resources, action.GetResource().String())
		}
	}
	slices.Sort(resources)
	for object := range result.Synced {
		types = append(types, object)
	}
	return resources, types
}

func TestEveryGeneratedInformerIsOursAndReadsItsOwnResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		ours := NewSharedInformerFactory(client, 0).(*sharedInformerFactory)
		all := generated(ours)
		if len(all) < 60 {
			t.Fatalf("only %d informers were found", len(all))
		}
		for name, informer := range all {
			wrapped := reflect.Indirect(reflect.ValueOf(informer))
			if _, ok := ourcache.Native(informer); !ok && !strings.Contains(wrapped.Type().Name(), "yped") {
				t.Errorf("%s is none of ours: %T", name, informer)
			}
		}
		got, types := listsOf(t, t.Context(), ours, client)
		if len(types) != len(all) {
			t.Errorf("%d informers have %d types", len(all), len(types))
		}
		var want []string
		for _, object := range types {
			resource, err := resourceOf(reflect.New(object.Elem()).Interface().(runtime.Object))
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, resource.String())
			again, err := ours.ForResource(resource)
			if err != nil {
				t.Errorf("%v: %v", object, err)
			} else if again.Informer() != ours.own(reflect.New(object.Elem()).Interface().(runtime.Object)) {
				t.Errorf("%v has another informer than %v", resource, object)
			}
		}
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("it listed\n%v, want\n%v", got, want)
		}
	})
}

func TestTheInformersReadWhatThoseOfClientGoRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ourClient, theirClient := fake.NewClientset(), fake.NewClientset()
		ours, theirs := NewSharedInformerFactory(ourClient, 0), informers.NewSharedInformerFactory(theirClient, 0)
		generated(ours)
		generated(theirs)
		got, _ := listsOf(t, t.Context(), ours, ourClient)
		want, _ := listsOf(t, t.Context(), theirs, theirClient)
		if !slices.Equal(got, want) {
			t.Errorf("it listed\n%v, want\n%v", got, want)
		}
	})
}

func TestAResourceWithoutAnInformerIsRefused(t *testing.T) {
	f := NewSharedInformerFactory(fake.NewClientset(), 0)
	for _, resource := range []schema.GroupVersionResource{
		{Version: "v1", Resource: "pod"}, {Version: "v1", Resource: "bindings"},
		{Group: "example.com", Version: "v1", Resource: "gadgets"}, {},
	} {
		if g, err := f.ForResource(resource); err == nil || g != nil {
			t.Errorf("%v: it returned %v and %v", resource, g, err)
		}
	}
}
