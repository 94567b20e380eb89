package apiservertest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// writer writes objects of any kind that the server serves. It belongs to one
// goroutine.
type writer struct {
	client    dynamic.Interface
	discovery discovery.ServerResourcesInterface
	known     map[schema.GroupVersion]*metav1.APIResourceList
}

func newWriter(config *rest.Config) (*writer, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	return &writer{client, disco, make(map[schema.GroupVersion]*metav1.APIResourceList)}, nil
}

// served is how a kind is served.
type served struct {
	schema.GroupVersionResource
	namespaced, status bool
}

// find asks the server how it serves a kind.
func (w *writer) find(gvk schema.GroupVersionKind) (served, error) {
	gv := gvk.GroupVersion()
	list := w.known[gv]
	if list == nil {
		var err error
		if list, err = w.discovery.ServerResourcesForGroupVersion(gv.String()); err != nil {
			return served{}, fmt.Errorf("look for the resource of %s in %s: %w", gvk.Kind, gv, err)
		}
		w.known[gv] = list
	}
	var s served
	for _, r := range list.APIResources {
		plural, subresource, _ := strings.Cut(r.Name, "/")
		switch {
		case r.Kind != gvk.Kind:
		case subresource == "":
			s.GroupVersionResource, s.namespaced = gv.WithResource(plural), r.Namespaced
		case subresource == "status":
			s.status = true
		}
	}
	if s.Resource == "" {
		return served{}, fmt.Errorf("the server does not serve the kind %s in %s", gvk.Kind, gv)
	}
	return s, nil
}

// resource returns a client for an object, in its namespace, and the object as
// it can be sent: with the namespace "default" if it lacks one, and without what
// is the server's to decide.
func (w *writer) resource(obj *unstructured.Unstructured) (dynamic.ResourceInterface, served, *unstructured.Unstructured, error) {
	s, err := w.find(obj.GroupVersionKind())
	if err != nil {
		return nil, s, nil, err
	}
	obj = obj.DeepCopy()
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	if !s.namespaced {
		if ns := obj.GetNamespace(); ns != "" {
			return nil, s, nil, fmt.Errorf("%s are not in namespaces, and this one names %q", s.Resource, ns)
		}
		return w.client.Resource(s.GroupVersionResource), s, obj, nil
	}
	if obj.GetNamespace() == "" {
		obj.SetNamespace(metav1.NamespaceDefault)
	}
	return w.client.Resource(s.GroupVersionResource).Namespace(obj.GetNamespace()), s, obj, nil
}

// create creates an object, its status included.
func (w *writer) create(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	client, s, obj, err := w.resource(obj)
	if err != nil {
		return nil, err
	}
	created, err := client.Create(ctx, obj, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	status, has := obj.Object["status"]
	if !has || !s.status || equality.Semantic.DeepEqual(status, created.Object["status"]) {
		return created, nil
	}
	created.Object["status"] = status
	created, err = client.UpdateStatus(ctx, created, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("its status: %w", err)
	}
	return created, nil
}

// merge changes an object to have what obj has, its status included, and keeps
// the rest.
func (w *writer) merge(ctx context.Context, obj *unstructured.Unstructured) error {
	client, s, obj, err := w.resource(obj)
	if err != nil {
		return err
	}
	status, has := obj.Object["status"]
	content := maps.Clone(obj.Object)
	if s.status {
		delete(content, "status")
	}
	if err := mergePatch(ctx, client, obj.GetName(), content); err != nil {
		return err
	}
	if !has || !s.status {
		return nil
	}
	if err := mergePatch(ctx, client, obj.GetName(), map[string]any{"status": status}, "status"); err != nil {
		return fmt.Errorf("its status: %w", err)
	}
	return nil
}

func mergePatch(ctx context.Context, client dynamic.ResourceInterface, name string, content map[string]any, subresources ...string) error {
	patch, err := json.Marshal(content)
	if err != nil {
		return err
	}
	_, err = client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, subresources...)
	return err
}

// remove deletes an object; one that is not there is fine.
func (w *writer) remove(ctx context.Context, obj *unstructured.Unstructured) error {
	client, _, obj, err := w.resource(obj)
	if err != nil {
		return err
	}
	err = client.Delete(ctx, obj.GetName(), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
