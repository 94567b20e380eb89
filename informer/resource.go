package informer

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"heliograph.example/reflector"
)

// Object is what [For] makes informers of.
type Object = reflector.Object

// resource is what discovery tells of one kind.
type resource struct {
	kind       string
	gvr        schema.GroupVersionResource
	namespaced bool
}

// resourceOf asks the server for the resource of a kind. What it has told once is
// remembered; a kind that it did not serve is asked for again.
func (f *Factory) resourceOf(ctx context.Context, kind schema.GroupVersionKind) (resource, error) {
	gv := kind.GroupVersion()
	f.mu.Lock()
	known, ok := f.resources[gv]
	f.mu.Unlock()
	if ok {
		if r, found := findKind(known, kind.Kind); found {
			return r, nil
		}
	}
	list, err := f.discovery.ServerResourcesForGroupVersionWithContext(ctx, gv.String())
	if apierrors.IsNotFound(err) {
		return resource{}, fmt.Errorf("%w: the server knows no group and version %v: %w", ErrNotServed, gv, err)
	}
	if err != nil {
		return resource{}, fmt.Errorf("discovery of %v: %w", gv, err)
	}
	known = known[:0:0]
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") { // not a subresource
			known = append(known, resource{kind: r.Kind, gvr: gv.WithResource(r.Name), namespaced: r.Namespaced})
		}
	}
	f.mu.Lock()
	f.resources[gv] = known
	f.mu.Unlock()
	if r, found := findKind(known, kind.Kind); found {
		return r, nil
	}
	return resource{}, fmt.Errorf("%w: the server has no resource of kind %s in %v", ErrNotServed, kind.Kind, gv)
}

func findKind(known []resource, kind string) (resource, bool) {
	for _, r := range known {
		if r.kind == kind {
			return r, true
		}
	}
	return resource{}, false
}

// newSource makes the source that reads objects of type T.
func newSource[T Object](f *Factory, form form, kind schema.GroupVersionKind, gvr schema.GroupVersionResource, scope Scope) (reflector.Source[T], error) {
	client, err := f.restClient(form, kind, reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	return reflector.NewRESTSource[T](client, gvr.Resource, reflector.SourceOptions{
		Namespace: scope.Namespace, LabelSelector: scope.LabelSelector, FieldSelector: scope.FieldSelector,
		Scheme: f.scheme, UnmarshalJSON: f.unmarshal,
	})
}

// clientKey is what the clients of a factory differ in.
type clientKey struct {
	gv              schema.GroupVersion
	typed, protobuf bool
}

// restClient returns the client of the group and version of a kind, which its
// informers share. Built-in types travel as protobuf unless the config asks for
// something else; others are only served as JSON, or only know how to be read from
// it. How unstructured objects and metadata travel is up to their source: of the
// client's types they need nothing but the status of an error, which a user's
// scheme may not know. The caller holds mu.
func (f *Factory) restClient(form form, kind schema.GroupVersionKind, t reflect.Type) (rest.Interface, error) {
	key := clientKey{gv: kind.GroupVersion(), typed: form == typed}
	key.protobuf = key.typed && f.config.ContentType == "" && f.config.AcceptContentTypes == "" &&
		scheme.Scheme.AllKnownTypes()[kind] == t.Elem()
	if client, ok := f.clients[key]; ok {
		return client, nil
	}
	client, err := f.newClient(key)
	if err != nil {
		return nil, err
	}
	f.clients[key] = client
	return client, nil
}

// newClient makes a client.
func (f *Factory) newClient(key clientKey) (rest.Interface, error) {
	config := rest.CopyConfig(f.config)
	config.GroupVersion = &key.gv
	config.APIPath = "/apis"
	if key.gv.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	if key.typed {
		config.NegotiatedSerializer = serializer.NewCodecFactory(f.scheme).WithoutConversion()
	}
	if key.protobuf {
		config.ContentType = runtime.ContentTypeProtobuf
		config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	return rest.RESTClientForConfigAndClient(config, f.client)
}
