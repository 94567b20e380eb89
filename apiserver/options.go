package apiserver

import (
	"fmt"
	"net"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"heliograph.example/apiserver/endpoints"
	"heliograph.example/apiserver/fault"
)

// Options say what a [Server] serves. The zero value serves the built-in API
// of Kubernetes on a free port of 127.0.0.1.
type Options struct {
	// Scheme knows the Go types of the built-in resources and of those custom
	// resources that are to be typed. Nil means client-go's scheme.Scheme. It
	// must not be changed while the server runs.
	Scheme *runtime.Scheme
	// Resources are custom resources, written out or read by
	// [ResourcesFromCRD]. More can be added later by [Server.Register].
	Resources []Resource
	// Faults is the script of what goes wrong; nil means nothing. Faults may
	// be added while the server runs.
	Faults *fault.Script
	// ShardSelector turns on the parameter shardSelector of lists and watches,
	// as kube-apiserver's feature gate ShardedListAndWatch does, which is off
	// by default in Kubernetes 1.37. Off, the parameter is ignored, whatever
	// it says, so that clients get everything.
	ShardSelector bool
	// WatchBacklog, if not zero, makes the server as strict with slow watches
	// as kube-apiserver is: a watch that has more events than this yet to be
	// sent, counted before labels and fields select, ends cleanly, and the
	// client has to resume. kube-apiserver does so when the buffer of a watch
	// is full, which holds 10 events for quiet resources and up to 1,000 for
	// busy ones. With a small number a burst of writes ends the watches of
	// good clients, too; a fault with a Pause makes one slow for sure. Zero
	// means that watches end only when they are thousands of events behind.
	WatchBacklog int
	// Listener takes the connections; nil means a new one on 127.0.0.1. The
	// server closes it.
	Listener net.Listener
}

// Resource is a custom resource, served as if a CustomResourceDefinition
// without a schema had declared it. [ResourcesFromCRD] makes Resources from such
// definitions.
type Resource struct {
	// GroupVersionKind is the kind of its objects; all three parts are
	// required. Objects are kept as values of the Go type that the scheme has
	// for the kind, else as unstructured ones.
	GroupVersionKind schema.GroupVersionKind
	// Plural is its name in paths. Empty means what Kubernetes guesses from
	// the kind ("widgets" for Widget).
	Plural string
	// Singular is its name for one object in discovery. Empty means the kind
	// in lower case.
	Singular string
	// ShortNames are other names that discovery tells.
	ShortNames []string
	// Namespaced is whether its objects live in namespaces.
	Namespaced bool
	// Status is whether it has a status subresource.
	Status bool
	// SelectableFields are the paths of fields that field selectors may name,
	// such as "spec.color", besides metadata.name and metadata.namespace.
	SelectableFields []string
}

// served returns the description of a custom resource for the endpoints.
func (r Resource) served() (endpoints.Resource, error) {
	if r.GroupVersionKind.Group == "" || r.GroupVersionKind.Kind == "" {
		return endpoints.Resource{}, fmt.Errorf("%w: a custom resource needs a group, a version and a kind: %v",
			endpoints.ErrInvalidResource, r.GroupVersionKind)
	}
	plural := r.Plural
	if plural == "" {
		gvr, _ := meta.UnsafeGuessKindToResource(r.GroupVersionKind)
		plural = gvr.Resource
	}
	fields := make(fieldFuncs, len(r.SelectableFields))
	for _, name := range r.SelectableFields {
		path := strings.Split(strings.TrimPrefix(name, "."), ".")
		fields[strings.Join(path, ".")] = func(obj runtime.Object) string { return fieldAt(obj, path) }
	}
	return endpoints.Resource{
		GroupVersionKind: r.GroupVersionKind,
		Plural:           plural,
		Singular:         r.Singular,
		ShortNames:       r.ShortNames,
		Namespaced:       r.Namespaced,
		Status:           r.Status,
		Custom:           true,
		Generation:       true,
		Fields:           fields,
	}, nil
}

// fieldAt is the value of a scalar field as a selector compares it; empty if
// there is none.
func fieldAt(obj runtime.Object, path []string) string {
	var content map[string]any
	if u, ok := obj.(*unstructured.Unstructured); ok {
		content = u.Object
	} else {
		var err error
		// A typed object that has no JSON form has no fields to select either.
		if content, err = runtime.DefaultUnstructuredConverter.ToUnstructured(obj); err != nil {
			return ""
		}
	}
	value, found, err := unstructured.NestedFieldNoCopy(content, path...)
	if !found || err != nil || value == nil {
		return ""
	}
	switch value.(type) {
	case map[string]any, []any:
		return ""
	}
	return fmt.Sprint(value)
}
