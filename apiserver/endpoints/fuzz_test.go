package endpoints_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"heliograph.example/apiserver/endpoints"
	"heliograph.example/apiserver/storage"
)

// impatient is a storage whose watches end when they have nothing to tell.
type impatient struct{ storage.Interface }

func (i impatient) Watch(ctx context.Context, opts storage.WatchOptions) (storage.Watch, error) {
	w, err := i.Interface.Watch(ctx, opts)
	if err != nil {
		return nil, err
	}
	w.Stop()
	return &scriptedWatch{scripted{err: io.EOF}, ctx}, nil
}

// FuzzRequests sends arbitrary paths, queries and headers. Whatever comes, the
// answer is complete and not that of a panic.
func FuzzRequests(f *testing.F) {
	f.Add("GET", "/api/v1/pods", "labelSelector=a in (b,c)&fieldSelector=spec.nodeName!=x", "application/json", "")
	f.Add("GET", widgetPath, "limit=1&continue=eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiYVx1MDAwMCJ9", "*/*;q=0.1", "")
	f.Add("GET", widgetPath, "watch=1&resourceVersion=1&timeoutSeconds=1", protobuf+partial, "")
	f.Add("GET", "/apis/example.com/v1/watch/namespaces/a/widgets/b", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "", "")
	f.Add("POST", widgetPath, "dryRun=All&fieldValidation=Strict", "", widgetJSON("z", "x", "red"))
	f.Add("PATCH", widgetPath+"/a", "force=true", "application/merge-patch+json", `{"metadata":{"finalizers":[1]}}`)
	f.Add("PATCH", widgetPath+"/a", "", "application/json-patch+json", `[{"op":"add","path":"/metadata","value":null}]`)
	f.Add("PATCH", configMaps+"/a", "", "application/strategic-merge-patch+json", `{"$patch":"replace"}`)
	f.Add("DELETE", widgetPath, "gracePeriodSeconds=-1&propagationPolicy=Orphan", "", "{}")
	f.Add("PUT", "/api/v1/nodes/a/status", "", "", "metadata: {name: a}")
	f.Fuzz(func(t *testing.T, method, path, query, header, body string) {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(method, " \t\r\n") || method == "" {
			t.Skip()
		}
		a := newAPI(t)
		a.wrap = func(s storage.Interface) storage.Interface { return impatient{s} }
		a.widget("a", "x", "red")
		a.must(http.MethodPost, configMaps, `{"metadata":{"name":"a"}}`)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", strings.NewReader(body))
		r.Method, r.URL = method, &url.URL{Path: path, RawQuery: query}
		r.Header.Set("Accept", header)
		r.Header.Set("Content-Type", header)
		w := httptest.NewRecorder()
		a.ServeHTTP(w, r)
		if w.Code == 0 || strings.Contains(w.Body.String(), "panicked") {
			t.Errorf("%s %s?%s: %d %s", method, path, query, w.Code, w.Body)
		}
	})
}

// brief is a storage whose watches end after a bookmark.
type brief struct{ storage.Interface }

func (b brief) Watch(ctx context.Context, opts storage.WatchOptions) (storage.Watch, error) {
	w, err := b.Interface.Watch(ctx, opts)
	return &briefWatch{Watch: w}, err
}

type briefWatch struct {
	storage.Watch
	over bool
}

func (w *briefWatch) Next() ([]storage.Event, error) {
	if w.over {
		return nil, io.EOF
	}
	events, err := w.Watch.Next()
	w.over = err == nil && events[len(events)-1].Type == watch.Bookmark
	return events, err
}

// FuzzSelectors sends arbitrary selectors. They are refused, or a list and the
// initial events of a watch select the same.
func FuzzSelectors(f *testing.F) {
	f.Add("app=x", "metadata.name=a", "")
	f.Add("app in (x,y),!tier", "spec.color!=red,metadata.namespace=default", "")
	f.Add("app notin (x), app>1", `spec.color=a\,b\=c\\`, "")
	f.Add("a==b==c", "spec.size=1", "foo")
	f.Add("", "", "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')")
	f.Add("", "", "shardRange(object.metadata.namespace, '0x8', '0x10000000000000000') || shardRange(object.metadata.namespace, '0x0', '0x1')")
	f.Fuzz(func(t *testing.T, labels, fields, shard string) {
		a := newAPI(t)
		a.wrap = func(s storage.Interface) storage.Interface { return brief{s} }
		sharding, err := endpoints.NewHandler(endpoints.Config{Scheme: scheme.Scheme, Storage: a.open, ShardSelector: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := sharding.Register(widgets); err != nil {
			t.Fatal(err)
		}
		a.Handler = sharding
		a.widget("a", "x", "red")
		a.widget("b", "y", "blue")
		query := url.Values{"labelSelector": {labels}, "fieldSelector": {fields}, "shardSelector": {shard}, "timeoutSeconds": {"1"}}.Encode()
		list := a.call(http.MethodGet, widgetPath+"?"+query, "")
		watched := a.call(http.MethodGet, widgetPath+"?watch=1&allowWatchBookmarks=true&"+query, "")
		switch list.Code {
		case http.StatusBadRequest, http.StatusInternalServerError:
			if list.Code != watched.Code || strings.Contains(list.Body.String(), "panicked") {
				t.Errorf("a list: %d %s\na watch: %d %s", list.Code, list.Body, watched.Code, watched.Body)
			}
			return
		case http.StatusOK:
		default:
			t.Fatalf("%d %s", list.Code, list.Body)
		}
		for _, name := range []string{"a", "b"} {
			named := `"name":"` + name + `"`
			if got, want := strings.Contains(watched.Body.String(), named), strings.Contains(list.Body.String(), named); got != want {
				t.Errorf("%q, %q, %q: %s is in the list: %v, in the watch: %v", labels, fields, shard, name, want, got)
			}
		}
	})
}
