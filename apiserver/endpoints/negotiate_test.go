package endpoints_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"heliograph.example/apiserver/endpoints"
	"heliograph.example/apiserver/storage"
)

func TestAcceptHeaders(t *testing.T) {
	const (
		jsonType = "application/json"
		yamlType = "application/yaml"
		table    = "application/json;as=Table;v=v1;g=meta.k8s.io"
		list     = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	)
	a := newAPI(t)
	a.must(http.MethodPost, configMaps, `{"metadata":{"name":"m"}}`)
	a.widget("w", "x", "red")
	for _, c := range []struct {
		name, path, accept string
		code               int
		contentType, kind  string
	}{
		{"none", configMaps, "", 200, jsonType, "ConfigMapList"},
		{"anything", configMaps, "*/*", 200, jsonType, "ConfigMapList"},
		{"any application", configMaps, "application/*", 200, jsonType, "ConfigMapList"},
		{"a stream for what is none", configMaps, "application/json;stream=watch", 200, jsonType, "ConfigMapList"},
		{"an unknown stream", configMaps, "application/json;stream=chat", 406, jsonType, "Status"},
		{"a table, then JSON", configMaps, table + "," + jsonType, 200, jsonType, "ConfigMapList"},
		{"only a table", configMaps, table, 406, jsonType, "Status"},
		{"an unknown type, then YAML", configMaps, "text/html, " + yamlType, 200, yamlType, ""},
		{"by preference", configMaps, yamlType + ";q=0.5, " + jsonType + ";q=0.9", 200, jsonType, "ConfigMapList"},
		{"what is refused", configMaps, jsonType + ";q=0", 406, jsonType, "Status"},
		{"broken, then JSON", configMaps, "a/b/c;;=, application/json", 200, jsonType, "ConfigMapList"},
		{"protobuf of a custom resource, then JSON", widgetPath, protobuf + "," + jsonType, 200, jsonType, "WidgetList"},
		{"protobuf of a custom resource", widgetPath, protobuf, 406, protobuf, ""},
		{"metadata of a list", widgetPath, jsonType + list, 200, jsonType, "PartialObjectMetadataList"},
		{"metadata of a list in protobuf", widgetPath, protobuf + list, 200, protobuf, ""},
		{"metadata of an object", widgetPath + "/w", jsonType + partial, 200, jsonType, "PartialObjectMetadata"},
		{"an object's for a list", widgetPath, jsonType + partial, 406, jsonType, "Status"},
		{"a list's for an object", widgetPath + "/w", jsonType + list, 406, jsonType, "Status"},
		{"an old version of metadata", widgetPath + "/w", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1", 406, jsonType, "Status"},
		{"an unknown type", configMaps, "text/html", 406, jsonType, "Status"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := a.call(http.MethodGet, c.path, "", "Accept", c.accept)
			if w.Code != c.code || w.Header().Get("Content-Type") != c.contentType {
				t.Fatalf("%d %s: %s", w.Code, w.Header().Get("Content-Type"), w.Body)
			}
			if c.kind != "" && text(a.object(w), "kind") != c.kind {
				t.Errorf("%s", w.Body)
			}
		})
	}
}

func TestListsInEachEncoding(t *testing.T) {
	a := newAPI(t)
	if w := a.call(http.MethodGet, widgetPath, ""); w.Body.String() != `{"apiVersion":"example.com/v1","items":[],"kind":"WidgetList","metadata":{"continue":"","resourceVersion":"1"}}`+"\n" {
		t.Errorf("no custom objects: %s", w.Body)
	}
	if w := a.call(http.MethodGet, configMaps, ""); w.Body.String() != `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`+"\n" {
		t.Errorf("no objects: %s", w.Body)
	}
	for _, name := range []string{"a", "b", "c"} {
		a.must(http.MethodPost, configMaps, `{"metadata":{"name":"`+name+`"}}`)
		a.widget(name, "x", "red")
	}
	var maps corev1.ConfigMapList
	w := a.call(http.MethodGet, configMaps+"?limit=2", "", "Accept", protobuf)
	if kind := unwrap(t, w.Body.Bytes(), &maps); kind.Kind != "ConfigMapList" || len(maps.Items) != 2 || maps.Continue == "" || *maps.RemainingItemCount != 1 {
		t.Errorf("a page in protobuf: %v %+v", kind, maps.ListMeta)
	}
	obj := a.must(http.MethodGet, configMaps, "")
	if item := obj["items"].([]any)[0].(map[string]any); item["kind"] != nil || item["apiVersion"] != nil {
		t.Errorf("the items of a list of built-ins have a kind: %v", item)
	}
	obj = a.must(http.MethodGet, widgetPath+"?limit=2", "")
	if item := obj["items"].([]any)[0].(map[string]any); item["kind"] != "Widget" || at(obj, "metadata", "remainingItemCount") != 1.0 {
		t.Errorf("a page of custom objects: %v", obj)
	}
	var partials metav1.PartialObjectMetadataList
	w = a.call(http.MethodGet, widgetPath+"?limit=2", "", "Accept", protobuf+";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
	unwrap(t, w.Body.Bytes(), &partials)
	if len(partials.Items) != 2 || partials.Items[1].Name != "b" || partials.Continue == "" || partials.ResourceVersion != "7" {
		t.Errorf("metadata in protobuf: %+v", partials)
	}
	w = a.call(http.MethodGet, configMaps, "", "Accept", "application/yaml")
	if !strings.HasPrefix(w.Body.String(), "apiVersion: v1\nitems:\n- metadata:\n") {
		t.Errorf("YAML: %s", w.Body)
	}
}

func TestPeopleGetIndentedJSON(t *testing.T) {
	a := newAPI(t)
	a.widget("w", "x", "red")
	for name, c := range map[string]struct {
		query, agent string
		want         bool
	}{
		"curl": {"", "curl/8.0", true}, "pretty": {"?pretty=true", "", true}, "a program": {"", "Go-http-client", false},
		"not pretty": {"?pretty=0", "curl/8.0", false},
	} {
		w := a.call(http.MethodGet, widgetPath+"/w"+c.query, "", "User-Agent", c.agent)
		if got := strings.HasPrefix(w.Body.String(), "{\n  \"apiVersion\""); got != c.want || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %s", name, w.Body)
		}
	}
}

