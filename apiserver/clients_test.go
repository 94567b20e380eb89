package apiserver_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/restmapper"

	"heliograph.example/apiserver"
)

var (
	widgetKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	widgetGVR  = widgetKind.GroupVersion().WithResource("widgets")
	widgets    = apiserver.Resource{
		GroupVersionKind: widgetKind, Namespaced: true, Status: true, ShortNames: []string{"wd"}, SelectableFields: []string{".spec.color"},
	}
)

// encodings are the media types of typed clients.
var encodings = []string{"application/json", "application/vnd.kubernetes.protobuf"}

func inEachEncoding(t *testing.T, test func(t *testing.T, encoding string)) {
	for _, encoding := range encodings {
		t.Run(encoding, func(t *testing.T) { test(t, encoding) })
	}
}

func TestTypedClientsCreateReadUpdateAndDelete(t *testing.T) {
	inEachEncoding(t, func(t *testing.T, encoding string) {
		s := start(t, apiserver.Options{})
		maps, ctx := client(t, s, encoding).CoreV1().ConfigMaps("a"), t.Context()
		created, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Data: map[string]string{"k": "1"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := maps.Create(ctx, configMap("m"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			t.Errorf("create again: %v", err)
		}
		changed := created.DeepCopy()
		changed.Data["k"] = "2"
		updated, err := maps.Update(ctx, changed, metav1.UpdateOptions{})
		if err != nil || updated.Data["k"] != "2" || updated.UID != created.UID {
			t.Fatalf("update: %v, %v", updated, err)
		}
		if _, err := maps.Update(ctx, changed, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
			t.Errorf("a stale update: %v", err)
		}
		patched, err := maps.Patch(ctx, "m", types.MergePatchType, []byte(`{"data":{"l":"3"}}`), metav1.PatchOptions{})
		if err != nil || patched.Data["k"] != "2" || patched.Data["l"] != "3" {
			t.Errorf("patch: %v, %v", patched, err)
		}
		got, err := maps.Get(ctx, "m", metav1.GetOptions{})
		if err != nil || got.ResourceVersion != patched.ResourceVersion {
			t.Errorf("get: %v, %v", got, err)
		}
		wrong := types.UID("wrong")
		err = maps.Delete(ctx, "m", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &wrong}})
		if !apierrors.IsConflict(err) {
			t.Errorf("delete of another identity: %v", err)
		}
		if err := maps.Delete(ctx, "m", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &got.UID}}); err != nil {
			t.Errorf("delete: %v", err)
		}
		if _, err := maps.Get(ctx, "m", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("get after the delete: %v", err)
		}
	})
}

