package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// lanterns are custom resources that come and go.
var lanterns = kind{name: "Lantern", plural: "lanterns"}

var (
	lanternGV = schema.GroupVersion{Group: "e2e.heliograph.example", Version: "v1"}
	crds      = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// definition is that of the lanterns.
func definition() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": crds.GroupVersion().String(),
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": lanterns.plural + "." + lanternGV.Group},
		"spec": map[string]any{
			"group": lanternGV.Group,
			"scope": "Namespaced",
			"names": map[string]any{"kind": lanterns.name, "plural": lanterns.plural, "singular": "lantern"},
			"versions": []any{map[string]any{
				"name": lanternGV.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}}
}

// light makes lanterns. They can be made a moment before the last part of the
// server knows of them, or after: so it tries.
func light(t *testing.T, d dynamic.Interface, namespace string, number int) {
	t.Helper()
	for n := range number {
		lantern := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"lumen": int64(n)}}}
		lantern.SetGroupVersionKind(lanternGV.WithKind(lanterns.name))
		lantern.SetName(fmt.Sprintf("lantern-%d", n))
		eventually(t, "a lantern", func() error {
			_, err := d.Resource(lanternGV.WithResource(lanterns.plural)).Namespace(namespace).
				Create(t.Context(), lantern, metav1.CreateOptions{})
			return err
		})
	}
}

func TestACustomResourceThatComesGoesAndComesBackIsFollowed(t *testing.T) {
	t.Parallel()
	const namespace, number = "lights", 20
	c := client(t, protobufConfig())
	makeNamespace(t, c, namespace)
	fill(t, c, namespace, configMaps, 10)
	d, err := dynamic.NewForConfig(jsonConfig())
	if err != nil {
		t.Fatal(err)
	}
	lights := d.Resource(lanternGV.WithResource(lanterns.plural)).Namespace(namespace)
	l := newLine(t, cluster.Config())
	maps := mapsIn(t, l.factory, namespace, reflector.Options[*corev1.ConfigMap]{})
	s := tunedSubject(t, l.factory, lanterns, informer.Options[*unstructured.Unstructured]{
		Scope: informer.Scope{Kind: lanternGV.WithKind(lanterns.name), Resource: lanterns.plural, Namespace: namespace},
	}, func(ctx context.Context) ([]*unstructured.Unstructured, error) {
		list, err := lights.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		return pointers(list.Items), nil
	})
	l.factory.Start(t.Context())

	// It is not there yet, which harms nobody else.
	if err := informer.WaitFor(t.Context(), maps.informer); err != nil {
		t.Fatal(err)
	}
	comesTo(t, s, reflector.NotServed, 2)

	// It comes.
	if _, err := d.Resource(crds).Create(t.Context(), definition(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	light(t, d, namespace, number)
	synced(t, l.factory)
	settle(t, []subject{s}) // from here on no handler is slow
	eventually(t, "the first lanterns", func() error { return s.agrees(t.Context()) })

	// It goes: the server deletes the lanterns first.
	remove(t, d)
	comesTo(t, s, reflector.NotServed, 1)

	// It comes back, with other lanterns of the same names.
	eventually(t, "the second definition", func() error {
		_, err := d.Resource(crds).Create(t.Context(), definition(), metav1.CreateOptions{})
		return err
	})
	light(t, d, namespace, number)
	eventually(t, "the second lanterns", func() error { return s.agrees(t.Context()) })

	proved(t, maps)
	if err := s.judge(nil); err != nil {
		t.Error(err)
	}
	deleted := 0
	for _, told := range s.handlers[0].Told() {
		if told.Type == informer.Deleted {
			deleted++
		}
	}
	if deleted != number || s.status().Objects != number {
		t.Errorf("%d lanterns were deleted and %d are there, want %d of each", deleted, s.status().Objects, number)
	}
	calm(t, l, s)
}

// remove deletes the definition and waits until it is gone.
func remove(t *testing.T, d dynamic.Interface) {
	t.Helper()
	name := definition().GetName()
	if err := d.Resource(crds).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the definition", func() error {
		_, err := d.Resource(crds).Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("it is still there"), err)
	})
}

// calm checks what the absence of a resource has cost the server.
func calm(t *testing.T, l *line, s subject) {
	t.Helper()
	y := count(t, l.agent, s.of().plural)
	questions := 0
	for _, r := range received(t, l.agent) {
		if r.Verb == "get" && r.Path == "/apis/"+lanternGV.String() {
			questions++
		}
	}
	t.Logf("ours: %v, %d questions whether it is served", y, questions)
	if y.all() > 40 || questions > 20 {
		t.Errorf("the server was asked for %v, and %d times whether it serves that; want at most 40 and 20", y, questions)
	}
}
