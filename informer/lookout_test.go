package informer_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/apiserver/fault"
	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// counter counts the requests by what their path ends with.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		c.mu.Lock()
		c.n[r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]]++
		c.mu.Unlock()
		return next.RoundTrip(r)
	})
}

func (c *counter) of(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[name]
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var widget = schema.GroupVersionKind{Group: "example.com", Version: "v9", Kind: "Widget"}

// widgetServer is a server that does not serve widgets yet, with a factory that
// has an informer for them and one for ConfigMaps, started.
func widgetServer(t *testing.T, policy reflector.NotServedPolicy) (*apiservertest.Server, *informer.Factory, *counter,
	*informer.Informer[*unstructured.Unstructured], *informer.Informer[*corev1.ConfigMap]) {
	t.Helper()
	s := apiservertest.Start(t, apiserver.Options{})
	requests := &counter{n: map[string]int{}}
	config := s.Config()
	config.Wrap(requests.wrap)
	f, err := informer.NewFactory(config, informer.FactoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	widgets, err := informer.For(t.Context(), f, informer.Options[*unstructured.Unstructured]{
		Scope:     informer.Scope{Kind: widget, Resource: "widgets"},
		Reflector: reflector.Options[*unstructured.Unstructured]{NotServed: policy},
	})
	if err != nil {
		t.Fatal(err)
	}
	maps, err := informer.For(t.Context(), f, informer.Options[*corev1.ConfigMap]{})
	if err != nil {
		t.Fatal(err)
	}
	f.Start(t.Context())
	return s, f, requests, widgets, maps
}

func serveWidgets(t *testing.T, s *apiservertest.Server) {
	t.Helper()
	if err := s.Register(apiserver.Resource{GroupVersionKind: widget, Namespaced: true}); err != nil {
		t.Fatal(err)
	}
}

func TestATypeThatIsNotServedHoldsUpNobodyElseAndIsReadWhenServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f, requests, widgets, maps := widgetServer(t, reflector.KeepObjects)
		if err := informer.WaitFor(t.Context(), maps); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		err := f.Wait(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "widgets.example.com: not served: ") || strings.Contains(err.Error(), "configmaps") {
			t.Errorf("waiting for all: %v", err)
		}
		// Both the reader and the lookout grow slow.
		if reads, looks := requests.of("widgets"), requests.of("v9"); reads < 15 || reads > 30 || looks < 55 || looks > 70 {
			t.Errorf("%d reads and %d looks in an hour", reads, looks)
		}
		serveWidgets(t, s)
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute+time.Second)
		defer cancel()
		if err := widgets.Wait(ctx); err != nil {
			t.Errorf("after a look: %v", err)
		}
		looks := requests.of("v9")
		time.Sleep(time.Hour)
		if n := requests.of("v9") - looks; n != 0 {
			t.Errorf("%d looks while everything is served", n)
		}
	})
}

func TestAResourceThatGoesAwayAndComesBackStartsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, _, widgets, _ := widgetServer(t, reflector.DeleteObjects)
		serveWidgets(t, s)
		if err := widgets.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Load(`{apiVersion: v1, kind: Namespace, metadata: {name: a}}
---
{apiVersion: example.com/v9, kind: Widget, metadata: {name: w, namespace: a}}`)
		var mu sync.Mutex
		var told []string
		_, err := widgets.Handle(informer.HandlerFunc[*unstructured.Unstructured](func(_ context.Context, c informer.Change[*unstructured.Unstructured]) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, c.Type.String()+" "+c.Key.Name)
		}), informer.HandlerOptions[*unstructured.Unstructured]{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		gone := fault.Fault{Resource: schema.GroupResource{Group: "example.com", Resource: "widgets"}, Code: http.StatusNotFound}
		s.Break(gone)
		s.DropWatches(gone.Resource)
		time.Sleep(time.Minute)
		if st := widgets.Status(); st.Reader.State != reflector.NotServed || st.Objects != 0 {
			t.Errorf("status: %v", st)
		}
		s.Faults.Clear()
		resource := s.Dynamic().Resource(widget.GroupVersion().WithResource("widgets")).Namespace("a")
		if err := resource.Delete(t.Context(), "w", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		s.Load(`{apiVersion: example.com/v9, kind: Widget, metadata: {name: w, namespace: a}}`)
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if got := strings.Join(told, ", "); got != "Added w, Deleted w, Added w" || widgets.Status().Reader.State != reflector.Watching {
			t.Errorf("told %s; %v", got, widgets.Status())
		}
	})
}
