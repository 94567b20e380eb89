package controllerruntime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/endpoints"
)

// runCache makes a cache, lets prepare set it up, runs it until the end of the
// test, and waits until it has what the server has.
func runCache(t *testing.T, w *world, opts cache.Options, prepare func(c cache.Cache)) cache.Cache {
	t.Helper()
	opts.Scheme = w.scheme
	if opts.DefaultTransform == nil {
		opts.DefaultTransform = func(obj any) (any, error) {
			if _, ok := obj.(*Fleet); ok {
				return withoutKind(obj)
			}
			return obj, nil
		}
	}
	m := ctrl.Options{Cache: opts}
	use(&m)
	c, err := cache.New(w.config(t, "cache"), m.Cache)
	if err != nil {
		t.Fatal(err)
	}
	if prepare != nil {
		prepare(c)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the cache ended with %v", err)
		}
	})
	if !c.WaitForCacheSync(ctx) {
		t.Fatal("the cache has not synced")
	}
	return c
}

// expectNames compares the names that a list has with those that are wanted,
// in any order.
func expectNames(t *testing.T, r client.Reader, list client.ObjectList, want []string, opts ...client.ListOption) {
	t.Helper()
	if err := r.List(t.Context(), list, opts...); err != nil {
		t.Errorf("%T %v: %v", list, opts, err)
		return
	}
	var got []string
	err := meta.EachListItem(list, func(obj runtime.Object) error {
		got = append(got, obj.(client.Object).GetName())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%T %v: got %v, want %v", list, opts, got, want)
	}
}

func colored(namespace, name, color string) *corev1.ConfigMap {
	m := ship(namespace, name)
	m.Labels = map[string]string{colorLabel: color}
	m.Data = map[string]string{colorLabel: color}
	return m
}

func TestIndexesOfACacheFollowTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		u := newUser(t, w)
		u.create(colored("a", "x", "red"), colored("a", "y", "blue"), colored("b", "z", "red"))
		c := runCache(t, w, cache.Options{}, func(c cache.Cache) {
			err := c.IndexField(t.Context(), &corev1.ConfigMap{}, "data.color", func(obj client.Object) []string {
				return []string{obj.(*corev1.ConfigMap).Data[colorLabel]}
			})
			if err != nil {
				t.Fatal(err)
			}
		})
		red, blue := client.MatchingFields{"data.color": "red"}, client.MatchingFields{"data.color": "blue"}
		expectNames(t, c, &corev1.ConfigMapList{}, []string{"x", "z"}, red)
		expectNames(t, c, &corev1.ConfigMapList{}, []string{"x"}, red, client.InNamespace("a"))
		expectNames(t, c, &corev1.ConfigMapList{}, []string{"y"}, blue, client.MatchingLabels{colorLabel: "blue"})
		w.disconnect(t, configMapResource)
		if err := u.Delete(t.Context(), ship("a", "x")); err != nil {
			t.Fatal(err)
		}
		moved := colored("a", "y", "red")
		if err := u.Update(t.Context(), moved); err != nil {
			t.Fatal(err)
		}
		if err := w.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		expectNames(t, c, &corev1.ConfigMapList{}, []string{"x", "z"}, red)
		w.reconnect()
		expectNames(t, c, &corev1.ConfigMapList{}, []string{"y", "z"}, red)
		expectNames(t, c, &corev1.ConfigMapList{}, nil, blue)
		if err := c.List(t.Context(), &corev1.ConfigMapList{}, client.MatchingFields{"data.size": "1"}); err == nil {
			t.Error("an index that there is not was read")
		}
		if n := w.count("cache", did("stream", configMapResource)); n != 2 {
			t.Errorf("the list was read %d times, want 2", n)
		}
	})
}

