package endpoints_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
)

func TestDeleteAnswersWithAStatusOrTheObject(t *testing.T) {
	a := newAPI(t)
	obj := a.widget("a", "x", "red")
	status := a.must(http.MethodDelete, widgetPath+"/a", "")
	want := map[string]any{"name": "a", "group": "example.com", "kind": "widgets", "uid": text(obj, "metadata", "uid")}
	if text(status, "status") != "Success" || fmt.Sprint(status["details"]) != fmt.Sprint(want) {
		t.Errorf("a widget: %v", status)
	}
	a.must(http.MethodPost, podPath, `{"metadata":{"name":"p"}}`)
	if pod := a.must(http.MethodDelete, podPath+"/p", ""); text(pod, "kind") != "Pod" || text(pod, "metadata", "name") != "p" {
		t.Errorf("a pod: %v", pod)
	}
	for _, path := range []string{widgetPath + "/a", podPath + "/p"} {
		if w := a.call(http.MethodGet, path, ""); w.Code != http.StatusNotFound {
			t.Errorf("%s is still there: %s", path, w.Body)
		}
	}
}

func TestFinalizersHoldADeletedObject(t *testing.T) {
	a := newAPI(t)
	a.widget("d", "y", "blue")
	held := a.must(http.MethodPatch, widgetPath+"/d", `{"metadata":{"finalizers":["x.example.com/f"]}}`, "Content-Type", mergePatch)
	marked := a.must(http.MethodDelete, widgetPath+"/d", "")
	if text(marked, "metadata", "deletionTimestamp") == "" || at(marked, "metadata", "deletionGracePeriodSeconds") != 0.0 || at(marked, "metadata", "generation") != 2.0 {
		t.Errorf("marked: %v", marked)
	}
	if text(marked, "metadata", "resourceVersion") == text(held, "metadata", "resourceVersion") {
		t.Error("the mark did not raise the version")
	}
	again := a.must(http.MethodDelete, widgetPath+"/d", "")
	if text(again, "metadata", "resourceVersion") != text(marked, "metadata", "resourceVersion") {
		t.Errorf("a second delete changed it: %v", again)
	}
	w := a.call(http.MethodPost, widgetPath, widgetJSON("d", "y", "blue"))
	if s := a.status(w); w.Code != http.StatusConflict || s.Message != `object is being deleted: widgets.example.com "d" already exists` {
		t.Errorf("create meanwhile: %d %s", w.Code, s.Message)
	}
	w = a.call(http.MethodPatch, widgetPath+"/d", `{"metadata":{"finalizers":["x.example.com/f","x.example.com/g"]}}`, "Content-Type", mergePatch)
	if w.Code != http.StatusUnprocessableEntity {
		t.Errorf("a new finalizer meanwhile: %d %s", w.Code, w.Body)
	}
	kept := a.must(http.MethodPatch, widgetPath+"/d", `{"metadata":{"deletionTimestamp":null,"labels":{"app":"z"}}}`, "Content-Type", mergePatch)
	if at(kept, "metadata", "deletionTimestamp") != at(marked, "metadata", "deletionTimestamp") {
		t.Errorf("the mark was removed: %v", kept)
	}
	last := a.must(http.MethodPatch, widgetPath+"/d", `{"metadata":{"finalizers":null}}`, "Content-Type", mergePatch)
	if at(last, "metadata", "finalizers") != nil || text(last, "metadata", "resourceVersion") != text(kept, "metadata", "resourceVersion") {
		t.Errorf("the answer to the removal of the last finalizer: %v", last)
	}
	if w := a.call(http.MethodGet, widgetPath+"/d", ""); w.Code != http.StatusNotFound {
		t.Errorf("it is still there: %s", w.Body)
	}
}