func TestHEADIsGET(t *testing.T) {
	a := newAPI(t)
	if w := a.call(http.MethodHead, widgetPath, ""); w.Code != http.StatusOK {
		t.Errorf("%d", w.Code)
	}
}

func TestHealthVersionAndDiscovery(t *testing.T) {
	a := newAPI(t)
	for _, path := range []string{"/healthz", "/livez", "/readyz"} {
		if w := a.call(http.MethodGet, path, ""); w.Code != http.StatusOK || w.Body.String() != "ok" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if obj := a.must(http.MethodGet, "/version", ""); obj["major"] != "1" || obj["minor"] != "37" {
		t.Errorf("version: %v", obj)
	}
	for path, want := range map[string]string{
		"/apis/example.com": `{"kind":"APIGroup","apiVersion":"v1","name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"}],` +
			`"preferredVersion":{"groupVersion":"example.com/v1","version":"v1"}}`,
		"/apis/example.com/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"example.com/v1","resources":[` +
			`{"name":"widgets","singularName":"widget","namespaced":true,"kind":"Widget","verbs":["delete","deletecollection","get","list","patch","create","update","watch"],"shortNames":["wd"],"storageVersionHash":"gIwvi5rymmg="},` +
			`{"name":"widgets/status","singularName":"","namespaced":true,"kind":"Widget","verbs":["get","patch","update"]}]}`,
		"/api": `{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"example.com"}]}`,
	} {
		if w := a.call(http.MethodGet, path, ""); strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s:\n got %s\nwant %s", path, w.Body, want)
		}
	}
	if obj := a.must(http.MethodGet, "/apis", ""); obj["kind"] != "APIGroupList" || len(obj["groups"].([]any)) != 2 {
		t.Errorf("groups: %v", obj)
	}
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	w := a.call(http.MethodGet, "/apis", "", "Accept", aggregated+",application/json")
	if obj := a.object(w); obj["kind"] != "APIGroupDiscoveryList" || w.Header().Get("Content-Type") != aggregated {
		t.Errorf("aggregated: %s %s", w.Header().Get("Content-Type"), w.Body)
	}
}

func TestAPanicIsA500AndHarmsNoOtherRequest(t *testing.T) {
	a := newAPI(t)
	a.wrap = func(s storage.Interface) storage.Interface { return &scripted{} } // its Get is nil
	w := a.call(http.MethodGet, configMaps+"/m", "")
	if s := a.status(w); w.Code != http.StatusInternalServerError || s.Reason != metav1.StatusReasonInternalError {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := a.call(http.MethodGet, "/healthz", ""); w.Code != http.StatusOK {
		t.Errorf("afterwards: %d", w.Code)
	}
	requests := a.Requests()
	if len(requests) != 1 || requests[0].Code != 500 {
		t.Errorf("requests: %+v", requests)
	}
}

func TestAStorageThatCannotBeOpenedIsTriedAgain(t *testing.T) {
	calls := 0
	h, err := endpoints.NewHandler(endpoints.Config{Scheme: scheme.Scheme, Storage: func(*endpoints.Resource) (storage.Interface, error) {
		calls++
		return nil, errors.New("no disk")
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Register(widgets); err != nil {
		t.Fatal(err)
	}
	a := &api{t: t, Handler: h}
	for range 2 {
		w := a.call(http.MethodGet, widgetPath, "")
		if s := a.status(w); w.Code != 500 || s.Message != "storage of example.com/v1, Resource=widgets: no disk" {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if calls != 2 {
		t.Errorf("opened %d times", calls)
	}
}

func TestNewHandlerAndRegisterRefuseWhatCannotBeServed(t *testing.T) {
	for name, c := range map[string]endpoints.Config{
		"no scheme":  {Storage: func(*endpoints.Resource) (storage.Interface, error) { return nil, nil }},
		"no storage": {Scheme: scheme.Scheme},
	} {
		if _, err := endpoints.NewHandler(c); !errors.Is(err, endpoints.ErrInvalidConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	a := newAPI(t)
	other := widgets
	other.Plural = "others"
	kindless := other
	kindless.GroupVersionKind.Kind = ""
	if err := a.Register(other, kindless); !errors.Is(err, endpoints.ErrInvalidResource) {
		t.Errorf("no kind: %v", err)
	}
	if err := a.Register(other, widgets); !errors.Is(err, endpoints.ErrDuplicateResource) {
		t.Errorf("widgets again: %v", err)
	}
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/apis/example.com/v1/others", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("a part of what was refused is served: %d", w.Code)
	}
}