func TestOneKindIsCachedTypedUnstructuredAndAsMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		u := newUser(t, w)
		u.create(fleet("a", "x", 1, "red"), fleet("b", "y", 2, "blue"))
		c := runCache(t, w, cache.Options{}, nil)
		for _, list := range lists() {
			expectNames(t, c, list, []string{"x", "y"})
		}
		if n := w.count("cache", did("stream", fleetResource)); n != 3 {
			t.Errorf("%d streaming lists, want one for each form", n)
		}
		u.create(fleet("a", "z", 3, "red"))
		u.order("a", "x", 4, "pink")
		if err := u.Delete(t.Context(), fleet("b", "y", 0, "")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for _, list := range lists() {
			expectNames(t, c, list, []string{"x", "z"})
		}
		key := client.ObjectKey{Namespace: "a", Name: "x"}
		var typed Fleet
		loose, metadata := bare("Fleet", "", ""), sparse("", "")
		for _, obj := range []client.Object{&typed, loose, metadata} {
			if err := c.Get(t.Context(), key, obj); err != nil {
				t.Fatal(err)
			}
			if obj.GetGeneration() != 2 || obj.GetUID() != typed.UID || obj.GetResourceVersion() != typed.ResourceVersion {
				t.Errorf("%T: %+v", obj, obj)
			}
		}
		if spec := loose.Object["spec"].(map[string]any); spec["ships"] != int64(4) || spec["color"] != "pink" || typed.Spec.Ships != 4 {
			t.Errorf("%+v, %+v", spec, typed.Spec)
		}
		if n := w.DropWatches(fleetResource); n != 3 {
			t.Errorf("%d watches were open, want 3", n)
		}
		settle()
		for _, obj := range []client.Object{&typed, loose} {
			if err := c.RemoveInformer(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := w.DropWatches(fleetResource); n != 1 {
			t.Errorf("%d watches are open, want that of the metadata", n)
		}
		w.stopBeforeMetadata()
	})
}

// watchedIn are the namespaces and field selectors of the watches of a cache.
func watchedIn(w *world) (result []string) {
	for _, r := range w.Requests() {
		if did("stream", configMapResource)(r) {
			where := r.Namespace
			for part := range strings.SplitSeq(r.Query, "&") {
				if strings.HasPrefix(part, "fieldSelector=") || strings.HasPrefix(part, "labelSelector=") {
					where += " " + part
				}
			}
			result = append(result, where)
		}
	}
	slices.Sort(result)
	return result
}

func TestACacheOfSomeNamespacesAndSelections(t *testing.T) {
	red := labels.SelectorFromSet(labels.Set{colorLabel: "red"})
	for name, c := range map[string]struct {
		opts  cache.Options
		where []string // the watches
		names []string // in the cache at first
		after []string // in the cache when all that were red are blue, and the others red
	}{
		"two namespaces": {
			opts:  cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {}, "b": {}}},
			where: []string{"a", "b"},
			names: []string{"a-blue", "a-red", "b-blue", "b-red"},
			after: []string{"a-blue", "a-red", "b-blue", "b-red"},
		},
		"a selection of one and all of another": {
			opts:  cache.Options{DefaultNamespaces: map[string]cache.Config{"a": {LabelSelector: red}, "c": {}}},
			where: []string{"a labelSelector=color%3Dred", "c"},
			names: []string{"a-red", "c-blue", "c-red"},
			after: []string{"a-blue", "c-blue", "c-red"},
		},
		"all but one, and a selection of that": {
			opts: cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {
				Namespaces: map[string]cache.Config{cache.AllNamespaces: {}, "a": {LabelSelector: red}},
			}}},
			where: []string{" fieldSelector=metadata.namespace%21%3Da", "a labelSelector=color%3Dred"},
			names: []string{"a-red", "b-blue", "b-red", "c-blue", "c-red"},
			after: []string{"a-blue", "b-blue", "b-red", "c-blue", "c-red"},
		},
		"a field of all": {
			opts: cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {
				Field: fields.OneTermEqualSelector("metadata.name", "b-red"),
			}}},
			where: []string{" fieldSelector=metadata.name%3Db-red"},
			names: []string{"b-red"},
			after: []string{"b-red"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				u := newUser(t, w)
				for _, ns := range []string{"a", "b", "c"} {
					u.create(colored(ns, ns+"-red", "red"), colored(ns, ns+"-blue", "blue"))
				}
				cached := runCache(t, w, c.opts, nil)
				expectNames(t, cached, &corev1.ConfigMapList{}, c.names)
				if got := watchedIn(w); !slices.Equal(got, c.where) {
					t.Errorf("watches in %q, want %q", got, c.where)
				}
				for _, ns := range []string{"a", "b", "c"} {
					for name, color := range map[string]string{ns + "-red": "blue", ns + "-blue": "red"} {
						if err := u.Update(t.Context(), colored(ns, name, color)); err != nil {
							t.Fatal(err)
						}
					}
				}
				synctest.Wait()
				expectNames(t, cached, &corev1.ConfigMapList{}, c.after)
			})
		})
	}
}

