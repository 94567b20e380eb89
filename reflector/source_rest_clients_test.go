package reflector_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/deltafifo"
	"heliograph.example/reflector"
)

// gadget is a custom resource with a Go type that knows less than what is stored.
type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              map[string]any `json:"spec,omitempty"`
}

func (g *gadget) DeepCopyObject() runtime.Object { c := *g; return &c }

type gadgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []gadget `json:"items"`
}

func (l *gadgetList) DeepCopyObject() runtime.Object { c := *l; return &c }

var gadgetKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}

// gadgetScheme knows gadgets, and a default that no client of client-go sets.
func gadgetScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypeWithName(gadgetKind, &gadget{})
	s.AddKnownTypeWithName(gadgetKind.GroupVersion().WithKind("GadgetList"), &gadgetList{})
	s.AddTypeDefaultingFunc(&gadget{}, func(obj any) { obj.(*gadget).Labels = map[string]string{"defaulted": "yes"} })
	metav1.AddToGroupVersion(s, gadgetKind.GroupVersion())
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s
}

// serveObjects serves a few objects of three resources.
func serveObjects(t *testing.T) *apiservertest.Server {
	t.Helper()
	server := apiservertest.Start(t, apiserver.Options{Resources: []apiserver.Resource{{GroupVersionKind: gadgetKind, Namespaced: true}}})
	server.Load(`
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: ns, labels: {l: "1"}, annotations: {text: "a \"b\" \\ é"}}
data: {k: v}
binaryData: {b: AAECAw==}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b, namespace: ns}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: d, namespace: ns}
spec: {replicas: 3, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 100m}}}]}}}
---
apiVersion: example.com/v1
kind: Gadget
metadata: {name: g, namespace: ns}
spec: {number: 3, fraction: 0.5, list: [1, x, null, {y: true}], big: 12345678901234567890}
unknown: {field: 1}
---
apiVersion: example.com/v1
kind: Gadget
metadata: {name: h, namespace: ns}
`)
	return server
}

// restClient is a client as generated clientsets have them.
func restClient(t *testing.T, config *rest.Config, gv schema.GroupVersion, known *runtime.Scheme, contentType string) rest.Interface {
	t.Helper()
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &gv, "/apis"
	if gv.Group == "" {
		config.APIPath = "/api"
	}
	config.ContentType = contentType
	config.NegotiatedSerializer = serializer.NewCodecFactory(known).WithoutConversion()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// viaClient reads through a client of client-go, which decodes for itself.
type viaClient struct {
	list  func(metav1.ListOptions) (runtime.Object, error)
	watch func(metav1.ListOptions) (watch.Interface, error)
}

func typedClient(ctx context.Context, client rest.Interface, resource string) viaClient {
	request := func(o metav1.ListOptions) *rest.Request {
		return client.Get().Namespace("ns").Resource(resource).VersionedParams(&o, metav1.ParameterCodec)
	}
	return viaClient{
		func(o metav1.ListOptions) (runtime.Object, error) { return request(o).Do(ctx).Get() },
		func(o metav1.ListOptions) (watch.Interface, error) { o.Watch = true; return request(o).Watch(ctx) },
	}
}

// TestObjectsComeAsTheClientsOfClientGoGiveThem compares lists, watches and
// single reads of every kind of source with those of the client whose place it
// takes.
func TestObjectsComeAsTheClientsOfClientGoGiveThem(t *testing.T) {
	server := serveObjects(t)
	config, ctx := server.Config(), t.Context()
	gadgets := gadgetKind.GroupVersion()
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run("typed "+media, func(t *testing.T) {
			core := restClient(t, config, corev1.SchemeGroupVersion, scheme.Scheme, media)
			agree[*corev1.ConfigMap](t, core, "configmaps", nil, typedClient(ctx, core, "configmaps"))
			apps := restClient(t, config, appsv1.SchemeGroupVersion, scheme.Scheme, media)
			agree[*appsv1.Deployment](t, apps, "deployments", nil, typedClient(ctx, apps, "deployments"))
		})
	}
	t.Run("typed custom", func(t *testing.T) {
		known := gadgetScheme()
		client := restClient(t, config, gadgets, known, runtime.ContentTypeJSON)
		agree[*gadget](t, client, "gadgets", known, typedClient(ctx, client, "gadgets"))
	})
	for resource, gv := range map[string]schema.GroupVersion{"configmaps": corev1.SchemeGroupVersion, "deployments": appsv1.SchemeGroupVersion, "gadgets": gadgets} {
		// The config of the client must not matter here.
		client := restClient(t, config, gv, scheme.Scheme, runtime.ContentTypeProtobuf)
		t.Run("unstructured "+resource, func(t *testing.T) {
			theirs := server.Dynamic().Resource(gv.WithResource(resource)).Namespace("ns")
			agree[*unstructured.Unstructured](t, client, resource, nil, viaClient{
				func(o metav1.ListOptions) (runtime.Object, error) { return theirs.List(ctx, o) },
				func(o metav1.ListOptions) (watch.Interface, error) { return theirs.Watch(ctx, o) },
			})
		})
		t.Run("metadata "+resource, func(t *testing.T) {
			all, err := metadata.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			theirs := all.Resource(gv.WithResource(resource)).Namespace("ns")
			agree[*metav1.PartialObjectMetadata](t, client, resource, nil, viaClient{
				func(o metav1.ListOptions) (runtime.Object, error) { return theirs.List(ctx, o) },
				func(o metav1.ListOptions) (watch.Interface, error) { return theirs.Watch(ctx, o) },
			})
		})
	}
}