func TestTypedClientsListInPages(t *testing.T) {
	inEachEncoding(t, func(t *testing.T, encoding string) {
		s := start(t, apiserver.Options{})
		c, ctx := client(t, s, encoding).CoreV1(), t.Context()
		var want []string
		for i := range 7 {
			ns, name := fmt.Sprint("ns", i%2), fmt.Sprint("m", i)
			if _, err := c.ConfigMaps(ns).Create(ctx, configMap(name), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			want = append(want, ns+"/"+name)
		}
		slices.Sort(want)
		var got []string
		opts := metav1.ListOptions{Limit: 3}
		for version := ""; ; {
			page, err := c.ConfigMaps("").List(ctx, opts)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range page.Items {
				got = append(got, m.Namespace+"/"+m.Name)
			}
			if version == "" {
				// A write between pages is not seen.
				if _, err := c.ConfigMaps("ns1").Create(ctx, configMap("late"), metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				version = page.ResourceVersion
			}
			if page.ResourceVersion != version {
				t.Errorf("a page of version %s in a list of %s", page.ResourceVersion, version)
			}
			if page.Continue == "" {
				break
			}
			if left := page.RemainingItemCount; left == nil || int(*left) != len(want)-len(got) {
				t.Errorf("remaining: %v after %d", left, len(got))
			}
			opts.Continue = page.Continue
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestTypedClientsSelectByLabelsAndFields(t *testing.T) {
	inEachEncoding(t, func(t *testing.T, encoding string) {
		s := start(t, apiserver.Options{})
		pods, ctx := client(t, s, encoding).CoreV1().Pods("a"), t.Context()
		for name, node := range map[string]string{"p1": "n1", "p2": "n2", "p3": "n1"} {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}, Spec: corev1.PodSpec{NodeName: node}}
			if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			opts metav1.ListOptions
			want []string
		}{
			{metav1.ListOptions{}, []string{"p1", "p2", "p3"}},
			{metav1.ListOptions{LabelSelector: "name in (p2,p3)"}, []string{"p2", "p3"}},
			{metav1.ListOptions{FieldSelector: "spec.nodeName=n1"}, []string{"p1", "p3"}},
			{metav1.ListOptions{FieldSelector: "spec.nodeName=n1", LabelSelector: "name!=p1"}, []string{"p3"}},
			{metav1.ListOptions{FieldSelector: "metadata.name=p2"}, []string{"p2"}},
			{metav1.ListOptions{FieldSelector: "status.phase!=Pending"}, nil},
			{metav1.ListOptions{FieldSelector: "spec.hostNetwork=false,metadata.namespace=a", Limit: 5}, []string{"p1", "p2", "p3"}},
		} {
			list, err := pods.List(ctx, c.opts)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range list.Items {
				got = append(got, p.Name)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v: got %v, want %v", c.opts, got, c.want)
			}
		}
		if _, err := pods.List(ctx, metav1.ListOptions{FieldSelector: "spec.subdomain=x"}); !apierrors.IsBadRequest(err) {
			t.Errorf("an unknown field: %v", err)
		}
	})
}

func TestTypedClientsWatch(t *testing.T) {
	inEachEncoding(t, func(t *testing.T, encoding string) {
		s := start(t, apiserver.Options{})
		c, ctx := client(t, s, encoding).AppsV1().Deployments("a"), t.Context()
		d, err := c.Create(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		yes := true
		w, err := c.Watch(ctx, metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		expect := func(kind watch.EventType, check func(d *appsv1.Deployment) bool) {
			t.Helper()
			e := next(t, w)
			got, ok := e.Object.(*appsv1.Deployment)
			if !ok || e.Type != kind || !check(got) {
				t.Fatalf("got %s %+v", e.Type, e.Object)
			}
		}
		expect(watch.Added, func(got *appsv1.Deployment) bool { return got.ResourceVersion == d.ResourceVersion })
		expect(watch.Bookmark, func(got *appsv1.Deployment) bool {
			return got.Annotations[metav1.InitialEventsAnnotationKey] == "true" && got.ResourceVersion == d.ResourceVersion
		})
		d.Spec.Paused = true
		d.Status.Replicas = 5
		if d, err = c.Update(ctx, d, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		expect(watch.Modified, func(got *appsv1.Deployment) bool {
			return got.Spec.Paused && got.Generation == 2 && got.Status.Replicas == 0
		})
		d.Status.Replicas = 6
		if d, err = c.UpdateStatus(ctx, d, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		expect(watch.Modified, func(got *appsv1.Deployment) bool { return got.Status.Replicas == 6 && got.Generation == 2 })
		if err := c.Delete(ctx, "d", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		expect(watch.Deleted, func(got *appsv1.Deployment) bool {
			return got.Status.Replicas == 6 && got.ResourceVersion > d.ResourceVersion
		})
	})
}

func TestTypedClientsDeleteCollections(t *testing.T) {
	inEachEncoding(t, func(t *testing.T, encoding string) {
		s := start(t, apiserver.Options{})
		maps, ctx := client(t, s, encoding).CoreV1().ConfigMaps("a"), t.Context()
		for _, name := range []string{"a", "b"} {
			m := configMap(name)
			m.Labels = map[string]string{"name": name}
			if _, err := maps.Create(ctx, m, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := maps.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "name=a"}); err != nil {
			t.Fatal(err)
		}
		list, err := maps.List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 || list.Items[0].Name != "b" {
			t.Errorf("left: %v, %v", list, err)
		}
	})
}

func TestDynamicClientsServeBuiltinsAndCustomResources(t *testing.T) {
	s := start(t, apiserver.Options{Resources: []apiserver.Resource{widgets}})
	c, err := dynamic.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for gvr, kind := range map[schema.GroupVersionResource]schema.GroupVersionKind{
		widgetGVR: widgetKind,
		{Group: "apps", Version: "v1", Resource: "deployments"}: {Group: "apps", Version: "v1", Kind: "Deployment"},
	} {
		client := c.Resource(gvr).Namespace("a")
		w, err := client.Watch(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"paused": true}}}
		u.SetGroupVersionKind(kind)
		u.SetName("x")
		created, err := client.Create(ctx, u, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if e := next(t, w); e.Type != watch.Added || e.Object.GetObjectKind().GroupVersionKind() != kind {
			t.Errorf("%v: event %+v", gvr, e)
		}
		w.Stop()
		if err := unstructured.SetNestedField(created.Object, int64(3), "status", "replicas"); err != nil {
			t.Fatal(err)
		}
		if _, err := client.UpdateStatus(ctx, created, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		list, err := client.List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 || list.GetKind() != kind.Kind+"List" {
			t.Fatalf("%v: list %v, %v", gvr, list, err)
		}
		if n, _, _ := unstructured.NestedInt64(list.Items[0].Object, "status", "replicas"); n != 3 {
			t.Errorf("%v: %v", gvr, list.Items[0].Object)
		}
		if err := client.Delete(ctx, "x", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
}

func TestMetadataClientsSeeOnlyMetadata(t *testing.T) {
	s := start(t, apiserver.Options{Resources: []apiserver.Resource{widgets}})
	ctx := t.Context()
	c, err := metadata.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	d, err := dynamic.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	client := c.Resource(widgetGVR).Namespace("a")
	w, err := client.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	createWidget(t, ctx, d, "x", "red")
	if e := next(t, w); e.Type != watch.Added || e.Object.(*metav1.PartialObjectMetadata).Name != "x" {
		t.Errorf("event %+v", e)
	}
	got, err := client.Get(ctx, "x", metav1.GetOptions{})
	if err != nil || got.Name != "x" || got.UID == "" {
		t.Errorf("get: %v, %v", got, err)
	}
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 || list.ResourceVersion == "" || list.Items[0].UID != got.UID {
		t.Errorf("list: %v, %v", list, err)
	}
	patched, err := client.Patch(ctx, "x", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
	if err != nil || patched.Labels["a"] != "b" {
		t.Errorf("patch: %v, %v", patched, err)
	}
	if err := client.Delete(ctx, "x", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

func createWidget(t *testing.T, ctx context.Context, c dynamic.Interface, name, color string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"color": color}}}
	u.SetGroupVersionKind(widgetKind)
	u.SetName(name)
	created, err := c.Resource(widgetGVR).Namespace("a").Create(ctx, u, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func TestSelectableFieldsOfCustomResources(t *testing.T) {
	s := start(t, apiserver.Options{})
	if err := s.Register(widgets); err != nil {
		t.Fatal(err)
	}
	c, err := dynamic.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	createWidget(t, ctx, c, "x", "red")
	createWidget(t, ctx, c, "y", "blue")
	list, err := c.Resource(widgetGVR).List(ctx, metav1.ListOptions{FieldSelector: "spec.color=blue"})
	if err != nil || len(list.Items) != 1 || list.Items[0].GetName() != "y" {
		t.Errorf("%v, %v", list, err)
	}
}

func TestDiscoveryAndRESTMapper(t *testing.T) {
	s := start(t, apiserver.Options{Resources: []apiserver.Resource{widgets}})
	aggregated, err := discovery.NewDiscoveryClientForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	legacy, err := discovery.NewDiscoveryClientForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	legacy.UseLegacyDiscovery = true
	for name, c := range map[string]*discovery.DiscoveryClient{"aggregated": aggregated, "legacy": legacy} {
		t.Run(name, func(t *testing.T) {
			mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c)), c, nil)
			for kind, want := range map[schema.GroupKind]string{
				{Kind: "Endpoints"}: "/v1, Resource=endpoints namespace",
				{Kind: "Node"}:      "/v1, Resource=nodes root",
				{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: "autoscaling/v2, Resource=horizontalpodautoscalers namespace",
				{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:     "networking.k8s.io/v1, Resource=networkpolicies namespace",
				{Group: "resource.k8s.io", Kind: "DeviceClass"}:         "resource.k8s.io/v1, Resource=deviceclasses root",
				widgetKind.GroupKind():                                  "example.com/v1, Resource=widgets namespace",
			} {
				m, err := mapper.RESTMapping(kind)
				if err != nil {
					t.Errorf("%v: %v", kind, err)
				} else if got := m.Resource.String() + " " + string(m.Scope.Name()); got != want {
					t.Errorf("%v: %s, want %s", kind, got, want)
				}
			}
			if gvk, err := mapper.KindFor(schema.GroupVersionResource{Resource: "wd"}); err != nil || gvk != widgetKind {
				t.Errorf("the short name: %v, %v", gvk, err)
			}
			if _, err := mapper.RESTMapping(schema.GroupKind{Group: "extensions", Kind: "Deployment"}); !meta.IsNoMatchError(err) {
				t.Errorf("a removed group: %v", err)
			}
			if v, err := c.ServerVersion(); err != nil || v.Major != "1" || v.Minor != "37" {
				t.Errorf("version: %v, %v", v, err)
			}
		})
	}
}
