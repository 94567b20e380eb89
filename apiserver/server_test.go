package apiserver_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"go.uber.org/goleak"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/endpoints"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var configMaps = schema.GroupResource{Resource: "configmaps"}

// start starts a server that ends with the test.
func start(t *testing.T, opts apiserver.Options) *apiserver.Server {
	t.Helper()
	s, err := apiserver.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// client makes a typed client for a media type, JSON if empty.
func client(t *testing.T, s *apiserver.Server, contentType string) *kubernetes.Clientset {
	t.Helper()
	config := s.Config()
	config.ContentType = contentType
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// next returns the next event of a watch.
func next(t *testing.T, w watch.Interface) watch.Event {
	t.Helper()
	select {
	case e, ok := <-w.ResultChan():
		if !ok {
			t.Fatal("the watch has ended")
		}
		return e
	case <-time.After(30 * time.Second):
		t.Fatal("no event within 30 seconds")
	}
	panic("unreachable")
}

// ended waits for the end of a watch.
func ended(t *testing.T, w watch.Interface) {
	t.Helper()
	select {
	case e, ok := <-w.ResultChan():
		if ok {
			t.Fatalf("an event instead of the end: %+v", e)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("no end within 30 seconds")
	}
}

func TestStartRefusesWhatMakesNoSense(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := apiserver.Start(gone, apiserver.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
	widget := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	for name, c := range map[string]struct {
		resources []apiserver.Resource
		want      error
	}{
		"a resource without a group":   {[]apiserver.Resource{{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Widget"}}}, endpoints.ErrInvalidResource},
		"a resource without a version": {[]apiserver.Resource{{GroupVersionKind: schema.GroupVersionKind{Group: "a.b", Kind: "Widget"}}}, endpoints.ErrInvalidResource},
		"a resource without a kind":    {[]apiserver.Resource{{GroupVersionKind: schema.GroupVersionKind{Group: "a.b", Version: "v1"}}}, endpoints.ErrInvalidResource},
		"a plural with a slash":        {[]apiserver.Resource{{GroupVersionKind: widget, Plural: "a/b"}}, endpoints.ErrInvalidResource},
		"a resource twice":             {[]apiserver.Resource{{GroupVersionKind: widget}, {GroupVersionKind: widget}}, endpoints.ErrDuplicateResource},
		"a built-in resource": {[]apiserver.Resource{{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}}},
			endpoints.ErrDuplicateResource},
	} {
		if _, err := apiserver.Start(t.Context(), apiserver.Options{Resources: c.resources}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStopEndsWatchesCleanlyAndMayBeRepeated(t *testing.T) {
	s := start(t, apiserver.Options{})
	ctx := t.Context()
	resp := open(t, s, "/api/v1/configmaps?watch=1&resourceVersion=1")
	w, err := client(t, s, "").CoreV1().ConfigMaps("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.Stop()
	s.Stop()
	ended(t, w)
	if body, err := io.ReadAll(resp.Body); err != nil || len(body) > 0 {
		t.Errorf("the stream ended with %v after %q", err, body)
	}
	if _, err := http.Get("http://" + s.Addr() + "/healthz"); err == nil {
		t.Error("it still answers")
	}
}

func TestTheEndOfTheContextStopsTheServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := apiserver.Start(ctx, apiserver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	resp := open(t, s, "/api/v1/configmaps?watch=1&resourceVersion=1")
	cancel()
	if body, err := io.ReadAll(resp.Body); err != nil || len(body) > 0 {
		t.Errorf("the stream ended with %v after %q", err, body)
	}
	s.Stop()
}

// open sends a GET and returns the answer, whose body is closed at the end.
func open(t *testing.T, s *apiserver.Server, path string) *http.Response {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	resp, err := (&http.Client{Transport: transport}).Get("http://" + s.Addr() + path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func TestConfigsAreIndependent(t *testing.T) {
	s := start(t, apiserver.Options{})
	a, b := s.Config(), s.Config()
	a.Host = "elsewhere"
	if b.Host != "http://"+s.Addr() || b.QPS >= 0 {
		t.Errorf("%+v", b)
	}
}

func TestDropWatchesEndsThoseOfOneResource(t *testing.T) {
	s := start(t, apiserver.Options{})
	c, ctx := client(t, s, ""), t.Context()
	dropped, err := c.CoreV1().ConfigMaps("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := c.CoreV1().Secrets("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Stop()
	if n := s.DropWatches(configMaps); n != 1 {
		t.Errorf("dropped %d watches, want 1", n)
	}
	ended(t, dropped)
	if _, err := c.CoreV1().Secrets("a").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if e := next(t, kept); e.Type != watch.Added {
		t.Errorf("the other watch got %+v", e)
	}
}

func TestCompactMakesOldVersionsExpire(t *testing.T) {
	s := start(t, apiserver.Options{})
	maps, ctx := client(t, s, "").CoreV1().ConfigMaps("a"), t.Context()
	first, err := maps.Create(ctx, configMap("a"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "c"} {
		if _, err := maps.Create(ctx, configMap(name), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	page, err := maps.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	live, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: page.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Stop()
	if _, err := maps.Create(ctx, configMap("d"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if e := next(t, live); e.Type != watch.Added || e.Object.(*corev1.ConfigMap).Name != "d" {
		t.Fatalf("%+v", e)
	}
	if err := s.Compact(ctx); err != nil {
		t.Fatal(err)
	}

	w, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: first.ResourceVersion})
	if err != nil {
		t.Fatalf("the error came in place of a stream: %v", err)
	}
	e := next(t, w)
	if err := apierrors.FromObject(e.Object); e.Type != watch.Error || !apierrors.IsResourceExpired(err) {
		t.Errorf("watch from an old version: %s %v", e.Type, err)
	}
	ended(t, w)

	_, err = maps.List(ctx, metav1.ListOptions{ResourceVersion: first.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("list at an old version: %v", err)
	}
	_, err = maps.List(ctx, metav1.ListOptions{Limit: 1, Continue: page.Continue})
	if !apierrors.IsResourceExpired(err) {
		t.Fatalf("second page of an old list: %v", err)
	}
	rest, err := maps.List(ctx, metav1.ListOptions{Continue: err.(apierrors.APIStatus).Status().ListMeta.Continue})
	if err != nil || len(rest.Items) != 3 {
		t.Errorf("the list goes on with %d items, %v; want b, c and d", len(rest.Items), err)
	}

	if _, err := maps.Create(ctx, configMap("e"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if e := next(t, live); e.Type != watch.Added || e.Object.(*corev1.ConfigMap).Name != "e" {
		t.Errorf("the watch that was up to date got %+v", e)
	}
}

func TestRequestsAreRemembered(t *testing.T) {
	s := start(t, apiserver.Options{})
	maps, ctx := client(t, s, "").CoreV1().ConfigMaps("a"), t.Context()
	if _, err := maps.Create(ctx, configMap("a"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := maps.Get(ctx, "b", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	w, err := maps.Watch(ctx, metav1.ListOptions{LabelSelector: "a=b"})
	if err != nil {
		t.Fatal(err)
	}
	w.Stop()
	got := s.Requests()
	if len(got) != 3 {
		t.Fatalf("%d requests: %+v", len(got), got)
	}
	for i, want := range []endpoints.Request{
		{Verb: "create", Code: 201, Path: "/api/v1/namespaces/a/configmaps"},
		{Verb: "get", Name: "b", Code: 404, Path: "/api/v1/namespaces/a/configmaps/b"},
		{Verb: "watch", Code: 200, Path: "/api/v1/namespaces/a/configmaps", Query: "labelSelector=a%3Db&watch=true"},
	} {
		want.Number, want.Time = i+1, got[i].Time
		want.Namespace = "a"
		want.Resource = configMaps.WithVersion("v1")
		want.UserAgent = got[i].UserAgent
		if got[i] != want {
			t.Errorf("request %d\n got %+v\nwant %+v", i, got[i], want)
		}
	}
}
