package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

var someKey = types.NamespacedName{Namespace: "ns", Name: "a"}

func podOptions() StoreOptions {
	return StoreOptions{
		GroupResource: schema.GroupResource{Resource: "pods"},
		Codec:         scheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion),
		NewFunc:       func() runtime.Object { return new(corev1.Pod) },
	}
}

func TestAStoreWithBadOptionsIsRefused(t *testing.T) {
	if _, err := NewStore(nil, podOptions()); !errors.Is(err, ErrInvalidOptions) {
		t.Errorf("no backend: %v", err)
	}
	for name, spoil := range map[string]func(*StoreOptions){
		"no resource":        func(o *StoreOptions) { o.GroupResource.Resource = "" },
		"no codec":           func(o *StoreOptions) { o.Codec = nil },
		"no function":        func(o *StoreOptions) { o.NewFunc = nil },
		"prefix of no scope": func(o *StoreOptions) { o.Prefix = "/pods" },
	} {
		opts := podOptions()
		spoil(&opts)
		if _, err := NewStore(NewMemory(), opts); !errors.Is(err, ErrInvalidOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestResourcesOfOneBackendDoNotMix(t *testing.T) {
	backend := NewMemory()
	for i, gr := range []schema.GroupResource{{Resource: "pods"}, {Resource: "podsets"}, {Group: "pods", Resource: "x"}, {Group: "core.example.com", Resource: "pods"}} {
		opts := podOptions()
		opts.GroupResource = gr
		s, err := NewStore(backend, opts)
		if err != nil {
			t.Fatal(err)
		}
		pod := new(corev1.Pod)
		pod.Namespace, pod.Name = "ns", "a"
		out, err := s.Create(t.Context(), someKey, pod)
		if err != nil {
			t.Fatalf("%s: %v", gr, err)
		}
		if v := out.(*corev1.Pod).ResourceVersion; v != fmt.Sprint(i+2) {
			t.Errorf("%s: version %s is not that of one counter", gr, v)
		}
		if l, err := s.List(t.Context(), ListOptions{}); err != nil || len(l.Items) != 1 {
			t.Errorf("%s: list %v, %v", gr, l.Items, err)
		}
	}
}

func TestStoredBytesHaveNoVersionNorSelfLinkAndClusterScopedKeysNoNamespace(t *testing.T) {
	backend := NewMemory()
	s, err := NewStore(backend, StoreOptions{
		GroupResource: schema.GroupResource{Group: "example.com", Resource: "widgets"},
		Codec:         unstructured.UnstructuredJSONScheme,
		NewFunc: func() runtime.Object {
			return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	key := types.NamespacedName{Name: "a"}
	in := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "a"},
	}}
	if _, err := s.Create(t.Context(), key, in); err != nil {
		t.Fatal(err)
	}
	out, err := s.Update(t.Context(), key, func(current runtime.Object) (runtime.Object, bool, error) {
		next := current.DeepCopyObject().(*unstructured.Unstructured)
		next.SetLabels(map[string]string{"a": "b"})
		next.SetSelfLink("/apis/example.com/v1/widgets/a")
		return next, false, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if u := out.(*unstructured.Unstructured); u.GetResourceVersion() != "3" || u.GetKind() != "Widget" {
		t.Errorf("updated to %v", u.Object)
	}
	kv, err := backend.Get(t.Context(), "/example.com/widgets/a")
	if err != nil || string(kv.Value) != `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"labels":{"a":"b"},"name":"a"}}`+"\n" {
		t.Errorf("stored %q, %v", kv.Value, err)
	}
}

func TestWhatCannotBeDecodedIsAnErrorThatNamesItsKey(t *testing.T) {
	backend := NewMemory()
	s, err := NewStore(backend, podOptions())
	if err != nil {
		t.Fatal(err)
	}
	put(t, backend, "/core/pods/ns/a", "no pod")
	const want = "decode /core/pods/ns/a"
	check := func(err error) {
		t.Helper()
		if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	_, err = s.Get(t.Context(), someKey, "")
	check(err)
	_, err = s.List(t.Context(), ListOptions{})
	check(err)
	_, err = s.Delete(t.Context(), someKey, nil)
	check(err)
	w, err := s.Watch(t.Context(), WatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	_, err = w.Next()
	check(err)
}

// busy is a backend to which something is written after each read of a list.
type busy struct {
	*Memory
	write func()
}

func (b busy) List(ctx context.Context, prefix string, opts RangeOptions) (Range, error) {
	r, err := b.Memory.List(ctx, prefix, opts)
	b.write()
	return r, err
}

func TestAListThatReadsInPartsIsOfOneState(t *testing.T) {
	backend := busy{Memory: NewMemory()}
	pod := func(i int, name string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("%04d", i)}}
		p.Labels = map[string]string{"name": name}
		return p
	}
	backend.write = func() {}
	s, err := NewStore(&backend, podOptions())
	if err != nil {
		t.Fatal(err)
	}
	key := func(i int) types.NamespacedName {
		return types.NamespacedName{Namespace: "ns", Name: fmt.Sprintf("%04d", i)}
	}
	// Far more than is read at once, of which only the last is selected.
	const n = 1200
	for i := range n {
		if _, err := s.Create(t.Context(), key(i), pod(i, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	reads := 0
	backend.write = func() {
		reads++
		if _, err := s.Update(t.Context(), key(n-1), func(runtime.Object) (runtime.Object, bool, error) {
			return pod(n-1, "another"), false, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	sel := Selection{Labels: labels.SelectorFromSet(labels.Set{"name": fmt.Sprint(n - 1)})}
	l, err := s.List(t.Context(), ListOptions{Selection: sel, Limit: 1})
	if err != nil || len(l.Items) != 1 || l.ResourceVersion != fmt.Sprint(n+1) || reads < 2 {
		t.Errorf("%d objects at %s after %d reads, %v", len(l.Items), l.ResourceVersion, reads, err)
	}
}

func TestAnUpdateThatNeverWinsEndsWithItsContext(t *testing.T) {
	s, err := NewStore(NewMemory(), podOptions())
	if err != nil {
		t.Fatal(err)
	}
	pod := new(corev1.Pod)
	pod.Namespace, pod.Name = "ns", "a"
	if _, err := s.Create(t.Context(), someKey, pod); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	_, err = s.Update(ctx, someKey, func(current runtime.Object) (runtime.Object, bool, error) {
		if tries++; tries == 10 {
			cancel()
		}
		faster := func(current runtime.Object) (runtime.Object, bool, error) {
			next := current.DeepCopyObject().(*corev1.Pod)
			next.Spec.NodeName = fmt.Sprint(tries)
			return next, false, nil
		}
		if _, err := s.Update(t.Context(), someKey, faster); err != nil {
			t.Fatal(err)
		}
		next := current.DeepCopyObject().(*corev1.Pod)
		next.Spec.Hostname = "mine"
		return next, false, nil
	})
	if !errors.Is(err, context.Canceled) || tries != 10 {
		t.Errorf("after %d tries: %v", tries, err)
	}
}