// agree reads a resource both ways.
func agree[T reflector.Object](t *testing.T, client rest.Interface, resource string, known *runtime.Scheme, theirs viaClient) {
	t.Helper()
	source, err := reflector.NewRESTSource[T](client, resource, reflector.SourceOptions{Namespace: "ns", Scheme: known})
	if err != nil {
		t.Fatal(err)
	}
	lister, err := reflector.FromListerWatcher[T](listerWatcher{theirs})
	if err != nil {
		t.Fatal(err)
	}
	got, gotPage := listAll(t, source)
	want, wantPage := listAll(t, lister)
	if len(want) == 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("list\n got: %+v\nwant: %+v", got, want)
	}
	if !reflect.DeepEqual(gotPage, wantPage) {
		t.Errorf("page\n got: %+v\nwant: %+v", gotPage, wantPage)
	}
	for _, want := range want {
		if got, err := source.(reflector.Getter[T]).Get(t.Context(), want.Key); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("single\n got: %+v, %v\nwant: %+v", got, err, want)
		}
	}
	gotEvents, wantEvents := watchAll(t, source), watchAll(t, lister)
	if len(wantEvents) != len(want)+1 || !reflect.DeepEqual(gotEvents, wantEvents) {
		t.Errorf("watch\n got: %+v\nwant: %+v", gotEvents, wantEvents)
	}
}

// listerWatcher makes a ListerWatcher of two functions.
type listerWatcher struct{ viaClient }

func (l listerWatcher) List(o metav1.ListOptions) (runtime.Object, error)   { return l.list(o) }
func (l listerWatcher) Watch(o metav1.ListOptions) (watch.Interface, error) { return l.watch(o) }

func listAll[T any](t *testing.T, source reflector.Source[T]) (items []reflector.Item[T], page reflector.Page) {
	t.Helper()
	page, err := source.List(t.Context(), metav1.ListOptions{Limit: 100}, func(it reflector.Item[T]) error {
		items = append(items, it)
		return it.Err
	})
	if err != nil {
		t.Fatal(err)
	}
	return items, page
}

// watchAll reads a streaming list up to its end.
func watchAll[T any](t *testing.T, source reflector.Source[T]) (events []reflector.Event[T]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	yes := true
	stream, err := source.Watch(ctx, metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	for {
		batch, err := stream.Next()
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, batch...)
		if last := events[len(events)-1]; last.Type == deltafifo.Bookmark && last.InitialEventsEnd {
			return events
		}
	}
}

// TestErrorsAreThoseOfAClientOfClientGo compares what the server refuses.
func TestErrorsAreThoseOfAClientOfClientGo(t *testing.T) {
	server := serveObjects(t)
	first, _ := listAll(t, configMaps(t, server.Config(), runtime.ContentTypeJSON))
	if err := server.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		source := configMaps(t, server.Config(), media)
		core := restClient(t, server.Config(), corev1.SchemeGroupVersion, scheme.Scheme, media)
		theirs, err := reflector.FromListerWatcher[*corev1.ConfigMap](listerWatcher{typedClient(t.Context(), core, "configmaps")})
		if err != nil {
			t.Fatal(err)
		}
		for name, opts := range map[string]metav1.ListOptions{
			"expired":        {ResourceVersion: "1", ResourceVersionMatch: metav1.ResourceVersionMatchExact},
			"a bad token":    {Continue: "?"},
			"a bad version":  {ResourceVersion: "x"},
			"a bad match":    {ResourceVersionMatch: "x"},
			"an old version": {ResourceVersion: first[0].Version},
		} {
			got, want := fails(t, source, opts), fails(t, theirs, opts)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s, %s:\n got: %+v\nwant: %+v", media, name, got, want)
			}
		}
	}
}

func configMaps(t *testing.T, config *rest.Config, media string) reflector.Source[*corev1.ConfigMap] {
	t.Helper()
	source, err := reflector.NewRESTSource[*corev1.ConfigMap](restClient(t, config, corev1.SchemeGroupVersion, scheme.Scheme, media), "configmaps",
		reflector.SourceOptions{Namespace: "ns"})
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// fails returns what a list, the opening of a watch, or its stream fails with.
func fails[T any](t *testing.T, source reflector.Source[T], opts metav1.ListOptions) []any {
	t.Helper()
	_, listErr := source.List(t.Context(), opts, func(reflector.Item[T]) error { return nil })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	opts.Continue = ""
	one := int64(1)
	opts.TimeoutSeconds = &one
	stream, watchErr := source.Watch(ctx, opts)
	if watchErr == nil {
		defer stream.Stop()
		for watchErr == nil {
			_, watchErr = stream.Next()
		}
		watchErr = fmt.Errorf("in the stream: %w", watchErr)
	}
	return []any{listErr, watchErr}
}
