package endpoints_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	goruntime "runtime"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	protobufserializer "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"heliograph.example/apiserver/endpoints"
	"heliograph.example/apiserver/storage"
)

const (
	allPods       = "/api/v1/pods"
	configMapPath = "/api/v1/configmaps"
	allWidgets    = "/apis/example.com/v1/widgets"

	acceptPartial         = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	acceptPartialProtobuf = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// fixedList is a storage that holds a list and nothing else.
type fixedList struct {
	storage.Interface
	list storage.List
}

func (f fixedList) List(context.Context, storage.ListOptions) (storage.List, error) {
	return f.list, nil
}

// listing is an API whose every list is the given one.
func listing(t *testing.T, list storage.List) *api {
	a := newAPI(t)
	a.wrap = func(s storage.Interface) storage.Interface { return fixedList{s, list} }
	return a
}

// somePods are Pods as a storage has them, with their kind; the third is larger
// than a part of an answer that is sent at once.
func somePods(n int) []runtime.Object {
	items := make([]runtime.Object, n)
	for i := range items {
		pod := &corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("pod-%d", i), Namespace: "default", ResourceVersion: strconv.Itoa(i),
				Labels: map[string]string{"app": "<a&b>", "tier": "\u2028", "n": strconv.Itoa(i)}, CreationTimestamp: metav1.Unix(int64(i), 0),
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: strings.Repeat("i", i*7), Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("150m")},
			}}}},
		}
		if i == 2 {
			pod.Annotations = map[string]string{"large": strings.Repeat(`"items":[]`, 20_000)}
		}
		items[i] = pod
	}
	return items
}

func someWidgets(n int) []runtime.Object {
	items := make([]runtime.Object, n)
	for i := range items {
		items[i] = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Widget",
			"metadata": map[string]any{"name": fmt.Sprintf("w%d", i), "namespace": "default", "labels": map[string]any{"a": "<b>"}},
			"spec":     map[string]any{"items": []any{}, "color": strings.Repeat("r", i*11), "size": int64(i)},
		}}
	}
	if n > 1 {
		items[1] = &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"annotations": map[string]any{"large": strings.Repeat(`"items":[]`, 20_000)}}}}
	}
	return items
}

// wholeTyped encodes a list of Go values with the codecs of Kubernetes.
func wholeTyped(t *testing.T, list runtime.Object, gvk schema.GroupVersionKind, of storage.List, accept string) []byte {
	t.Helper()
	items := make([]runtime.Object, len(of.Items))
	for i, item := range of.Items {
		items[i] = item.DeepCopyObject()
		items[i].GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	if err := meta.SetList(list, items); err != nil {
		t.Fatal(err)
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		t.Fatal(err)
	}
	m.SetResourceVersion(of.ResourceVersion)
	m.SetContinue(of.Continue)
	m.SetRemainingItemCount(of.Remaining)
	list.GetObjectKind().SetGroupVersionKind(gvk)
	if strings.HasPrefix(accept, protobuf) {
		var buf bytes.Buffer
		if err := protobufserializer.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(list, &buf); err != nil {
			t.Fatal(err)
		}
		return buf.Bytes()
	}
	return marshal(t, list)
}

// wholePartial encodes the metadata of a list.
func wholePartial(t *testing.T, of storage.List, accept string) []byte {
	list := &metav1.PartialObjectMetadataList{}
	gvk := metav1.SchemeGroupVersion.WithKind("PartialObjectMetadataList")
	items := make([]runtime.Object, len(of.Items))
	for i, item := range of.Items {
		m, err := meta.Accessor(item)
		if err != nil {
			t.Fatal(err)
		}
		items[i] = meta.AsPartialObjectMetadata(m)
	}
	of.Items = items
	whole := wholeTyped(t, list, gvk, of, accept)
	if accept == acceptPartialProtobuf {
		return whole
	}
	// In JSON these items have their kind.
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata"))
	}
	return marshal(t, list)
}