func TestPropagationPoliciesSetTheFinalizersOfTheGarbageCollector(t *testing.T) {
	for _, c := range []struct {
		options string
		want    []any
	}{
		{`{"propagationPolicy":"Foreground"}`, []any{"a.b/c", "foregroundDeletion"}},
		{`{"propagationPolicy":"Orphan"}`, []any{"a.b/c", "orphan"}},
		{`{"propagationPolicy":"Background"}`, []any{"a.b/c"}},
		{`{"orphanDependents":true}`, []any{"a.b/c", "orphan"}},
		{`{"orphanDependents":false}`, []any{"a.b/c"}},
		{``, []any{"a.b/c", "orphan"}},
	} {
		a := newAPI(t)
		a.must(http.MethodPost, configMaps, `{"metadata":{"name":"a","finalizers":["a.b/c","orphan"]}}`)
		obj := a.must(http.MethodDelete, configMaps+"/a", c.options)
		if got := at(obj, "metadata", "finalizers").([]any); !slices.Equal(got, c.want) {
			t.Errorf("%s: finalizers %v, want %v", c.options, got, c.want)
		}
	}
	a := newAPI(t)
	w := a.call(http.MethodDelete, configMaps+"/a", `{"propagationPolicy":"Nope"}`)
	if w.Code != http.StatusUnprocessableEntity {
		t.Errorf("an unknown policy: %d %s", w.Code, w.Body)
	}
}

func TestAGracePeriodCanOnlyBeShortened(t *testing.T) {
	a := newAPI(t)
	a.must(http.MethodPost, podPath, `{"metadata":{"name":"p"}}`)
	grace := func(seconds string) map[string]any { return a.must(http.MethodDelete, podPath+"/p"+seconds, "") }
	marked := grace("?gracePeriodSeconds=30")
	if at(marked, "metadata", "deletionGracePeriodSeconds") != 30.0 || at(marked, "metadata", "generation") != 2.0 {
		t.Errorf("marked: %v", marked)
	}
	for _, longer := range []string{"", "?gracePeriodSeconds=60"} {
		if again := grace(longer); fmt.Sprint(again) != fmt.Sprint(marked) {
			t.Errorf("deleted again with %q: %v", longer, again)
		}
	}
	if shorter := grace("?gracePeriodSeconds=10"); at(shorter, "metadata", "deletionGracePeriodSeconds") != 10.0 || at(shorter, "metadata", "generation") != 2.0 {
		t.Errorf("shortened: %v", shorter)
	}
	grace("?gracePeriodSeconds=0")
	if w := a.call(http.MethodGet, podPath+"/p", ""); w.Code != http.StatusNotFound {
		t.Errorf("it is still there: %s", w.Body)
	}
}

func TestDeleteOptionsInWrongForms(t *testing.T) {
	a := newAPI(t)
	a.must(http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`)
	for name, c := range map[string]struct {
		path, body, contentType string
		code                    int
	}{
		"broken JSON":         {"/a", `{`, "application/json", 400},
		"broken protobuf":     {"/a", "k8s\x00\xff", "application/vnd.kubernetes.protobuf", 400},
		"not protobuf":        {"/a", `{}`, "application/vnd.kubernetes.protobuf", 400},
		"an unknown encoding": {"/a", `{}`, "text/foo", 415},
		"a period that is no number": {
			"/a?gracePeriodSeconds=x", ``, "application/json", 400},
	} {
		t.Run(name, func(t *testing.T) {
			if w := a.call(http.MethodDelete, configMaps+c.path, c.body, "Content-Type", c.contentType); w.Code != c.code {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}

func TestDeleteCollectionDeletesWhatIsSelected(t *testing.T) {
	a := newAPI(t)
	a.widget("a", "x", "red")
	a.widget("b", "y", "blue")
	a.widget("c", "y", "red")
	a.must(http.MethodPatch, widgetPath+"/c", `{"metadata":{"finalizers":["a.b/c"]}}`, "Content-Type", mergePatch)
	names := func(list map[string]any) []string {
		got := []string{}
		for _, item := range list["items"].([]any) {
			got = append(got, text(item.(map[string]any), "metadata", "name"))
		}
		return got
	}
	deleted := a.must(http.MethodDelete, widgetPath+"?labelSelector=app%3Dy", "")
	if got := names(deleted); !slices.Equal(got, []string{"b", "c"}) || text(deleted, "kind") != "WidgetList" {
		t.Errorf("deleted %v", got)
	}
	if got := names(a.must(http.MethodGet, widgetPath, "")); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("left %v", got)
	}
	if w := a.call(http.MethodDelete, "/apis/example.com/v1/widgets", ""); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("in all namespaces: %d %s", w.Code, w.Body)
	}
}
