package controllerruntime

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
	watchtools "k8s.io/client-go/tools/watch"
)

// generic are the factories of client-go for kinds without a Go type.
func generic(t *testing.T, w *world) map[string]func(gvr schema.GroupVersionResource) informers.GenericInformer {
	t.Helper()
	d, err := dynamic.NewForConfig(w.config(t, "dynamic"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := metadata.NewForConfig(w.config(t, "metadata"))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]func(schema.GroupVersionResource) informers.GenericInformer{
		"dynamic": func(gvr schema.GroupVersionResource) informers.GenericInformer {
			return dynamicinformer.NewFilteredDynamicInformer(d, gvr, metav1.NamespaceAll, 0, cache.Indexers{}, nil)
		},
		"metadata": func(gvr schema.GroupVersionResource) informers.GenericInformer {
			return metadatainformer.NewFilteredMetadataInformer(m, gvr, metav1.NamespaceAll, 0, cache.Indexers{}, nil)
		},
	}
}

// versions are the keys and versions that a store has.
func versions(t *testing.T, store cache.Store) map[string]string {
	t.Helper()
	result := map[string]string{}
	for _, obj := range store.List() {
		key, err := cache.MetaNamespaceKeyFunc(obj)
		if err != nil {
			t.Fatal(err)
		}
		result[key] = obj.(metav1.Object).GetResourceVersion()
	}
	return result
}

func TestDynamicAndMetadataInformersFollowTheServer(t *testing.T) {
	for _, form := range []string{"dynamic", "metadata"} {
		t.Run(form, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				u := newUser(t, w)
				for i := range 5 {
					u.create(fleet("a", fmt.Sprint("f", i), 1, "red"), colored("a", fmt.Sprint("f", i), "red"))
				}
				stores := map[schema.GroupVersionResource]cache.Store{}
				for _, gvr := range []schema.GroupVersionResource{fleetGVR, configMapResource.WithVersion("v1")} {
					informer := generic(t, w)[form](gvr).Informer()
					ctx, cancel := context.WithCancel(t.Context())
					done := make(chan struct{})
					go func() { defer close(done); informer.RunWithContext(ctx) }()
					t.Cleanup(func() { cancel(); <-done })
					stores[gvr] = informer.GetStore()
				}
				change := func(i int) {
					t.Helper()
					u.order("a", fmt.Sprint("f", i), 2, "blue")
					name := fmt.Sprint("f", i+1)
					for _, obj := range []interface {
						metav1.Object
						runtime.Object
					}{fleet("a", name, 0, ""), ship("a", name)} {
						if err := u.Delete(t.Context(), obj); err != nil {
							t.Fatal(err)
						}
					}
					u.create(fleet("b", name, 1, "red"), ship("b", name))
				}
				settle()
				change(0)
				settle()
				for gvr := range stores {
					w.disconnect(t, gvr.GroupResource())
				}
				change(2)
				if err := w.Compact(t.Context()); err != nil {
					t.Fatal(err)
				}
				w.reconnect()
				for gvr, store := range stores {
					want := map[string]string{}
					list := &metav1.PartialObjectMetadataList{}
					kind := map[string]string{"fleets": "FleetList", "configmaps": "ConfigMapList"}[gvr.Resource]
					list.SetGroupVersionKind(gvr.GroupVersion().WithKind(kind))
					if err := u.List(t.Context(), list); err != nil {
						t.Fatal(err)
					}
					for _, item := range list.Items {
						want[item.Namespace+"/"+item.Name] = item.ResourceVersion
					}
					if got := versions(t, store); len(want) != 5 || !maps.Equal(got, want) {
						t.Errorf("%v: got %v, want %v", gvr, got, want)
					}
					// Each streaming list is read once more by the detector.
					streams, lists := w.count(form, did("stream", gvr.GroupResource())), w.count(form, did("list", gvr.GroupResource()))
					if streams != 2 || lists != 2 {
						t.Errorf("%v: %d streaming lists and %d lists, want 2 of each", gvr, streams, lists)
					}
				}
				w.stopBeforeMetadata()
			})
		})
	}
}

