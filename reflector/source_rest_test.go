package reflector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"heliograph.example/deltafifo"
)

// plainServer answers the requests for pods with what its functions write.
type plainServer struct {
	list  func(w http.ResponseWriter, query url.Values)
	watch func(w http.ResponseWriter, query url.Values, done <-chan struct{})

	mu   sync.Mutex
	urls []*url.URL
}

func (s *plainServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.urls = append(s.urls, r.URL)
	s.mu.Unlock()
	if w.Header().Set("Content-Type", "application/json"); r.URL.Query().Get("watch") != "" {
		s.watch(w, r.URL.Query(), r.Context().Done())
		return
	}
	s.list(w, r.URL.Query())
}

// asked returns the number of requests and the last one.
func (s *plainServer) asked() (n int, last *url.URL) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n = len(s.urls); n > 0 {
		last = s.urls[n-1]
	}
	return n, last
}

// podSource serves s and returns a source over it.
func podSource[T Object](t *testing.T, s *plainServer, config rest.ContentConfig, opts SourceOptions) Source[T] {
	t.Helper()
	server := httptest.NewServer(s)
	transport := &http.Transport{}
	t.Cleanup(func() { transport.CloseIdleConnections(); server.Close() })
	config.GroupVersion, config.NegotiatedSerializer = &corev1.SchemeGroupVersion, scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientForConfigAndClient(&rest.Config{Host: server.URL, APIPath: "/api", ContentConfig: config},
		&http.Client{Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	source, err := NewRESTSource[T](client, "pods", opts)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func podList(version, next string, pods ...*corev1.Pod) *corev1.PodList {
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		ListMeta: metav1.ListMeta{ResourceVersion: version, Continue: next}}
	for _, p := range pods {
		list.Items = append(list.Items, *p)
	}
	return list
}

// frame is a watch event as it stands on the wire.
func frame(kind string, obj any) string {
	body, err := json.Marshal(map[string]any{"type": kind, "object": obj})
	if err != nil {
		panic(err)
	}
	return string(body) + "\n"
}

func endPod(version string) *corev1.Pod {
	return &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{
		ResourceVersion: version, Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
}

func TestARESTSourceReadsPages(t *testing.T) {
	protobufSerializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	for name, test := range map[string]struct {
		config rest.ContentConfig
		write  func(w http.ResponseWriter, list *corev1.PodList) error
	}{
		"in JSON": {rest.ContentConfig{}, func(w http.ResponseWriter, list *corev1.PodList) error { return json.NewEncoder(w).Encode(list) }},
		"in protobuf": {rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf}, func(w http.ResponseWriter, list *corev1.PodList) error {
			w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
			return protobufSerializer.Encode(list, w)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &plainServer{list: func(w http.ResponseWriter, q url.Values) {
				list := podList("10", "more", pod("a", "5"))
				if q.Get("continue") == "more" {
					list = podList("10", "", pod("b", "6"))
				}
				if err := test.write(w, list); err != nil {
					t.Error(err)
				}
			}}
			source := podSource[*corev1.Pod](t, s, test.config, SourceOptions{Namespace: "ns", LabelSelector: "a=b", FieldSelector: "spec.nodeName=n"})
			for next, want := range map[string]string{"": "a/5 more", "more": "b/6 "} {
				var item Item[*corev1.Pod]
				page, err := source.List(t.Context(), metav1.ListOptions{Limit: 1, Continue: next}, func(it Item[*corev1.Pod]) error { item = it; return nil })
				if err != nil || item.Err != nil || page.Version != "10" {
					t.Fatalf("%+v, %v, %v", page, err, item.Err)
				}
				if got := item.Key.Name + "/" + item.Version + " " + page.Continue; got != want || item.Object.Spec.NodeName != "node-of-"+item.Key.Name {
					t.Errorf("got %q, want %q", got, want)
				}
				_, asked := s.asked()
				if q := asked.Query(); asked.Path != "/api/v1/namespaces/ns/pods" || q.Get("labelSelector") != "a=b" || q.Get("fieldSelector") != "spec.nodeName=n" || q.Get("limit") != "1" {
					t.Errorf("asked for %v", asked)
				}
			}
			stop := errors.New("enough")
			if _, err := source.List(t.Context(), metav1.ListOptions{}, func(Item[*corev1.Pod]) error { return stop }); !errors.Is(err, stop) {
				t.Errorf("List returned %v", err)
			}
		})
	}
}

func TestARESTSourceTellsWhatTheServerSays(t *testing.T) {
	var answer func(w http.ResponseWriter)
	s := &plainServer{
		list:  func(w http.ResponseWriter, _ url.Values) { answer(w) },
		watch: func(w http.ResponseWriter, _ url.Values, _ <-chan struct{}) { answer(w) },
	}
	source := podSource[*corev1.Pod](t, s, rest.ContentConfig{}, SourceOptions{})
	for _, test := range []struct {
		name     string
		answer   func(w http.ResponseWriter)
		class    ErrorClass
		watchToo bool
	}{
		{"429 with a pause", func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		}, ClassTooManyRequests, true},
		{"403", func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) }, ClassForbidden, true},
		{"410", func(w http.ResponseWriter) { w.WriteHeader(http.StatusGone) }, ClassExpired, true},
		{"404", func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }, ClassNotServed, true},
		{"503", func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }, ClassUnreachable, true},
		{"garbage", func(w http.ResponseWriter) { fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","items":7}`) }, ClassDecode, false},
		{"an unknown kind", func(w http.ResponseWriter) { fmt.Fprint(w, `{"kind":"OddList","apiVersion":"v1"}`) }, ClassDecode, false},
		{"no list", func(w http.ResponseWriter) { fmt.Fprint(w, `{"kind":"Pod","apiVersion":"v1"}`) }, ClassDecode, false},
		{"a table", func(w http.ResponseWriter) { fmt.Fprint(w, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`) }, ClassDecode, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer = test.answer
			before, _ := s.asked()
			_, err := source.List(t.Context(), metav1.ListOptions{}, func(Item[*corev1.Pod]) error { return nil })
			if classify(err) != test.class {
				t.Errorf("List returned %q: %v", classify(err), err)
			}
			if test.watchToo {
				if _, err = source.Watch(t.Context(), metav1.ListOptions{}); classify(err) != test.class {
					t.Errorf("Watch returned %q: %v", classify(err), err)
				}
				before++
			}
			if n, _ := s.asked(); n-before != 1 {
				t.Errorf("%d requests: the client retries beside us", n)
			}
			if seconds, ok := apierrors.SuggestsClientDelay(err); test.class == ClassTooManyRequests && (!ok || seconds != 7) {
				t.Errorf("the pause was lost: %d, %v", seconds, ok)
			}
		})
	}
}

func TestARESTSourceReadsAWatch(t *testing.T) {
	s := &plainServer{watch: func(w http.ResponseWriter, q url.Values, _ <-chan struct{}) {
		if q.Get("resourceVersion") != "10" || q.Get("allowWatchBookmarks") != "true" {
			t.Errorf("asked for %v", q)
		}
		fmt.Fprint(w, frame("ADDED", pod("a", "11")), frame("MODIFIED", pod("a", "12")), frame("DELETED", pod("a", "13")), frame("BOOKMARK", endPod("14")))
		expired := status(410, metav1.StatusReasonExpired).Status()
		expired.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		fmt.Fprint(w, frame("ERROR", expired))
	}}
	source := podSource[*corev1.Pod](t, s, rest.ContentConfig{}, SourceOptions{})
	stream, err := source.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "10", AllowWatchBookmarks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	var got []string
	for {
		var events []Event[*corev1.Pod]
		if events, err = stream.Next(); err != nil {
			break
		}
		for _, e := range events {
			got = append(got, fmt.Sprint(e.Type, " ", e.Version, " ", e.InitialEventsEnd))
		}
	}
	wantLines(t, "events", got, "Added 11 false", "Updated 12 false", "Deleted 13 false", "Bookmark 14 true")
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("the stream ended with %v", err)
	}
}

func TestABrokenFrameEndsARESTWatch(t *testing.T) {
	for name, test := range map[string]struct {
		body  string
		class ErrorClass
	}{
		"garbage":     {`{"type":"ADDED" "object":7}` + "\n", ClassDecode},
		"a clean end": {"", ClassUnreachable},
		"a cut":       {`{"type":"ADDED","obj`, ClassUnreachable},
	} {
		t.Run(name, func(t *testing.T) {
			s := &plainServer{watch: func(w http.ResponseWriter, _ url.Values, _ <-chan struct{}) { fmt.Fprint(w, test.body) }}
			stream, err := podSource[*corev1.Pod](t, s, rest.ContentConfig{}, SourceOptions{}).Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Stop()
			if events, err := stream.Next(); classify(err) != test.class || events != nil {
				t.Errorf("Next returned %v, %q: %v", events, classify(err), err)
			}
		})
	}
}

func TestAReflectorOverRESTStreamsAndResumes(t *testing.T) {
	s := &plainServer{}
	s.watch = func(w http.ResponseWriter, q url.Values, done <-chan struct{}) {
		switch {
		case q.Get("sendInitialEvents") == "true":
			fmt.Fprint(w, frame("ADDED", pod("a", "5")), frame("BOOKMARK", endPod("10")), frame("MODIFIED", pod("a", "11")))
			w.(http.Flusher).Flush()
		case q.Get("resourceVersion") == "11":
			fmt.Fprint(w, frame("DELETED", pod("a", "12")))
			w.(http.Flusher).Flush()
			<-done
		default:
			t.Errorf("asked for %v", q)
		}
	}
	sink := names[*corev1.Pod]{make(chan deltafifo.Delta[*corev1.Pod], 10)}
	r, err := New(podSource[*corev1.Pod](t, s, rest.ContentConfig{}, SourceOptions{}), Sink[*corev1.Pod](sink), Options[*corev1.Pod]{Name: "pods"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	for _, want := range []string{"Replaced 10", "Updated 11", "Deleted 12"} {
		select {
		case d := <-sink.pushed:
			if got := fmt.Sprint(d.Type, " ", d.Version); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("no %q: %s", want, r.Status())
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if st := r.Status(); st.Streams != 1 || st.Watches != 1 || st.Pages != 0 || st.Version != "12" {
		t.Errorf("status: %+v", st)
	}
}
