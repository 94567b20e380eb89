package endpoints_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const (
	mergePatch     = "application/merge-patch+json"
	jsonPatch      = "application/json-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
	deployments    = "/apis/apps/v1/namespaces/default/deployments"
	configMaps     = "/api/v1/namespaces/default/configmaps"
	podPath        = "/api/v1/namespaces/default/pods"
)

func TestCreateSetsWhatTheServerOwns(t *testing.T) {
	a := newAPI(t)
	obj := a.must(http.MethodPost, widgetPath, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","uid":"mine","generation":7,
		"creationTimestamp":"2001-01-01T00:00:00Z","deletionTimestamp":"2001-01-01T00:00:00Z","deletionGracePeriodSeconds":3,"selfLink":"x",
		"managedFields":[{"manager":"me","operation":"Update","apiVersion":"example.com/v1","fieldsType":"FieldsV1","fieldsV1":{}}]},
		"spec":{"color":"red"},"status":{"ok":true}}`)
	m := obj["metadata"].(map[string]any)
	for _, gone := range []string{"deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"} {
		if _, ok := m[gone]; ok {
			t.Errorf("%s was kept: %v", gone, m[gone])
		}
	}
	if m["uid"] == "mine" || len(m["uid"].(string)) != 36 {
		t.Errorf("uid: %v", m["uid"])
	}
	if m["generation"] != 1.0 || m["namespace"] != "default" || m["creationTimestamp"] == "2001-01-01T00:00:00Z" || m["resourceVersion"] == "" {
		t.Errorf("metadata: %v", m)
	}
	if _, ok := obj["status"]; ok {
		t.Errorf("the status was not ignored: %v", obj["status"])
	}
	if text(a.must(http.MethodGet, widgetPath+"/a", ""), "metadata", "resourceVersion") != m["resourceVersion"] {
		t.Error("the version of the answer is not that of the object")
	}
}

func TestCreateRefusesBadMetadata(t *testing.T) {
	a := newAPI(t)
	for name, c := range map[string]struct{ body, want string }{
		"no name":      {`{"metadata":{}}`, "metadata.name: Required value: name or generateName is required"},
		"a bad name":   {`{"metadata":{"name":"Z_Z"}}`, `metadata.name: Invalid value: "Z_Z": a lowercase RFC 1123 subdomain`},
		"a bad label":  {`{"metadata":{"name":"a","labels":{"a b":"c"}}}`, "metadata.labels"},
		"a bad owner":  {`{"metadata":{"name":"a","ownerReferences":[{}]}}`, "metadata.ownerReferences"},
		"a bad holder": {`{"metadata":{"name":"a","finalizers":["a b"]}}`, "metadata.finalizers"},
	} {
		t.Run(name, func(t *testing.T) {
			w := a.call(http.MethodPost, configMaps, c.body)
			if w.Code != http.StatusUnprocessableEntity || !strings.Contains(a.status(w).Message, c.want) {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	w := a.call(http.MethodPost, configMaps, `{"metadata":{"name":"a","resourceVersion":"5"}}`)
	if s := a.status(w); w.Code != 500 || s.Reason != "" || s.Message != "resourceVersion should not be set on objects to be created" {
		t.Errorf("a resource version: %d %s", w.Code, w.Body)
	}
}

func TestGenerateNameAppendsFiveCharacters(t *testing.T) {
	a := newAPI(t)
	obj := a.must(http.MethodPost, configMaps, `{"metadata":{"generateName":"gen-"}}`)
	name := text(obj, "metadata", "name")
	if len(name) != len("gen-")+5 || !strings.HasPrefix(name, "gen-") {
		t.Errorf("name %q", name)
	}
	long := strings.Repeat("x", 80)
	obj = a.must(http.MethodPost, configMaps, `{"metadata":{"generateName":"`+long+`"}}`)
	if name := text(obj, "metadata", "name"); len(name) != 63 {
		t.Errorf("name %q has %d characters, want 63", name, len(name))
	}
}

func TestUpdateKeepsWhatTheServerOwnsAndCountsGenerations(t *testing.T) {
	a := newAPI(t)
	old := a.widget("a", "x", "red")
	version := func(obj map[string]any) string { return text(obj, "metadata", "resourceVersion") }
	put := func(path, version, label, color, status string) map[string]any {
		return a.must(http.MethodPut, path, fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","resourceVersion":%q,
			"generation":99,"creationTimestamp":"2001-01-01T00:00:00Z","labels":{"app":%q}},"spec":{"color":%q},"status":{"s":%q}}`, version, label, color, status))
	}
	relabelled := put(widgetPath+"/a", version(old), "y", "red", "ignored")
	if at(relabelled, "metadata", "generation") != 1.0 || at(relabelled, "status") != nil || text(relabelled, "metadata", "labels", "app") != "y" {
		t.Errorf("after a change of labels: %v", relabelled)
	}
	if at(relabelled, "metadata", "creationTimestamp") != at(old, "metadata", "creationTimestamp") || at(relabelled, "metadata", "uid") != at(old, "metadata", "uid") {
		t.Errorf("what the server owns has changed: %v", relabelled)
	}
	recoloured := put(widgetPath+"/a", version(relabelled), "y", "green", "ignored")
	if at(recoloured, "metadata", "generation") != 2.0 {
		t.Errorf("after a change of the spec: %v", recoloured)
	}
	same := put(widgetPath+"/a", version(recoloured), "y", "green", "ignored")
	if version(same) != version(recoloured) {
		t.Errorf("a write that changes nothing raised the version: %v", same)
	}
	status := put(widgetPath+"/a/status", version(same), "z", "blue", "new")
	if at(status, "metadata", "generation") != 2.0 || text(status, "spec", "color") != "green" || text(status, "metadata", "labels", "app") != "y" || text(status, "status", "s") != "new" {
		t.Errorf("after a change of the status: %v", status)
	}
	if version(status) == version(same) {
		t.Error("a change of the status did not raise the version")
	}
	if got := a.must(http.MethodGet, widgetPath+"/a/status", ""); version(got) != version(status) {
		t.Errorf("the status subresource shows %v", got)
	}
}

