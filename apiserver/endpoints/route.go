package endpoints

import (
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// target is what the path of a request points at.
type target struct {
	resource    schema.GroupVersionResource
	namespace   string
	name        string
	subresource string
	// watch is set for the old paths under /watch/, which client libraries
	// still know.
	watch bool
}

// parsePath reads a path of the form
//
//	/api/v1|/apis/<group>/<version> [/watch] [/namespaces/<ns>] /<resource> [/<name> [/<subresource>]]
//
// and returns false for any other; if that has at least a group and a version,
// it returns them.
func parsePath(path string) (target, bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	var t target
	switch {
	case parts[0] == "api" && len(parts) > 2:
		t.resource, parts = schema.GroupVersionResource{Version: parts[1]}, parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		t.resource, parts = schema.GroupVersionResource{Group: parts[1], Version: parts[2]}, parts[3:]
		if t.resource.Group == "" {
			return target{}, false
		}
	default:
		return target{}, false
	}
	if parts[0] == "watch" && len(parts) > 1 {
		t.watch, parts = true, parts[1:]
	}
	// namespaces/<name>/status is a subresource of the namespace itself.
	if parts[0] == "namespaces" && len(parts) > 2 && (t.resource.Group != "" || parts[2] != "status" || len(parts) > 3) {
		if parts[1] == "" {
			return t, false
		}
		t.namespace, parts = parts[1], parts[2:]
	}
	t.resource.Resource = parts[0]
	for i, field := range []*string{&t.name, &t.subresource} {
		if len(parts) > i+1 {
			if *field = parts[i+1]; *field == "" {
				return t, false
			}
		}
	}
	return t, t.resource.Resource != "" && len(parts) <= 3
}

// request is one request to a resource while it is served.
type request struct {
	*http.Request
	w    *recorder
	res  *Resource
	srv  *served
	verb string
	target
	query url.Values
}

// forResource returns the verb of a request, or the error for a method that is
// not possible there; found is false if the path does not exist.
func (t target) forResource(method string, r *Resource, watching bool) (verb string, found bool, err error) {
	if !r.Namespaced && t.namespace != "" {
		return "", false, nil
	}
	if t.subresource != "" && (t.subresource != "status" || !r.Status) {
		return "", false, nil
	}
	everywhere := r.Namespaced && t.namespace == ""
	if everywhere && t.name != "" {
		return "", false, nil
	}
	if method == http.MethodHead && r.Custom {
		method = http.MethodGet
	}
	verb = map[string]string{
		http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update",
		http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[method]
	notSupported := func() (string, bool, error) { return verb, true, notSupported(r, verb) }
	switch {
	case verb == "" || t.watch && verb != "get":
		return notSupported()
	case t.watch:
		return "watch", true, nil
	case t.subresource != "":
		if verb == "create" || verb == "delete" {
			return notSupported()
		}
		return verb, true, nil
	case t.name != "":
		if verb == "create" {
			return notSupported()
		}
		return verb, true, nil
	}
	return t.forCollection(verb, everywhere, watching, r)
}

// notSupported is the answer to a method that is not possible. For built-in
// resources it is that of the router below kube-apiserver.
func notSupported(r *Resource, verb string) error {
	if !r.Custom {
		return genericError(http.StatusMethodNotAllowed, "")
	}
	return apierrors.NewMethodNotSupported(r.GroupResource(), verb)
}

// forCollection is forResource for paths without a name.
func (t target) forCollection(verb string, everywhere, watching bool, r *Resource) (string, bool, error) {
	switch verb {
	case "get":
		if watching {
			return "watch", true, nil
		}
		return "list", true, nil
	case "create":
		if everywhere && !r.Custom {
			return verb, true, notSupported(r, verb)
		}
		return verb, !everywhere, nil
	case "delete":
		if everywhere {
			return verb, true, notSupported(r, "deletecollection")
		}
		return "deletecollection", true, nil
	}
	if !r.Custom {
		return verb, true, notSupported(r, verb)
	}
	return verb, !everywhere, badRequest("name must be provided")
}