func TestAPagerReadsOnWhenItsListHasExpired(t *testing.T) {
	w := start(t, newScheme(t))
	c, err := kubernetes.NewForConfig(w.Config())
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	want := []string{}
	for i := range 25 {
		m := ship("a", fmt.Sprintf("m%02d", i))
		if _, err := c.CoreV1().ConfigMaps("a").Create(ctx, m, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		want = append(want, m.Name)
	}
	for name, full := range map[string]bool{"by reading all again": true, "by giving up": false} {
		t.Run(name, func(t *testing.T) {
			pages := 0
			p := pager.New(func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
				if pages++; pages == 3 {
					if err := w.Compact(ctx); err != nil {
						return nil, err
					}
				}
				if pages == 2 {
					// There has to be history to forget.
					_, err := c.CoreV1().Secrets("a").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "s-"}}, metav1.CreateOptions{})
					if err != nil {
						return nil, err
					}
				}
				return c.CoreV1().ConfigMaps("").List(ctx, opts)
			})
			p.PageSize, p.FullListIfExpired, p.PageBufferSize = 10, full, 0
			var got []string
			list, paged, err := p.List(ctx, metav1.ListOptions{})
			if !full {
				if !apierrors.IsResourceExpired(err) {
					t.Errorf("%v, %v", list, err)
				}
				return
			}
			if err != nil || !paged {
				t.Fatalf("paged %t, %v", paged, err)
			}
			for _, m := range list.(*corev1.ConfigMapList).Items {
				got = append(got, m.Name)
			}
			if !slices.Equal(got, want) || pages != 4 {
				t.Errorf("got %v after %d requests, want %v after 4", got, pages, want)
			}
		})
	}
}

func TestARetryWatcherLosesNothingUntilHistoryIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		u := newUser(t, w)
		c, err := kubernetes.NewForConfig(w.config(t, "retry"))
		if err != nil {
			t.Fatal(err)
		}
		first := ship("a", "first")
		u.create(first)
		retry, err := watchtools.NewRetryWatcherWithContext(t.Context(), first.ResourceVersion,
			cache.ToWatcherWithContext(&cache.ListWatch{WatchFuncWithContext: c.CoreV1().ConfigMaps("").Watch}))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { retry.Stop(); <-retry.Done() }()
		var version uint64
		for i := range 12 {
			if i%3 == 0 {
				w.DropWatches(configMapResource)
			}
			u.create(ship("a", fmt.Sprint("m", i)))
			e := next(t, retry)
			m, ok := e.Object.(*corev1.ConfigMap)
			if !ok || e.Type != watch.Added || m.Name != fmt.Sprint("m", i) {
				t.Fatalf("%d: %+v", i, e)
			}
			v, err := strconv.ParseUint(m.ResourceVersion, 10, 64)
			if err != nil || v <= version {
				t.Errorf("version %s after %d", m.ResourceVersion, version)
			}
			version = v
		}
		w.disconnect(t, configMapResource)
		u.create(ship("a", "missed"), ship("a", "last"))
		if err := w.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.faults.Clear()
		if e := next(t, retry); e.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
			t.Errorf("after the compaction: %+v", e)
		}
	})
}

func TestUntilWithSyncSeesAConditionThroughDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		u := newUser(t, w)
		c, err := kubernetes.NewForConfig(w.config(t, "until"))
		if err != nil {
			t.Fatal(err)
		}
		u.create(colored("a", "m", "red"))
		done := make(chan struct{})
		defer func() { <-done }()
		go func() {
			defer close(done)
			settle()
			w.disconnect(t, configMapResource)
			if err := u.Update(t.Context(), colored("a", "m", "blue")); err != nil {
				t.Error(err)
			}
			w.reconnect()
		}()
		lw := cache.NewListWatchFromClient(c.CoreV1().RESTClient(), "configmaps", "a", fields.Everything())
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		e, err := watchtools.UntilWithSync(ctx, lw, &corev1.ConfigMap{}, nil, func(e watch.Event) (bool, error) {
			m, ok := e.Object.(*corev1.ConfigMap)
			return ok && m.Data[colorLabel] == "blue", nil
		})
		if err != nil || e.Type != watch.Modified {
			t.Errorf("%+v, %v", e, err)
		}
	})
}