func TestBuiltinsTakeUpdatesWithoutAVersion(t *testing.T) {
	a := newAPI(t)
	a.must(http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`)
	obj := a.must(http.MethodPut, configMaps+"/a", `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	if text(obj, "data", "k") != "v" || at(obj, "metadata", "generation") != nil {
		t.Errorf("%v", obj)
	}
	w := a.call(http.MethodPut, configMaps+"/a", `{"metadata":{"name":"a","uid":"other"}}`)
	if w.Code != http.StatusConflict || !strings.Contains(a.status(w).Message, "Precondition failed: UID in precondition: other") {
		t.Errorf("another uid: %d %s", w.Code, w.Body)
	}
}

func TestSomeKindsAreCreatedByAnUpdate(t *testing.T) {
	a := newAPI(t)
	const services = "/api/v1/namespaces/default/services"
	if w := a.call(http.MethodPut, services+"/a", `{"metadata":{"name":"a"}}`); w.Code != http.StatusCreated {
		t.Errorf("a service: %d %s", w.Code, w.Body)
	}
	if w := a.call(http.MethodPut, services+"/b/status", `{"metadata":{"name":"b"}}`); w.Code != http.StatusNotFound {
		t.Errorf("the status of a service: %d %s", w.Code, w.Body)
	}
	if w := a.call(http.MethodPut, configMaps+"/a", `{"metadata":{"name":"a"}}`); w.Code != http.StatusNotFound {
		t.Errorf("a config map: %d %s", w.Code, w.Body)
	}
}

func TestPatches(t *testing.T) {
	const deployment = `{"metadata":{"name":"d"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},
		"spec":{"containers":[{"name":"one","image":"x"},{"name":"two","image":"y"}]}}}}`
	for _, c := range []struct {
		name, contentType, patch string
		code                     int
		check                    func(obj map[string]any) bool
	}{
		{"merge", mergePatch, `{"spec":{"replicas":3}}`, 200, func(obj map[string]any) bool {
			return at(obj, "spec", "replicas") == 3.0 && at(obj, "metadata", "generation") == 2.0
		}},
		{"merge replaces lists", mergePatch, `{"spec":{"template":{"spec":{"containers":[{"name":"one","image":"z"}]}}}}`, 200, func(obj map[string]any) bool {
			return len(at(obj, "spec", "template", "spec", "containers").([]any)) == 1
		}},
		{"strategic merge joins lists", strategicPatch, `{"spec":{"template":{"spec":{"containers":[{"name":"one","image":"z"}]}}}}`, 200, func(obj map[string]any) bool {
			c := at(obj, "spec", "template", "spec", "containers").([]any)
			return len(c) == 2 && c[0].(map[string]any)["image"] == "z"
		}},
		{"JSON patch", jsonPatch, `[{"op":"replace","path":"/spec/replicas","value":5},{"op":"add","path":"/metadata/labels","value":{"x":"y"}}]`, 200, func(obj map[string]any) bool {
			return at(obj, "spec", "replicas") == 5.0 && text(obj, "metadata", "labels", "x") == "y"
		}},
		{"nothing", mergePatch, `{}`, 200, func(obj map[string]any) bool { return text(obj, "metadata", "resourceVersion") == "2" }},
		{"of the status is ignored", mergePatch, `{"status":{"replicas":9}}`, 200, func(obj map[string]any) bool { return at(obj, "status", "replicas") == nil }},
		{"not JSON", mergePatch, `{`, 400, nil},
		{"merge of a list", mergePatch, `[]`, 400, nil},
		{"JSON patch of an object", jsonPatch, `{}`, 400, nil},
		{"strategic and broken", strategicPatch, `{`, 400, nil},
		{"strategic with a wrong directive", strategicPatch, `{"spec":{"template":{"spec":{"containers":[{"$patch":"nope"}]}}}}`, 500, nil},
		{"into a wrong type", mergePatch, `{"spec":{"replicas":"many"}}`, 422, nil},
		{"into another kind", mergePatch, `{"kind":"Pod"}`, 422, nil},
		{"into another name", mergePatch, `{"metadata":{"name":"e"}}`, 400, nil},
		{"with another uid", mergePatch, `{"metadata":{"uid":"e"}}`, 422, nil},
		{"server-side apply", "application/apply-patch+yaml", `{}`, 415, nil},
		{"an unknown type", "application/json", `{}`, 415, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAPI(t)
			a.must(http.MethodPost, deployments, deployment)
			w := a.call(http.MethodPatch, deployments+"/d", c.patch, "Content-Type", c.contentType)
			if w.Code != c.code {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if c.check != nil && !c.check(a.object(w)) {
				t.Errorf("%s", w.Body)
			}
		})
	}
	t.Run("of too many operations", func(t *testing.T) {
		a := newAPI(t)
		a.must(http.MethodPost, deployments, deployment)
		patch := "[" + strings.Repeat(`{"op":"test","path":"/kind","value":"Deployment"},`, 10_000) + `{"op":"test","path":"/kind","value":"Deployment"}]`
		if w := a.call(http.MethodPatch, deployments+"/d", patch, "Content-Type", jsonPatch); w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
	t.Run("strategic on a custom resource", func(t *testing.T) {
		a := newAPI(t)
		w := a.call(http.MethodPatch, widgetPath+"/a", `{}`, "Content-Type", strategicPatch)
		const want = "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json"
		if w.Code != http.StatusUnsupportedMediaType || a.status(w).Message != want {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
	t.Run("of the status changes only that", func(t *testing.T) {
		a := newAPI(t)
		a.must(http.MethodPost, deployments, deployment)
		obj := a.must(http.MethodPatch, deployments+"/d/status", `{"spec":{"replicas":9},"status":{"replicas":9}}`, "Content-Type", mergePatch)
		if at(obj, "spec", "replicas") != 1.0 || at(obj, "status", "replicas") != 9.0 || at(obj, "metadata", "generation") != 1.0 {
			t.Errorf("%v", obj)
		}
	})
}

func TestDryRunsChangeNothing(t *testing.T) {
	a := newAPI(t)
	obj := a.must(http.MethodPost, configMaps+"?dryRun=All", `{"metadata":{"name":"a"}}`)
	if at(obj, "metadata", "resourceVersion") != nil || text(obj, "metadata", "uid") == "" {
		t.Errorf("create: %v", obj)
	}
	if w := a.call(http.MethodGet, configMaps+"/a", ""); w.Code != http.StatusNotFound {
		t.Fatalf("it was created: %s", w.Body)
	}
	a.must(http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`)
	if w := a.call(http.MethodPost, configMaps+"?dryRun=All", `{"metadata":{"name":"a"}}`); w.Code != http.StatusConflict {
		t.Errorf("create of what exists: %d %s", w.Code, w.Body)
	}
	obj = a.must(http.MethodPut, configMaps+"/a?dryRun=All", `{"metadata":{"name":"a"},"data":{"k":"v"}}`)
	if text(obj, "data", "k") != "v" {
		t.Errorf("update: %v", obj)
	}
	obj = a.must(http.MethodPatch, configMaps+"/a?dryRun=All", `{"data":{"k":"v"}}`, "Content-Type", mergePatch)
	if text(obj, "data", "k") != "v" {
		t.Errorf("patch: %v", obj)
	}
	a.must(http.MethodDelete, configMaps+"/a?dryRun=All", "")
	if obj := a.must(http.MethodGet, configMaps+"/a", ""); at(obj, "data") != nil || text(obj, "metadata", "resourceVersion") != "2" {
		t.Errorf("it was changed: %v", obj)
	}
	for _, path := range []string{"POST " + configMaps, "PUT " + configMaps + "/a", "PATCH " + configMaps + "/a", "DELETE " + configMaps + "/a"} {
		method, url, _ := strings.Cut(path, " ")
		w := a.call(method, url+"?dryRun=Some", "", "Content-Type", mergePatch)
		if w.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s with an unknown dryRun: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestFieldValidation(t *testing.T) {
	const body = `{"metadata":{"name":"a"},"data":{"k":"v"},"bogus":1}`
	for mode, code := range map[string]int{"": 201, "Warn": 201, "Ignore": 201, "Strict": 400, "Nope": 422} {
		a := newAPI(t)
		w := a.call(http.MethodPost, configMaps+"?fieldValidation="+mode, body)
		warning := w.Header().Get("Warning")
		if w.Code != code || (warning != "") != (mode == "" || mode == "Warn") {
			t.Errorf("%q: %d, warning %q: %s", mode, w.Code, warning, w.Body)
		}
		if warning != "" && warning != `299 - "unknown field \"bogus\""` {
			t.Errorf("warning: %s", warning)
		}
		if mode == "Strict" && a.status(w).Message != `ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "bogus"` {
			t.Errorf("%s", w.Body)
		}
	}
}

func TestBodiesAreLimited(t *testing.T) {
	a := newAPI(t)
	w := a.call(http.MethodPost, configMaps, `{"metadata":{"name":"a"},"data":{"k":"`+strings.Repeat("x", 3<<20)+`"}}`)
	if s := a.status(w); w.Code != http.StatusRequestEntityTooLarge || s.Message != "Request entity too large: limit is 3145728" {
		t.Errorf("%d %s", w.Code, s.Message)
	}
}

func TestBodiesThatAreNotTheObject(t *testing.T) {
	a := newAPI(t)
	for name, c := range map[string]struct {
		path, body string
		code       int
	}{
		"another version":         {deployments, `{"apiVersion":"apps/v1beta1","kind":"Deployment","metadata":{"name":"a"}}`, 400},
		"another typed kind":      {configMaps, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}`, 400},
		"an unknown kind":         {configMaps, `{"apiVersion":"v1","kind":"Nope","metadata":{"name":"a"}}`, 400},
		"a list of JSON":          {configMaps, `[]`, 400},
		"nothing":                 {configMaps, ``, 400},
		"a wrong field type":      {configMaps, `{"metadata":{"name":"a"},"data":[]}`, 400},
		"custom without kind":     {widgetPath, `{"metadata":{"name":"a"}}`, 400},
		"custom of other version": {widgetPath, `{"apiVersion":"example.com/v2","kind":"Widget","metadata":{"name":"a"}}`, 400},
		"custom with odd metadata": {widgetPath,
			`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","labels":{"a":1}}}`, 400},
		"custom with a list for metadata": {widgetPath, `{"apiVersion":"example.com/v1","kind":"Widget","metadata":[]}`, 400},
		"custom without metadata":         {widgetPath, `{"apiVersion":"example.com/v1","kind":"Widget"}`, 422},
		"a list of custom objects":        {widgetPath, `{"apiVersion":"example.com/v1","kind":"WidgetList","items":[]}`, 422},
	} {
		t.Run(name, func(t *testing.T) {
			if w := a.call(http.MethodPost, c.path, c.body); w.Code != c.code {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}

func TestYAMLBodies(t *testing.T) {
	a := newAPI(t)
	obj := a.must(http.MethodPost, configMaps, "metadata:\n  name: a\ndata:\n  k: v\n", "Content-Type", "application/yaml")
	if text(obj, "data", "k") != "v" {
		t.Errorf("%v", obj)
	}
	if w := a.call(http.MethodPost, configMaps, "\t:", "Content-Type", "application/yaml"); w.Code != http.StatusBadRequest {
		t.Errorf("broken YAML: %d %s", w.Code, w.Body)
	}
	w := a.call(http.MethodPost, configMaps+"?fieldValidation=Strict", "metadata:\n  name: b\ndata:\n  k: v\n  k: w\n", "Content-Type", "application/yaml")
	if w.Code != http.StatusBadRequest {
		t.Errorf("a key twice: %d %s", w.Code, w.Body)
	}
}
