package endpoints_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"heliograph.example/apiserver/storage"
)

func TestAListThatFailsBeforeAPartIsSentIsAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		path, accept string
		items        []runtime.Object
		message      string
	}{
		"first item":          {allWidgets, "application/json", []runtime.Object{nanWidget()}, "unsupported value: NaN"},
		"early item":          {allWidgets, "application/json", []runtime.Object{someWidgets(1)[0], nanWidget()}, "unsupported value: NaN"},
		"late nil":            {allPods, "application/json", append(somePods(100), nil), "pods: item 100 is nil"},
		"late nil, protobuf":  {allPods, protobuf, append(somePods(100), nil), "pods: item 100 is nil"},
		"late nil, metadata":  {allPods, acceptPartial, append(somePods(100), nil), "pods: item 100 is nil"},
		"late nil of a type":  {allPods, protobuf, append(somePods(100), (*corev1.Pod)(nil)), "pods: item 100 is nil"},
		"late nil, custom":    {allWidgets, "application/json", append(someWidgets(100), (*unstructured.Unstructured)(nil)), "item 100 is nil"},
		"late of other type":  {allPods, "application/json", append(somePods(100), &corev1.Node{}), "item 100 is a *v1.Node, not a *v1.Pod"},
		"late nil, in YAML":   {allPods, "application/yaml", append(somePods(100), nil), "pods: item 100 is nil"},
		"whole list, in YAML": {allWidgets, "application/yaml", []runtime.Object{nanWidget()}, "UnstructuredList as YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			w := listing(t, storage.List{Items: c.items}).call(http.MethodGet, c.path, "", "Accept", c.accept)
			if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), c.message) {
				t.Errorf("%d %.500q", w.Code, w.Body)
			}
			if length := w.Header().Get("Content-Length"); length != strconv.Itoa(w.Body.Len()) {
				t.Errorf("Content-Length %s for %d bytes", length, w.Body.Len())
			}
		})
	}
}

func TestAListThatFailsAfterAPartWasSentIsBrokenOff(t *testing.T) {
	// What is not sent yet when the encoding fails is not sent at all: the
	// client must not be able to take it for a list.
	a := listing(t, storage.List{Items: append(someWidgets(100), nanWidget())})
	server := httptest.NewServer(a.Handler)
	defer server.Close()
	resp, err := server.Client().Get(server.URL + allWidgets)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK || !errors.Is(err, io.ErrUnexpectedEOF) || len(data) == 0 {
		t.Errorf("status %d, %d bytes, %v", resp.StatusCode, len(data), err)
	}
}

// pieces is a client that takes an answer write by write.
type pieces struct {
	header http.Header
	sizes  []int
	each   func() error
}

func (p *pieces) Header() http.Header { return p.header }
func (p *pieces) WriteHeader(int)     {}
func (p *pieces) Write(b []byte) (int, error) {
	p.sizes = append(p.sizes, len(b))
	if p.each != nil {
		if err := p.each(); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// serve lets a serve a list to p, and returns what it panicked with.
func (p *pieces) serve(a *api, path, accept string) (panicked any) {
	defer func() { panicked = recover() }()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Accept", accept)
	p.header = make(http.Header)
	a.ServeHTTP(p, r)
	return nil
}

func TestAListIsNoLongerEncodedWhenItsClientHasGone(t *testing.T) {
	for _, accept := range []string{"application/json", protobuf} {
		p := &pieces{each: func() error { return io.ErrClosedPipe }}
		if got := p.serve(listing(t, storage.List{Items: somePods(1000)}), allPods, accept); got != http.ErrAbortHandler || len(p.sizes) != 1 {
			t.Errorf("%s: panicked with %v after %d writes", accept, got, len(p.sizes))
		}
	}
}

func TestAListIsBrokenOffWhenTheTimeOfTheRequestIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pieces{each: func() error { time.Sleep(2 * time.Second); return nil }}
		if got := p.serve(listing(t, storage.List{Items: somePods(1000)}), allPods+"?timeout=5s", "application/json"); got != http.ErrAbortHandler || len(p.sizes) != 3 {
			t.Errorf("panicked with %v after %d writes", got, len(p.sizes))
		}
	})
}

// TestAListTakesMemoryForAPartOfIt bounds what the server allocates for each