// wholeWidgets encodes a list of custom resources.
func wholeWidgets(t *testing.T, of storage.List, _ string) []byte {
	m := map[string]any{"resourceVersion": of.ResourceVersion, "continue": of.Continue}
	if of.Remaining != nil {
		m["remainingItemCount"] = *of.Remaining
	}
	items := []any{}
	for _, item := range of.Items {
		items = append(items, item.(*unstructured.Unstructured).Object)
	}
	return marshal(t, map[string]any{"apiVersion": "example.com/v1", "kind": "WidgetList", "metadata": m, "items": items})
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

func TestAListSentInPartsHasTheBytesOfTheWhole(t *testing.T) {
	wholePods := func(t *testing.T, of storage.List, accept string) []byte {
		return wholeTyped(t, &corev1.PodList{}, corev1.SchemeGroupVersion.WithKind("PodList"), of, accept)
	}
	left := int64(math.MaxInt64)
	for _, c := range []struct {
		path, accept string
		items        func(n int) []runtime.Object
		whole        func(t *testing.T, of storage.List, accept string) []byte
	}{
		{allPods, "application/json", somePods, wholePods},
		{allPods, protobuf, somePods, wholePods},
		{allPods, acceptPartial, somePods, wholePartial},
		{allPods, acceptPartialProtobuf, somePods, wholePartial},
		{allWidgets, "application/json", someWidgets, wholeWidgets},
		{allWidgets, acceptPartial, someWidgets, wholePartial},
		{allWidgets, acceptPartialProtobuf, someWidgets, wholePartial},
	} {
		for _, n := range []int{0, 1, 2, 150} {
			for _, page := range []storage.List{{ResourceVersion: "7"}, {ResourceVersion: "18446744073709551615", Continue: `"items":[]<&`, Remaining: &left}} {
				t.Run(fmt.Sprint(c.path, c.accept, n, page.Continue), func(t *testing.T) {
					page.Items = c.items(n)
					before := make([]runtime.Object, n)
					for i, item := range page.Items {
						before[i] = item.DeepCopyObject()
					}
					want := c.whole(t, page, c.accept)
					w := listing(t, page).call(http.MethodGet, c.path, "", "Accept", c.accept)
					if got := w.Body.Bytes(); w.Code != http.StatusOK || !bytes.Equal(got, want) {
						t.Errorf("%d\n got %d bytes %.300q\nwant %d bytes %.300q", w.Code, len(got), got, len(want), want)
					}
					if media, _, _ := strings.Cut(c.accept, ";"); w.Header().Get("Content-Type") != media {
						t.Errorf("Content-Type %q", w.Header().Get("Content-Type"))
					}
					if length := w.Header().Get("Content-Length"); length != "" && length != strconv.Itoa(len(want)) {
						t.Errorf("Content-Length %s for %d bytes", length, len(want))
					}
					if !reflect.DeepEqual(page.Items, before) {
						t.Error("the items of the storage were changed")
					}
				})
			}
		}
	}
}

// TestListsOfEveryBuiltinKindHaveTheBytesOfTheWhole is about the types of lists,
// which the parts are made from.
func TestListsOfEveryBuiltinKindHaveTheBytesOfTheWhole(t *testing.T) {
	kinds := 0
	for gvk := range scheme.Scheme.AllKnownTypes() {
		listKind := gvk.GroupVersion().WithKind(gvk.Kind + "List")
		if gvk.Version == runtime.APIVersionInternal || !scheme.Scheme.Recognizes(listKind) {
			continue
		}
		item, err := scheme.Scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		m, err := meta.Accessor(item)
		if err != nil {
			continue
		}
		m.SetName("a")
		m.SetLabels(map[string]string{"b": "c"})
		item.GetObjectKind().SetGroupVersionKind(gvk)
		page := storage.List{Items: []runtime.Object{item, item}, ResourceVersion: "3"}
		a := listing(t, page)
		a.Handler, err = endpoints.NewHandler(endpoints.Config{Scheme: scheme.Scheme, Storage: a.open})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Register(endpoints.Resource{GroupVersionKind: gvk, Plural: "things"}); err != nil {
			t.Fatal(err)
		}
		path := "/apis/" + gvk.GroupVersion().String() + "/things"
		if gvk.Group == "" {
			path = "/api/v1/things"
		}
		for _, accept := range []string{"application/json", protobuf} {
			list, err := scheme.Scheme.New(listKind)
			if err != nil {
				t.Fatal(err)
			}
			want := wholeTyped(t, list, listKind, page, accept)
			if got := a.call(http.MethodGet, path, "", "Accept", accept).Body.Bytes(); !bytes.Equal(got, want) {
				t.Errorf("%v as %s:\n got %q\nwant %q", gvk, accept, got, want)
			}
		}
		kinds++
	}
	if kinds < 80 {
		t.Errorf("only %d kinds were tried", kinds)
	}
}

// nanWidget is a widget that JSON has no form for.
func nanWidget() runtime.Object {
	return &unstructured.Unstructured{Object: map[string]any{"spec": math.NaN()}}
}

// object of a list and how much it sends at once, whatever the length.
func TestAListTakesMemoryForAPartOfIt(t *testing.T) {
	const (
		object  = 8 << 10 // bytes, encoded
		most    = 32 << 10
		perItem = 1 << 10
	)
	if raceEnabled {
		t.Skip("the race detector empties pools at random")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	items := make([]runtime.Object, 2000)
	for i := range items {
		items[i] = &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Name: strconv.Itoa(i)}, Data: map[string]string{"a": strings.Repeat("x", object)},
		}
	}
	for _, accept := range []string{"application/json", protobuf} {
		spent := func(n int) float64 {
			a := listing(t, storage.List{Items: items[:n]})
			p := &pieces{sizes: make([]int, 0, len(items))}
			p.serve(a, configMapPath, accept) // fills the pools
			p.sizes = p.sizes[:0]
			var before, after goruntime.MemStats
			goruntime.ReadMemStats(&before)
			p.serve(a, configMapPath, accept)
			goruntime.ReadMemStats(&after)
			if len(p.sizes) < n*object/most || slices.Max(p.sizes) > most {
				t.Errorf("%s: %d objects were sent in %d pieces of %d bytes at most", accept, n, len(p.sizes), slices.Max(p.sizes))
			}
			return float64(after.TotalAlloc - before.TotalAlloc)
		}
		few, many := spent(200), spent(2000)
		each := (many - few) / 1800
		t.Logf("%s: %.0f bytes allocated for each object, %.0f for a list", accept, each, few-200*each)
		if each > perItem {
			t.Errorf("%s: %.0f bytes were allocated for each object of %d, want %d at most", accept, each, object, perItem)
		}
	}
}
