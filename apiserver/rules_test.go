package apiserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"heliograph.example/apiserver"
)

// The rules in this file are those of kube-apiserver 1.37; the tests in e2e ask
// both servers.

const (
	core         = "/api/v1/namespaces/default/"
	apps         = "/apis/apps/v1/namespaces/default/"
	mergeType    = "application/merge-patch+json"
	epSlices     = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
	claims       = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
	statusPatch  = `{"metadata":{"labels":{"l":"1"},"annotations":{"a":"1"},"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"o","uid":"u"}]}}`
	withMetadata = `{"metadata":{"name":"x","labels":{"l":"0"}}}`
)

// call sends a request with a JSON body and returns the code and the body.
func call(t *testing.T, s *apiserver.Server, method, path, body, contentType string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.Config().Host+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var obj map[string]any
	if err := json.Unmarshal(data, &obj); err != nil {
		t.Fatalf("%s %s: %d %q: %v", method, path, resp.StatusCode, data, err)
	}
	return resp.StatusCode, obj
}

// must is call for requests that have to succeed.
func must(t *testing.T, s *apiserver.Server, method, path, body, contentType string) map[string]any {
	t.Helper()
	code, obj := call(t, s, method, path, body, contentType)
	if code >= 300 {
		t.Fatalf("%s %s: %d %v", method, path, code, obj)
	}
	return obj
}

func field(obj map[string]any, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(obj, path...)
	return value
}

func TestADeletedPodIsMarkedBeforeItGoes(t *testing.T) {
	s := start(t, apiserver.Options{})
	made := must(t, s, "POST", core+"pods", `{"metadata":{"name":"x"}}`, "application/json")
	gone := must(t, s, "DELETE", core+"pods/x", "", "application/json")
	if field(gone, "metadata", "deletionTimestamp") == nil || field(gone, "metadata", "generation") != 2.0 {
		t.Errorf("the answer is not marked: %v", gone)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	path := fmt.Sprintf("%s/%spods?watch=1&resourceVersion=%s", s.Config().Host, core[1:], field(made, "metadata", "resourceVersion"))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	events := json.NewDecoder(resp.Body)
	for _, want := range []string{"MODIFIED", "DELETED"} {
		var event map[string]any
		if err := events.Decode(&event); err != nil {
			t.Fatal(err)
		}
		if event["type"] != want || field(event, "object", "metadata", "deletionTimestamp") == nil {
			t.Errorf("want a marked %s, got %v", want, event)
		}
	}
}

func TestStatusWritesOfOlderKindsCarryMetadata(t *testing.T) {
	s := start(t, apiserver.Options{})
	for _, c := range []struct {
		path                       string
		labels, annotations, owner bool
	}{
		{core + "services", true, true, true},
		{core + "pods", true, true, false},
		{apps + "deployments", false, true, true},
		{claims, false, false, false},
	} {
		must(t, s, "POST", c.path, withMetadata, "application/json")
		obj := must(t, s, "PATCH", c.path+"/x/status", statusPatch, mergeType)
		got := []bool{
			field(obj, "metadata", "labels", "l") == "1", field(obj, "metadata", "annotations", "a") == "1",
			field(obj, "metadata", "ownerReferences") != nil,
		}
		if want := []bool{c.labels, c.annotations, c.owner}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: labels, annotations, owners have changed: %v, want %v", c.path, got, want)
		}
	}
}

func TestWhatOfTheMetadataCountsAsAGeneration(t *testing.T) {
	s := start(t, apiserver.Options{})
	for _, c := range []struct {
		path                string
		labels, annotations any
	}{
		{apps + "deployments", 1.0, 2.0},
		{apps + "statefulsets", 1.0, 1.0},
		{epSlices, 2.0, 2.0},
		{core + "configmaps", nil, nil},
	} {
		must(t, s, "POST", c.path, withMetadata, "application/json")
		labels := must(t, s, "PATCH", c.path+"/x", `{"metadata":{"labels":{"l":"1"}}}`, mergeType)
		annotations := must(t, s, "PATCH", c.path+"/x", `{"metadata":{"annotations":{"a":"1"}}}`, mergeType)
		got := []any{field(labels, "metadata", "generation"), field(annotations, "metadata", "generation")}
		if want := []any{c.labels, c.annotations}; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the generations after labels and annotations are %v, want %v", c.path, got, want)
		}
	}
}

func TestThePolicyOfADelete(t *testing.T) {
	s := start(t, apiserver.Options{})
	for _, c := range []struct {
		name, path string
		deletes    []string
		want       any // finalizers, nil if it has gone
	}{
		{"none", apps + "deployments", []string{""}, nil},
		{"orphan", apps + "deployments", []string{"Orphan"}, []any{"orphan"}},
		{"orphan and then none", apps + "deployments", []string{"Orphan", ""}, []any{"orphan"}},
		{"orphan and then background", apps + "deployments", []string{"Orphan", "Background"}, nil},
		{"foreground and then orphan", apps + "deployments", []string{"Foreground", "Orphan"}, []any{"orphan"}},
		{"none for a kind that orphans", core + "replicationcontrollers", []string{""}, []any{"orphan"}},
		{"foreground and then none for a kind that orphans", core + "replicationcontrollers", []string{"Foreground", ""}, []any{"foregroundDeletion"}},
		{"background for a kind that orphans", "/apis/batch/v1/namespaces/default/jobs", []string{"Background"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := strings.ReplaceAll(c.name, " ", "-")
			must(t, s, "POST", c.path, `{"metadata":{"name":"`+name+`"}}`, "application/json")
			for _, policy := range c.deletes {
				query := ""
				if policy != "" {
					query = "?propagationPolicy=" + policy
				}
				must(t, s, "DELETE", c.path+"/"+name+query, "", "application/json")
			}
			code, obj := call(t, s, "GET", c.path+"/"+name, "", "application/json")
			if got := field(obj, "metadata", "finalizers"); !reflect.DeepEqual(got, c.want) || (code == http.StatusNotFound) != (c.want == nil) {
				t.Errorf("%d with finalizers %v, want %v", code, got, c.want)
			}
		})
	}
}

