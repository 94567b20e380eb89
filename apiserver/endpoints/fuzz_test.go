package endpoints_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

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
