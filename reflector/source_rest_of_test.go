package reflector_test

import (
	"errors"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"heliograph.example/reflector"
)

func TestASourceOfATypeKnownAtRunTimeReadsLikeAnyOther(t *testing.T) {
	server := serveObjects(t)
	want := reflector.Shape{Fields: []string{"data", "metadata.labels"}}
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		client := restClient(t, server.Config(), corev1.SchemeGroupVersion, scheme.Scheme, media)
		opts := reflector.SourceOptions{Namespace: "ns"}
		static, err := reflector.NewRESTSource[*corev1.ConfigMap](client, "configmaps", opts)
		if err != nil {
			t.Fatal(err)
		}
		dynamic, err := reflector.NewRESTSourceOf(client, "configmaps", (*corev1.ConfigMap)(nil), opts)
		if err != nil {
			t.Fatal(err)
		}
		same(t, dynamic, static)
		shapedStatic, err := static.(reflector.Shaper[*corev1.ConfigMap]).Shaped(want)
		if err != nil {
			t.Fatal(err)
		}
		shaped, err := dynamic.(reflector.Shaper[reflector.Object]).Shaped(want)
		if err != nil {
			t.Fatal(err)
		}
		same(t, shaped, shapedStatic)
		if _, err := dynamic.(reflector.Shaper[reflector.Object]).Shaped(reflector.Shape{Fields: []string{"spec"}}); !errors.Is(err, reflector.ErrInvalid) {
			t.Errorf("a field that there is not: %v", err)
		}
	}
}

// same compares what two sources read.
func same[T reflector.Object](t *testing.T, dynamic reflector.Source[reflector.Object], static reflector.Source[T]) {
	t.Helper()
	got, _ := listAll(t, dynamic)
	want, _ := listAll(t, static)
	if len(got) != len(want) || len(got) == 0 {
		t.Fatalf("it listed %d objects, want %d", len(got), len(want))
	}
	for n := range want {
		if !reflect.DeepEqual(got[n].Object, reflector.Object(want[n].Object)) || got[n].Key != want[n].Key {
			t.Errorf("listed\n got: %+v\nwant: %+v", got[n], want[n])
		}
	}
	gotEvents, wantEvents := watchAll(t, dynamic), watchAll(t, static)
	for n := range min(len(got), len(gotEvents), len(wantEvents)) {
		if !reflect.DeepEqual(gotEvents[n].Object, reflector.Object(wantEvents[n].Object)) {
			t.Errorf("watched\n got: %+v\nwant: %+v", gotEvents[n], wantEvents[n])
		}
	}
}

func TestObjectsOfAnotherTypeThanTheExampleAreErrors(t *testing.T) {
	server := serveObjects(t)
	client := restClient(t, server.Config(), corev1.SchemeGroupVersion, scheme.Scheme, runtime.ContentTypeProtobuf)
	source, err := reflector.NewRESTSourceOf(client, "configmaps", &corev1.Secret{}, reflector.SourceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var problems int
	if _, err := source.List(t.Context(), metav1.ListOptions{}, func(it reflector.Item[reflector.Object]) error {
		var problem *reflector.ObjectError
		if errors.As(it.Err, &problem) && it.Object == nil {
			problems++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if problems != 2 {
		t.Errorf("%d objects came with an error, want 2", problems)
	}
}

func TestATypeThatNobodyKnowsIsRefused(t *testing.T) {
	server := serveObjects(t)
	client := restClient(t, server.Config(), corev1.SchemeGroupVersion, scheme.Scheme, runtime.ContentTypeJSON)
	for name, example := range map[string]reflector.Object{
		"nothing":                     nil,
		"a type that no scheme knows": &gadget{},
		"unstructured objects":        &unstructured.Unstructured{},
		"metadata":                    &metav1.PartialObjectMetadata{},
	} {
		if _, err := reflector.NewRESTSourceOf(client, "configmaps", example, reflector.SourceOptions{}); !errors.Is(err, reflector.ErrInvalid) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if _, err := reflector.NewRESTSourceOf(nil, "deployments", &appsv1.Deployment{}, reflector.SourceOptions{}); !errors.Is(err, reflector.ErrInvalid) {
		t.Errorf("no client: the error is %v", err)
	}
}

func TestATweakHoldsForEveryRequest(t *testing.T) {
	server := serveObjects(t)
	client := restClient(t, server.Config(), corev1.SchemeGroupVersion, scheme.Scheme, runtime.ContentTypeJSON)
	source, err := reflector.NewRESTSource[*corev1.ConfigMap](client, "configmaps", reflector.SourceOptions{
		Tweak: func(opts *metav1.ListOptions) {
			opts.LabelSelector, opts.FieldSelector = "l=1", "metadata.namespace=ns"
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if items, _ := listAll(t, source); len(items) != 1 || items[0].Key.Name != "a" {
		t.Errorf("it listed %v", items)
	}
	if events := watchAll(t, source); len(events) != 2 || events[0].Key.Name != "a" {
		t.Errorf("it watched %v", events)
	}
	get := source.(reflector.Getter[*corev1.ConfigMap]).Get
	if it, err := get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "a"}); err != nil || it.Object == nil {
		t.Errorf("it read %v, %v", it, err)
	}
	if it, err := get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "b"}); err == nil {
		t.Errorf("it read %v, which is not in its scope", it)
	}
}