func TestDeletecollectionShowsWhatItFound(t *testing.T) {
	s := start(t, apiserver.Options{})
	plain := must(t, s, "POST", core+"configmaps", `{"metadata":{"name":"a"}}`, "application/json")
	must(t, s, "POST", core+"configmaps", `{"metadata":{"name":"b","finalizers":["example.com/f"]}}`, "application/json")
	deleted, _ := field(must(t, s, "DELETE", core+"configmaps", "", "application/json"), "items").([]any)
	if len(deleted) != 2 {
		t.Fatalf("deleted %v", deleted)
	}
	first, second := deleted[0].(map[string]any), deleted[1].(map[string]any)
	if field(first, "metadata", "resourceVersion") != field(plain, "metadata", "resourceVersion") || field(second, "metadata", "deletionTimestamp") != nil {
		t.Errorf("not what was there before: %v", deleted)
	}
}

func TestRefusedWritesAreWordedAsByKubeAPIServer(t *testing.T) {
	s := start(t, apiserver.Options{})
	must(t, s, "POST", core+"configmaps", `{"metadata":{"name":"x"}}`, "application/json")
	must(t, s, "POST", apps+"deployments", `{"metadata":{"name":"x"},"spec":{"template":{"spec":{"containers":[{"name":"c"}]}}}}`, "application/json")
	const (
		jsonType      = "application/json"
		strategicType = "application/strategic-merge-patch+json"
		one           = core + "configmaps/x"
	)
	for _, c := range []struct {
		method, path, contentType, body string
		code                            int
		message                         string
	}{
		{"POST", core + "configmaps", jsonType, `{"metadata":{"name":"y","finalizers":["f"]}}`, 422, "name is neither a standard finalizer name nor is it fully qualified"},
		{"POST", core + "configmaps", jsonType, `hello`, 400, "looking for beginning of value (68656c6c6f)"},
		{"PUT", one, jsonType, `{"metadata":{}}`, 400, "the name of the object (x based on URL) was undeterminable: name must be provided"},
		{"PUT", one, jsonType, `{"metadata":{"name":"x","resourceVersion":"abc"}}`, 500, `strconv.ParseUint: parsing "abc": invalid syntax`},
		{"PUT", one, jsonType, `{"metadata":{"name":"x","deletionTimestamp":"2001-01-01T00:00:00Z"}}`, 422, "metadata.deletionTimestamp: Invalid value: \"2001-01-01T00:00:00Z\": field is immutable"},
		{"PATCH", one, mergeType, `{`, 400, "invalid JSON patch"},
		{"PATCH", one, mergeType, `{"data":5}`, 422, "json: cannot unmarshal number into Go struct field ConfigMap.data of type map[string]string"},
		{"PATCH", one, strategicType, `[]`, 400, "json: cannot unmarshal array into Go value of type map[string]interface {}"},
		{"PATCH", one, strategicType, `{"data":5}`, 422, `Invalid value: "map[data:5]": cannot restore map from int64`},
		{"PATCH", one + "?fieldValidation=Strict", strategicType, `{"foo":1}`, 422, `Invalid value: "map[foo:1]": strict decoding error: unknown field "foo"`},
		{"PATCH", apps + "deployments/x", strategicType, `{"spec":{"template":{"spec":{"containers":[{"image":"j"}]}}}}`, 500, "does not contain declared merge key: name"},
		{"PATCH", one, jsonType, `{}`, 415, "415: Unsupported Media Type"},
		{"DELETE", one, jsonType, `{"apiVersion":"v1","kind":"Pod"}`, 400, `no kind "Pod" is registered for version "v1"`},
		{"DELETE", one, jsonType, `{`, 400, "couldn't get version/kind; json parse error: unexpected end of JSON input"},
		{"GET", core + "configmaps?fieldSelector=spec.size%3D1", jsonType, ``, 400, `"spec.size" is not a known field selector: only "metadata.name", "metadata.namespace"`},
		{"GET", core + "pods?fieldSelector=spec.size%3D1", jsonType, ``, 400, `field label not supported: spec.size`},
	} {
		code, obj := call(t, s, c.method, c.path, c.body, c.contentType)
		if message := fmt.Sprint(obj["message"]); code != c.code || !strings.Contains(message, c.message) {
			t.Errorf("%s %s %s\n got %d %s\nwant %d %s", c.method, c.path, c.body, code, message, c.code, c.message)
		}
	}
}
