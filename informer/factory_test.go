package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"heliograph.example/apiserver"
	"heliograph.example/indexer"
	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// serve starts an API server for the test, with ConfigMaps ns-1/a, ns-1/b (label
// x=y) and ns-2/a.
func serve(t *testing.T) *rest.Config {
	t.Helper()
	server, err := apiserver.Start(t.Context(), apiserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	config := server.Config()
	client := kubernetes.NewForConfigOrDie(config)
	for _, m := range []metav1.ObjectMeta{
		{Namespace: "ns-1", Name: "a"},
		{Namespace: "ns-1", Name: "b", Labels: map[string]string{"x": "y"}},
		{Namespace: "ns-2", Name: "a"},
	} {
		if _, err := client.CoreV1().ConfigMaps(m.Namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: m}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return config
}

func newFactory(t *testing.T, config *rest.Config) *informer.Factory {
	t.Helper()
	f, err := informer.NewFactory(config, informer.FactoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	return f
}

// synced starts the factory, waits, and returns the keys in the store, sorted.
func synced[T informer.Object](t *testing.T, f *informer.Factory, i *informer.Informer[T], err error) []string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	f.Start(t.Context())
	if err := f.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for e := range i.Store().Entries() {
		keys = append(keys, e.Key.String())
		if e.UID == "" || e.Version == "" || e.Object.GetName() != e.Key.Name {
			t.Errorf("entry %+v is incomplete", e)
		}
	}
	slices.Sort(keys)
	return keys
}

func expectKeys(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the store holds %q, want %q", got, want)
	}
}

var configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

func TestForReadsTypedObjects(t *testing.T) {
	config := serve(t)
	for _, contentType := range []string{"", runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run("as "+contentType, func(t *testing.T) {
			config := rest.CopyConfig(config)
			config.ContentType = contentType
			f := newFactory(t, config)
			i, err := informer.For(t.Context(), f, informer.Options[*corev1.ConfigMap]{})
			expectKeys(t, synced(t, f, i, err), "ns-1/a", "ns-1/b", "ns-2/a")
		})
	}
}

func TestForReadsUnstructuredObjects(t *testing.T) {
	f := newFactory(t, serve(t))
	i, err := informer.For(t.Context(), f, informer.Options[*unstructured.Unstructured]{Scope: informer.Scope{Kind: configMapKind}})
	expectKeys(t, synced(t, f, i, err), "ns-1/a", "ns-1/b", "ns-2/a")
	for _, u := range i.Store().List() {
		if u.GetKind() != "ConfigMap" || u.GetAPIVersion() != "v1" {
			t.Errorf("an object is a %q of %q", u.GetKind(), u.GetAPIVersion())
		}
	}
}

func TestForReadsMetadataOnly(t *testing.T) {
	f := newFactory(t, serve(t))
	i, err := informer.For(t.Context(), f, informer.Options[*metav1.PartialObjectMetadata]{Scope: informer.Scope{Kind: configMapKind}})
	expectKeys(t, synced(t, f, i, err), "ns-1/a", "ns-1/b", "ns-2/a")
}

func TestForReadsWithinItsScope(t *testing.T) {
	config := serve(t)
	for name, c := range map[string]struct {
		scope informer.Scope
		want  []string
	}{
		"one namespace":             {informer.Scope{Namespace: "ns-1"}, []string{"ns-1/a", "ns-1/b"}},
		"a label":                   {informer.Scope{LabelSelector: "x=y"}, []string{"ns-1/b"}},
		"a field":                   {informer.Scope{FieldSelector: "metadata.name=a"}, []string{"ns-1/a", "ns-2/a"}},
		"a namespace and a field":   {informer.Scope{Namespace: "ns-2", FieldSelector: "metadata.name=a"}, []string{"ns-2/a"}},
		"a namespace without any":   {informer.Scope{Namespace: "ns-3"}, nil},
		"the kind of its own type":  {informer.Scope{Kind: configMapKind, Namespace: "ns-2"}, []string{"ns-2/a"}},
		"a label that nothing has":  {informer.Scope{LabelSelector: "x=z"}, nil},
		"a label that must not be":  {informer.Scope{LabelSelector: "!x", Namespace: "ns-1"}, []string{"ns-1/a"}},
		"a set of labels' values":   {informer.Scope{LabelSelector: "x in (y,z)"}, []string{"ns-1/b"}},
		"a field that must not be":  {informer.Scope{FieldSelector: "metadata.name!=a"}, []string{"ns-1/b"}},
		"a namespace as a field":    {informer.Scope{FieldSelector: "metadata.namespace=ns-2"}, []string{"ns-2/a"}},
		"two labels, one not there": {informer.Scope{LabelSelector: "x=y,z=y"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFactory(t, config)
			i, err := informer.For(t.Context(), f, informer.Options[*corev1.ConfigMap]{Scope: c.scope})
			expectKeys(t, synced(t, f, i, err), c.want...)
		})
	}
}

func TestForSharesInformersPerTypeAndScope(t *testing.T) {
	f := newFactory(t, serve(t))
	get := func(o informer.Options[*corev1.ConfigMap]) *informer.Informer[*corev1.ConfigMap] {
		i, err := informer.For(t.Context(), f, o)
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	all := get(informer.Options[*corev1.ConfigMap]{})
	if get(informer.Options[*corev1.ConfigMap]{}) != all {
		t.Error("the same request gave another informer")
	}
	if get(informer.Options[*corev1.ConfigMap]{Scope: informer.Scope{Namespace: "ns-1"}}) == all {
		t.Error("another scope gave the same informer")
	}
	labelled := get(informer.Options[*corev1.ConfigMap]{Scope: informer.Scope{LabelSelector: "a=b,c=d"}})
	if get(informer.Options[*corev1.ConfigMap]{Scope: informer.Scope{LabelSelector: "c=d , a=b"}}) != labelled {
		t.Error("the same selector written differently gave another informer")
	}
	byName := func(m *corev1.ConfigMap, values []string) ([]string, error) { return append(values, m.Name), nil }
	get(informer.Options[*corev1.ConfigMap]{Indexes: indexer.Indexes[*corev1.ConfigMap]{"name": {Values: byName}}})
	synced(t, f, all, nil)
	if got, err := all.Store().ByIndex("name", "a"); err != nil || len(got) != 2 {
		t.Errorf("the index of the second request: %v, %v", got, err)
	}
}

func TestAnInformerReadsOnlyWhatItsShapeWants(t *testing.T) {
	f := newFactory(t, serve(t))
	shape := informer.Shape{Fields: []string{"data"}}
	maps, err := informer.For(t.Context(), f, informer.Options[*corev1.ConfigMap]{Shape: shape})
	if err != nil {
		t.Fatal(err)
	}
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	loose, err := informer.For(t.Context(), f, informer.Options[*unstructured.Unstructured]{Scope: informer.Scope{Kind: kind}, Shape: shape})
	synced(t, f, loose, err)
	for _, e := range slices.Collect(maps.Store().Entries()) {
		if m := e.Object; m.Labels != nil || !m.CreationTimestamp.IsZero() || m.UID != e.UID {
			t.Errorf("%v", m)
		}
	}
	for _, e := range slices.Collect(loose.Store().Entries()) {
		if u := e.Object; u.GetLabels() != nil || u.GetKind() != "ConfigMap" || u.GetUID() != e.UID {
			t.Errorf("%v", u)
		}
	}
	if s := maps.Status(); s.Objects != 3 || s.Reader.Sharing.Lookups == 0 {
		t.Errorf("%+v", s)
	}
	_, err = informer.For(t.Context(), f, informer.Options[*corev1.Secret]{Shape: informer.Shape{Fields: []string{"data", "spec"}}})
	if !errors.Is(err, informer.ErrInvalid) || !errors.Is(err, reflector.ErrInvalid) || !strings.Contains(err.Error(), `"spec"`) {
		t.Errorf("a field that is not there: %v", err)
	}
}

func strip(m *corev1.ConfigMap) (*corev1.ConfigMap, error) { m.Data = nil; return m, nil }

func TestForRefusesToShareWithAnotherTransformOrShape(t *testing.T) {
	f := newFactory(t, serve(t))
	for n, o := range []informer.Options[*corev1.ConfigMap]{{Transform: strip}, {Transform: strip}} {
		if _, err := informer.For(t.Context(), f, o); err != nil {
			t.Errorf("request %d: %v", n, err)
		}
	}
	shape := informer.Shape{DropManagedFields: true, Fields: []string{"data", "metadata.labels"}}
	second := informer.Scope{Namespace: "ns"}
	for n, o := range []informer.Options[*corev1.ConfigMap]{
		{Scope: second, Shape: shape}, {Scope: second, Shape: informer.Shape{DropManagedFields: true, Fields: []string{"metadata.labels", "data"}}}} {
		if _, err := informer.For(t.Context(), f, o); err != nil {
			t.Errorf("request %d with a shape: %v", n, err)
		}
	}
	for name, o := range map[string]informer.Options[*corev1.ConfigMap]{
		"none": {}, "other fields": {Shape: informer.Shape{DropManagedFields: true, Fields: []string{"data"}}}, "unshared": {Shape: informer.Shape{
			DropManagedFields: true, Fields: shape.Fields, Unshared: true}}} {
		o.Scope = second
		if _, err := informer.For(t.Context(), f, o); !errors.Is(err, informer.ErrConflict) {
			t.Errorf("with the shape %s: %v", name, err)
		}
	}
	if _, err := informer.For(t.Context(), f, informer.Options[*corev1.ConfigMap]{Transform: strip, ReadOnlyTransform: true}); !errors.Is(err, informer.ErrConflict) {
		t.Errorf("with another promise about the transform: %v", err)
	}
	other := func(m *corev1.ConfigMap) (*corev1.ConfigMap, error) { return m, nil }
	for name, o := range map[string]informer.Options[*corev1.ConfigMap]{"another": {Transform: other}, "none": {}} {
		if _, err := informer.For(t.Context(), f, o); !errors.Is(err, informer.ErrConflict) {
			t.Errorf("with %s: %v", name, err)
		}
	}
}

// notInAScheme satisfies the constraint of For but no scheme knows it.
type notInAScheme struct{ corev1.ConfigMap }

func TestForRefusesWhatItCannotRead(t *testing.T) {
	f := newFactory(t, serve(t))
	ctx := t.Context()
	configMap := func(s informer.Scope) error {
		_, err := informer.For(ctx, f, informer.Options[*corev1.ConfigMap]{Scope: s})
		return err
	}
	unstruct := func(k schema.GroupVersionKind) error {
		_, err := informer.For(ctx, f, informer.Options[*unstructured.Unstructured]{Scope: informer.Scope{Kind: k}})
		return err
	}
	for name, c := range map[string]struct {
		err   error
		is    error
		words string
	}{
		"a bad label selector":    {configMap(informer.Scope{LabelSelector: "a in ("}), informer.ErrInvalid, "label selector"},
		"a bad field selector":    {configMap(informer.Scope{FieldSelector: "name"}), informer.ErrInvalid, "field selector"},
		"the kind of another":     {configMap(informer.Scope{Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}}), informer.ErrInvalid, "ConfigMap"},
		"unstructured of no kind": {unstruct(schema.GroupVersionKind{}), informer.ErrInvalid, "Scope.Kind"},
		"an unknown kind":         {unstruct(schema.GroupVersionKind{Version: "v1", Kind: "Nothing"}), informer.ErrNotServed, "Nothing"},
		"an unknown group":        {unstruct(schema.GroupVersionKind{Group: "nowhere.example", Version: "v1", Kind: "Thing"}), informer.ErrNotServed, "nowhere.example"},
		"an interface as type": {func() error {
			_, err := informer.For(ctx, f, informer.Options[informer.Object]{})
			return err
		}(), informer.ErrInvalid, "pointer"},
		"a type of no scheme": {func() error {
			_, err := informer.For(ctx, f, informer.Options[*notInAScheme]{})
			return err
		}(), informer.ErrInvalid, "scheme"},
		"a namespace for a cluster-scoped resource": {func() error {
			_, err := informer.For(ctx, f, informer.Options[*corev1.Node]{Scope: informer.Scope{Namespace: "x"}})
			return err
		}(), informer.ErrInvalid, "cluster-scoped"},
		"a nil index function": {func() error {
			_, err := informer.For(ctx, f, informer.Options[*appsv1.Deployment]{Indexes: indexer.Indexes[*appsv1.Deployment]{"x": {}}})
			return err
		}(), nil, "x"},
	} {
		if c.err == nil || c.is != nil && !errors.Is(c.err, c.is) || !strings.Contains(fmt.Sprint(c.err), c.words) {
			t.Errorf("%s: error %v, want %v and the word %q", name, c.err, c.is, c.words)
		}
	}
}

func TestForEndsWithItsContext(t *testing.T) {
	f := newFactory(t, serve(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := informer.For(ctx, f, informer.Options[*corev1.ConfigMap]{}); !errors.Is(err, context.Canceled) {
		t.Errorf("For: %v", err)
	}
}

func TestForMayBeAskedByManyAtOnce(t *testing.T) {
	f := newFactory(t, serve(t))
	byName := indexer.Indexes[*corev1.ConfigMap]{"name": {Values: func(m *corev1.ConfigMap, values []string) ([]string, error) { return append(values, m.Name), nil }}}
	var got [8]*informer.Informer[*corev1.ConfigMap]
	var asking sync.WaitGroup
	for n := range got {
		asking.Go(func() {
			var err error
			if got[n], err = informer.For(t.Context(), f, informer.Options[*corev1.ConfigMap]{Indexes: byName}); err != nil {
				t.Error(err)
			}
		})
	}
	asking.Wait()
	for n := range got {
		if got[n] != got[0] {
			t.Errorf("request %d was given an informer of its own", n)
		}
		if _, err := got[n].Store().ByIndex("name", "a"); err != nil {
			t.Errorf("request %d: %v", n, err)
		}
	}
}

func TestForWithoutAContextIsAnError(t *testing.T) {
	f := newFactory(t, serve(t))
	var none context.Context
	if _, err := informer.For(none, f, informer.Options[*corev1.ConfigMap]{}); !errors.Is(err, informer.ErrInvalid) {
		t.Errorf("For: %v", err)
	}
}

func TestAFactoryDecodesTypedObjectsFromJSONByWhatTheUserGives(t *testing.T) {
	config := rest.CopyConfig(serve(t))
	config.ContentType = "application/json"
	var calls atomic.Int32
	f, err := informer.NewFactory(config, informer.FactoryOptions{UnmarshalJSON: func(raw []byte, into any) error {
		calls.Add(1)
		return json.Unmarshal(raw, into)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	maps, err := informer.For(t.Context(), f, informer.Options[*corev1.ConfigMap]{})
	if keys := synced(t, f, maps, err); len(keys) == 0 || int(calls.Load()) < len(keys) {
		t.Errorf("%d calls for %v", calls.Load(), keys)
	}
}