func TestSelectableFieldsOfACustomResourceFilterACache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		u := newUser(t, w)
		u.create(fleet("a", "x", 1, "red"), fleet("a", "y", 1, "blue"), fleet("b", "z", 1, "red"))
		c := runCache(t, w, cache.Options{ByObject: map[client.Object]cache.ByObject{
			&Fleet{}: {Field: fields.OneTermEqualSelector("spec.color", "red"), Transform: withoutKind},
		}}, nil)
		expectNames(t, c, &FleetList{}, []string{"x", "z"})
		u.order("a", "x", 1, "blue")
		u.order("a", "y", 1, "red")
		synctest.Wait()
		expectNames(t, c, &FleetList{}, []string{"y", "z"})
		err := c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "x"}, &Fleet{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("an object that was selected before: %v", err)
		}
	})
}

func TestHandlersOfACacheAreToldEachChangeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		u := newUser(t, w)
		for i := range 4 {
			u.create(ship("a", fmt.Sprint("m", i)))
		}
		var told []string
		c := runCache(t, w, cache.Options{}, nil)
		informer, err := c.GetInformer(t.Context(), &corev1.ConfigMap{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(obj any) { told = append(told, "add "+obj.(metav1.Object).GetName()) },
			UpdateFunc: func(before, obj any) {
				if before.(metav1.Object).GetResourceVersion() != obj.(metav1.Object).GetResourceVersion() {
					told = append(told, "update "+obj.(metav1.Object).GetName())
				}
			},
			DeleteFunc: func(obj any) {
				if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
					told = append(told, "lost "+unknown.Obj.(metav1.Object).GetName())
					return
				}
				told = append(told, "delete "+obj.(metav1.Object).GetName())
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		expect := func(want ...string) {
			t.Helper()
			settle()
			slices.Sort(told)
			if !slices.Equal(told, want) {
				t.Errorf("got %q, want %q", told, want)
			}
			told = nil
		}
		expect("add m0", "add m1", "add m2", "add m3")
		change := func(suffix string, gone, changed int) {
			t.Helper()
			if err := u.Delete(t.Context(), ship("a", fmt.Sprint("m", gone))); err != nil {
				t.Fatal(err)
			}
			if err := u.Update(t.Context(), colored("a", fmt.Sprint("m", changed), "red"+suffix)); err != nil {
				t.Fatal(err)
			}
			u.create(ship("a", "new"+suffix))
		}
		change("1", 0, 1)
		expect("add new1", "delete m0", "update m1")
		w.disconnect(t, configMapResource)
		change("2", 1, 2)
		w.reconnect()
		expect("add new2", "delete m1", "update m2")
		w.disconnect(t, configMapResource)
		change("3", 2, 3)
		if err := w.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.reconnect()
		expect("add new3", "lost m2", "update m3")
	})
}

func TestAKindThatIsRegisteredLaterCanBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c := runCache(t, w, cache.Options{}, nil)
		u := newUser(t, w)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := c.Get(ctx, client.ObjectKey{Namespace: "a", Name: "x"}, bare("Buoy", "", "")); !meta.IsNoMatchError(err) {
			t.Errorf("a kind that is not served: %v", err)
		}
		if err := w.Register(apiserver.Resource{GroupVersionKind: seas.WithKind("Buoy"), Plural: "buoys", Namespaced: true}); err != nil {
			t.Fatal(err)
		}
		u.create(bare("Buoy", "a", "x"))
		if err := c.Get(ctx, client.ObjectKey{Namespace: "a", Name: "x"}, bare("Buoy", "", "")); err != nil {
			t.Error(err)
		}
		buoys := func(r endpoints.Request) bool { return r.Resource.Resource == "buoys" && r.Verb == "watch" }
		if n := w.count("cache", buoys); n != 1 {
			t.Errorf("%d watches, want 1", n)
		}
	})
}
