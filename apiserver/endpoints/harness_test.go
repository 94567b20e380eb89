package endpoints_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"go.uber.org/goleak"

	"heliograph.example/apiserver/endpoints"
	"heliograph.example/apiserver/fault"
	"heliograph.example/apiserver/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const widgetPath = "/apis/example.com/v1/namespaces/default/widgets"

var widgets = endpoints.Resource{
	GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"},
	Plural:           "widgets",
	ShortNames:       []string{"wd"},
	Namespaced:       true,
	Status:           true,
	Custom:           true,
	Generation:       true,
	Fields: map[string]func(runtime.Object) string{
		"spec.color": func(obj runtime.Object) string {
			color, _, _ := unstructured.NestedString(obj.(*unstructured.Unstructured).Object, "spec", "color")
			return color
		},
	},
}

func builtins() []endpoints.Resource {
	return []endpoints.Resource{
		{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Plural: "configmaps", Namespaced: true, Unconditional: true},
		{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Node"), Plural: "nodes", Status: true, Unconditional: true},
		{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Namespace"), Plural: "namespaces", Status: true, Unconditional: true},
		{
			GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), Plural: "pods", Namespaced: true, Status: true,
			Generation: true, Unconditional: true, ReturnsDeleted: true,
			GracePeriod: func(_ runtime.Object, asked *int64) int64 {
				if asked == nil {
					return 0
				}
				return *asked
			},
		},
		{
			GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Service"), Plural: "services", Namespaced: true, Status: true,
			Unconditional: true, CreateOnUpdate: true,
		},
		{
			GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"), Plural: "deployments", Namespaced: true, Status: true,
			Generation: true, Unconditional: true,
		},
	}
}

// api is a handler over storage in memory.
type api struct {
	*endpoints.Handler
	t       *testing.T
	backend *storage.Memory
	faults  *fault.Script
	wrap    func(storage.Interface) storage.Interface
}

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{t: t, backend: storage.NewMemory(), faults: &fault.Script{}}
	h, err := endpoints.NewHandler(endpoints.Config{Scheme: scheme.Scheme, Storage: a.open, Faults: a.faults})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Register(append(builtins(), widgets)...); err != nil {
		t.Fatal(err)
	}
	a.Handler = h
	return a
}

func (a *api) open(r *endpoints.Resource) (storage.Interface, error) {
	store, err := storage.NewStore(a.backend, storage.StoreOptions{
		GroupResource: r.GroupResource(),
		Codec:         r.Codec(scheme.Scheme),
		NewFunc:       func() runtime.Object { return r.New(scheme.Scheme) },
		Attributes:    r.Attributes,
	})
	if err != nil || a.wrap == nil {
		return store, err
	}
	return a.wrap(store), nil
}

// call serves one request. Headers are pairs of a name and a value.
func (a *api) call(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	return a.callContext(context.Background(), method, path, body, headers...)
}

func (a *api) callContext(ctx context.Context, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	a.t.Helper()
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

// must is call for requests that have to succeed.
func (a *api) must(method, path, body string, headers ...string) map[string]any {
	a.t.Helper()
	w := a.call(method, path, body, headers...)
	if w.Code >= 300 {
		a.t.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return a.object(w)
}

func (a *api) object(w *httptest.ResponseRecorder) map[string]any {
	a.t.Helper()
	var obj map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &obj); err != nil {
		a.t.Fatalf("%v: %s", err, w.Body)
	}
	return obj
}

// widget creates a widget and returns it.
func (a *api) widget(name, labels, color string) map[string]any {
	a.t.Helper()
	return a.must(http.MethodPost, widgetPath, widgetJSON(name, labels, color))
}

func widgetJSON(name, label, color string) string {
	return `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"` + name + `","labels":{"app":"` + label + `"}},"spec":{"color":"` + color + `"}}`
}

// at returns a field of an object, nil if it is not there.
func at(obj map[string]any, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(obj, path...)
	return value
}

func text(obj map[string]any, path ...string) string {
	s, _ := at(obj, path...).(string)
	return s
}

// status reads an answer that must be a Status.
func (a *api) status(w *httptest.ResponseRecorder) metav1.Status {
	a.t.Helper()
	var s metav1.Status
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil || s.Kind != "Status" {
		a.t.Fatalf("not a Status (%v): %s", err, w.Body)
	}
	return s
}
