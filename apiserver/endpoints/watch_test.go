package endpoints_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"heliograph.example/apiserver/storage"
)

const (
	streaming = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
	protobuf  = "application/vnd.kubernetes.protobuf"
	partial   = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

// lines are the events of a JSON stream, in short: type, name and version.
func lines(a *api, w *httptest.ResponseRecorder) []string {
	a.t.Helper()
	var got []string
	for line := range strings.Lines(w.Body.String()) {
		rec := httptest.NewRecorder()
		rec.Body.WriteString(line)
		event := a.object(rec)
		obj := event["object"].(map[string]any)
		short := []string{text(event, "type"), text(obj, "metadata", "name"), text(obj, "metadata", "resourceVersion")}
		if text(event, "type") == "ERROR" {
			short = []string{"ERROR", text(obj, "message")}
		}
		got = append(got, strings.Join(short, " "))
	}
	return got
}

func expectLines(a *api, w *httptest.ResponseRecorder, want ...string) {
	a.t.Helper()
	if got := lines(a, w); w.Code != http.StatusOK || !slices.Equal(got, want) {
		a.t.Errorf("%d %q, want %q", w.Code, got, want)
	}
}

// Time passes at once in the bubbles of these tests, so that a watch lasts no
// longer than it takes to have nothing more to tell.

func TestWatchesTellTheStateAndThenChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		a.widget("a", "x", "red") // version 2
		a.widget("b", "y", "red")
		go func() {
			time.Sleep(time.Second)
			a.widget("c", "x", "red")
			a.must(http.MethodPatch, widgetPath+"/a", `{"metadata":{"labels":{"app":"y"}}}`, "Content-Type", mergePatch)
			a.must(http.MethodDelete, widgetPath+"/b", "")
		}()
		w := a.call(http.MethodGet, widgetPath+"?watch=1&timeoutSeconds=10&labelSelector=app%3Dx"+streaming, "")
		expectLines(a, w, "ADDED a 2", "BOOKMARK  3", "ADDED c 4", "DELETED a 5", "BOOKMARK  6")
		if got := w.Header().Get("Content-Type"); got != "application/json" {
			t.Errorf("Content-Type %q", got)
		}
		expectLines(a, a.call(http.MethodGet, widgetPath+"?watch=1&timeoutSeconds=1", ""), "ADDED a 5", "ADDED c 4")
		expectLines(a, a.call(http.MethodGet, widgetPath+"?watch=true&timeoutSeconds=1&resourceVersion=3", ""), "ADDED c 4", "MODIFIED a 5", "DELETED b 6")
		expectLines(a, a.call(http.MethodGet, widgetPath+"?watch=1&timeoutSeconds=1&resourceVersion=3&fieldSelector=metadata.name%3Db", ""), "DELETED b 6")
		expectLines(a, a.call(http.MethodGet, "/apis/example.com/v1/watch/namespaces/default/widgets?timeoutSeconds=1&resourceVersion=5", ""), "DELETED b 6")
		expectLines(a, a.call(http.MethodGet, "/apis/example.com/v1/watch/namespaces/default/widgets/c?timeoutSeconds=1", ""), "ADDED c 4")
		expectLines(a, a.call(http.MethodGet, widgetPath+"?watch=1&timeoutSeconds=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", ""))
		if obj := a.must(http.MethodGet, widgetPath+"/a?watch=1", ""); text(obj, "metadata", "name") != "a" {
			t.Errorf("a watch of an item: %v", obj)
		}
		w = a.call(http.MethodGet, "/apis/example.com/v1/watch/namespaces/default/widgets/c?fieldSelector=metadata.name%3Da", "")
		if w.Code != http.StatusBadRequest {
			t.Errorf("two names: %d %s", w.Code, w.Body)
		}
	})
}

func TestAWatchWithoutATimeoutLastsHalfAnHourToAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		begin := time.Now()
		a.call(http.MethodGet, widgetPath+"?watch=1&resourceVersion=1", "")
		if d := time.Since(begin); d < 30*time.Minute || d >= time.Hour {
			t.Errorf("it lasted %v of the time in the bubble", d)
		}
	})
}

func TestAWatchFromATooOldVersionIsAStreamWithAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		a.widget("a", "x", "red")
		a.widget("b", "x", "red")
		if err := a.backend.Compact(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		w := a.call(http.MethodGet, widgetPath+"?watch=1&timeoutSeconds=10&resourceVersion=1", "")
		expectLines(a, w, "ERROR too old resource version: 1 (3)")
		const want = `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (3)","reason":"Expired","code":410}}` + "\n"
		if w.Body.String() != want {
			t.Errorf("got %s", w.Body)
		}
	})
}

func TestWatchesEncodeAsAgreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		a.must(http.MethodPost, configMaps, `{"metadata":{"name":"m","annotations":{"k":"v"}},"data":{"a":"b"}}`)
		a.widget("w", "x", "red")
		get := func(path, accept string) *httptest.ResponseRecorder {
			return a.call(http.MethodGet, path+"?watch=1&timeoutSeconds=1"+streaming, "", "Accept", accept)
		}
		for _, accept := range []string{protobuf, protobuf + ";stream=watch", protobuf + partial} {
			w := get(configMaps, accept)
			if got := w.Header().Get("Content-Type"); got != protobuf+";stream=watch" {
				t.Errorf("%s: Content-Type %q", accept, got)
			}
			events := frames(t, w.Body.Bytes())
			if len(events) != 2 || events[0].Type != "ADDED" || events[1].Type != "BOOKMARK" {
				t.Fatalf("%s: %v", accept, events)
			}
			var m metav1.ObjectMeta
			var full bool
			if strings.HasSuffix(accept, partial) {
				var obj metav1.PartialObjectMetadata
				kind := unwrap(t, events[0].Object.Raw, &obj)
				m, full = obj.ObjectMeta, kind.Kind != "PartialObjectMetadata" || kind.APIVersion != "meta.k8s.io/v1"
			} else {
				var obj corev1.ConfigMap
				kind := unwrap(t, events[0].Object.Raw, &obj)
				m, full = obj.ObjectMeta, obj.Data["a"] == "b" && kind.Kind == "ConfigMap" && kind.APIVersion == "v1"
			}
			if m.Name != "m" || m.Annotations["k"] != "v" || full == strings.HasSuffix(accept, partial) {
				t.Errorf("%s: %+v, full = %v", accept, m, full)
			}
		}
		w := get(widgetPath, "application/json"+partial)
		want := `{"type":"BOOKMARK","object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"3","annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"
		if !strings.HasSuffix(w.Body.String(), want) || strings.Contains(w.Body.String(), "color") {
			t.Errorf("metadata as JSON: %s", w.Body)
		}
		w = get(widgetPath, "")
		want = `{"type":"BOOKMARK","object":{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"annotations":{"k8s.io/initial-events-end":"true"},"resourceVersion":"3"}}}` + "\n"
		if !strings.HasSuffix(w.Body.String(), want) {
			t.Errorf("the bookmark of a custom resource: %s", w.Body)
		}
		for _, accept := range []string{"application/yaml", "text/html"} {
			w = get(widgetPath, accept)
			if w.Code != http.StatusNotAcceptable || !strings.Contains(strings.Join(strings.Fields(w.Body.String()), " "),
				"only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch") {
				t.Errorf("%s: %d %s", accept, w.Code, w.Body)
			}
		}
		if w = get(widgetPath, protobuf); w.Code != http.StatusNotAcceptable {
			t.Errorf("protobuf of a custom resource: %d %s", w.Code, w.Body)
		}
	})
}

// frames splits a protobuf stream.
func frames(t *testing.T, data []byte) []metav1.WatchEvent {
	t.Helper()
	var events []metav1.WatchEvent
	for len(data) > 0 {
		size := binary.BigEndian.Uint32(data)
		var e metav1.WatchEvent
		if err := e.Unmarshal(data[4 : 4+size]); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
		data = data[4+size:]
	}
	return events
}

// unwrap decodes an object in protobuf, and returns the kind on its envelope.
func unwrap(t *testing.T, data []byte, into interface{ Unmarshal([]byte) error }) runtime.TypeMeta {
	t.Helper()
	raw, ok := strings.CutPrefix(string(data), "k8s\x00")
	var unknown runtime.Unknown
	if err := unknown.Unmarshal([]byte(raw)); err != nil || !ok {
		t.Fatalf("%v: %q", err, data)
	}
	if err := into.Unmarshal(unknown.Raw); err != nil {
		t.Fatal(err)
	}
	return unknown.TypeMeta
}

// scripted is a storage whose watches tell given batches of events and then
// fail, and whose other methods panic.
type scripted struct {
	storage.Interface
	batches [][]storage.Event
	err     error
}

func (s *scripted) Watch(ctx context.Context, _ storage.WatchOptions) (storage.Watch, error) {
	return &scriptedWatch{*s, ctx}, nil
}

type scriptedWatch struct {
	scripted
	ctx context.Context
}

func (w *scriptedWatch) Next() ([]storage.Event, error) {
	if len(w.batches) > 0 {
		batch := w.batches[0]
		w.batches = w.batches[1:]
		return batch, nil
	}
	if w.err != nil {
		return nil, w.err
	}
	<-w.ctx.Done()
	return nil, w.ctx.Err()
}

func (w *scriptedWatch) Stop() {}

// counted counts how often it is encoded.
type counted struct {
	corev1.ConfigMap
	n *atomic.Int32
}

func (c *counted) MarshalJSON() ([]byte, error) {
	c.n.Add(1)
	return []byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"m","resourceVersion":"2"}}`), nil
}

func TestSharedEventsAreEncodedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		var n atomic.Int32
		obj := &counted{n: &n}
		obj.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		shared := &storage.Encodings{}
		a.wrap = func(storage.Interface) storage.Interface {
			return &scripted{batches: [][]storage.Event{{
				{Type: watch.Added, Object: obj, Encoded: shared}, {Type: watch.Modified, Object: obj, Encoded: shared},
			}}}
		}
		for range 3 {
			w := a.call(http.MethodGet, configMaps+"?watch=1&timeoutSeconds=1", "")
			expectLines(a, w, "ADDED m 2", "MODIFIED m 2")
		}
		if got := n.Load(); got != 2 {
			t.Errorf("encoded %d times, want once as added and once as modified", got)
		}
	})
}

// flushes counts the flushes of an answer.
type flushes struct {
	*httptest.ResponseRecorder
	n int
}

func (f *flushes) Flush() { f.n++; f.ResponseRecorder.Flush() }

func TestEventsAtHandAreFlushedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		event := storage.Event{Type: watch.Added, Object: &corev1.ConfigMap{}}
		a.wrap = func(storage.Interface) storage.Interface {
			return &scripted{batches: [][]storage.Event{{event, event, event}, {event}}}
		}
		w := &flushes{ResponseRecorder: httptest.NewRecorder()}
		a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, configMaps+"?watch=1&timeoutSeconds=1", nil))
		if n := strings.Count(w.Body.String(), "\n"); n != 4 || w.n != 3 {
			t.Errorf("%d events in %d flushes, want 4 in 3 (the header's among them)", n, w.n)
		}
	})
}

func TestEventsThatAreLargeTogetherAreToldInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		var batch []storage.Event
		var want []string
		for i := range 9 {
			name := fmt.Sprintf("m%d", i)
			batch = append(batch, storage.Event{Type: watch.Added, Object: &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "7"},
				Data:       map[string]string{"large": strings.Repeat("x", i*10_000)},
			}})
			want = append(want, "ADDED "+name+" 7")
		}
		a.wrap = func(storage.Interface) storage.Interface {
			return &scripted{batches: [][]storage.Event{batch, batch[:2]}}
		}
		w := &flushes{ResponseRecorder: httptest.NewRecorder()}
		a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, configMaps+"?watch=1&timeoutSeconds=1", nil))
		expectLines(a, w.ResponseRecorder, append(want, want[:2]...)...)
		if w.n != 3 {
			t.Errorf("%d flushes, want 3 (the header's among them)", w.n)
		}
	})
}

// unencodable is an object that has no form.
type unencodable struct{ corev1.ConfigMap }

func (*unencodable) MarshalJSON() ([]byte, error) { return nil, errors.New("no form") }

func TestEventsBeforeOneThatCannotBeEncodedAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		good := storage.Event{Type: watch.Added, Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m", ResourceVersion: "2"}}}
		bad := &unencodable{}
		bad.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		a.wrap = func(storage.Interface) storage.Interface {
			return &scripted{batches: [][]storage.Event{{good, {Type: watch.Added, Object: bad}, good}}}
		}
		w := a.call(http.MethodGet, configMaps+"?watch=1&timeoutSeconds=1", "")
		lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
		if len(lines) != 2 || !strings.HasPrefix(lines[0], `{"type":"ADDED"`) || !strings.Contains(lines[1], "no form") {
			t.Errorf("got %q, want the event and an ERROR", lines)
		}
	})
}

func TestAnErrorOfAnOpenWatchIsItsLastEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		a.wrap = func(storage.Interface) storage.Interface {
			return &scripted{batches: [][]storage.Event{{{Type: watch.Added, Object: &corev1.ConfigMap{}}}}, err: storage.NewTooOldError(5, 9)}
		}
		w := a.call(http.MethodGet, configMaps+"?watch=1&timeoutSeconds=1", "")
		expectLines(a, w, "ADDED  ", "ERROR too old resource version: 5 (9)")
		w = a.call(http.MethodGet, configMaps+"?watch=1&timeoutSeconds=1", "", "Accept", protobuf)
		events := frames(t, w.Body.Bytes())
		var status metav1.Status
		if len(events) != 2 || events[1].Type != "ERROR" {
			t.Fatalf("%v", events)
		}
		if unwrap(t, events[1].Object.Raw, &status); status.Code != 410 {
			t.Errorf("%+v", status)
		}
	})
}

func TestDropWatchesEndsOnlyThoseOfItsResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAPI(t)
		done := make(chan string, 2)
		for name, path := range map[string]string{"widgets": widgetPath, "configmaps": configMaps} {
			go func() {
				a.call(http.MethodGet, path+"?watch=1&timeoutSeconds=60&resourceVersion=1", "")
				done <- name
			}()
		}
		synctest.Wait()
		if n := a.DropWatches(schema.GroupResource{Group: "example.com", Resource: "widgets"}); n != 1 {
			t.Errorf("dropped %d", n)
		}
		synctest.Wait()
		if got := <-done; got != "widgets" || len(done) != 0 {
			t.Errorf("%s has ended", got)
		}
		<-done
		if n := a.DropWatches(schema.GroupResource{Resource: "configmaps"}); n != 0 {
			t.Errorf("dropped %d watches that had ended", n)
		}
	})
}
