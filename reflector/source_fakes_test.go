package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"heliograph.example/deltafifo"
)

var podsGVR = corev1.SchemeGroupVersion.WithResource("pods")

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: version, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: "node-of-" + name},
	}
}

// podListWatch is what generated informers build over a clientset.
func podListWatch(client kubernetes.Interface) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().Pods("").List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().Pods("").Watch(ctx, opts)
		},
	}, client)
}

// names is a sink that notes the objects it gets.
type names[T any] struct {
	pushed chan deltafifo.Delta[T]
}

func (s names[T]) Push(deltas []deltafifo.Delta[T]) error {
	for _, d := range deltas {
		s.pushed <- d
	}
	return nil
}

func (s names[T]) Known(context.Context) (Known, error) { return view{}, nil }

// mirror runs a reflector over source in a bubble, lets change act, and returns
// what was pushed, the items of lists singly.
func mirror[T any](t *testing.T, source Source[T], change func()) (deltas []deltafifo.Delta[T]) {
	t.Helper()
	sink := names[T]{make(chan deltafifo.Delta[T], 100)}
	r, err := New(source, Sink[T](sink), Options[T]{Name: "pods"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	time.Sleep(time.Second)
	change()
	time.Sleep(time.Second)
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run returned %v", err)
	}
	close(sink.pushed)
	for d := range sink.pushed {
		if d.Type == deltafifo.Replaced {
			deltas = append(deltas, d.Items...)
			continue
		}
		deltas = append(deltas, d)
	}
	return deltas
}

func summary[T any](deltas []deltafifo.Delta[T], detail func(T) string) []string {
	var out []string
	for _, d := range deltas {
		out = append(out, fmt.Sprintf("%s %s %s", d.Type, d.Key, detail(d.Object)))
	}
	return out
}

func TestFromListerWatcherMirrorsAFakeClientset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(pod("a", "7"))
		source, err := FromListerWatcher[*corev1.Pod](podListWatch(client))
		if err != nil {
			t.Fatal(err)
		}
		deltas := mirror(t, source, func() {
			// A test may leave the resource version of an object as it is.
			b := pod("b", "7")
			if _, err := client.CoreV1().Pods("ns").Create(t.Context(), b, metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
			b.Spec.NodeName = "elsewhere"
			if _, err := client.CoreV1().Pods("ns").Update(t.Context(), b, metav1.UpdateOptions{}); err != nil {
				t.Error(err)
			}
			if err := client.CoreV1().Pods("ns").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
		got := summary(deltas, func(p *corev1.Pod) string { return p.Spec.NodeName })
		wantLines(t, "pushed", got, "Added ns/a node-of-a", "Added ns/b node-of-b", "Updated ns/b elsewhere", "Deleted ns/a node-of-a")
		for _, d := range deltas {
			if d.Version != "" {
				t.Errorf("the version of a fake was believed: %+v", d)
			}
		}
	})
}

func TestNewDynamicSourceMirrorsAFake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("a", "7"), pod("b", "8"))
		source, err := NewDynamicSource(client, podsGVR, SourceOptions{Namespace: "ns", LabelSelector: "app in (a, c)"})
		if err != nil {
			t.Fatal(err)
		}
		deltas := mirror(t, source, func() {
			if err := client.Resource(podsGVR).Namespace("ns").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
		got := summary(deltas, func(u *unstructured.Unstructured) string {
			node, _, _ := unstructured.NestedString(u.Object, "spec", "nodeName")
			return u.GetAPIVersion() + "/" + u.GetKind() + " " + node
		})
		wantLines(t, "pushed", got, "Added ns/a v1/Pod node-of-a", "Deleted ns/a v1/Pod node-of-a")
	})
}

func TestNewMetadataSourceMirrorsAFake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := metadatafake.NewTestScheme()
		if err := metav1.AddMetaToScheme(s); err != nil {
			t.Fatal(err)
		}
		meta := func(name string) *metav1.PartialObjectMetadata {
			p := pod(name, "7")
			return &metav1.PartialObjectMetadata{TypeMeta: p.TypeMeta, ObjectMeta: p.ObjectMeta}
		}
		client := metadatafake.NewSimpleMetadataClient(s, meta("a"))
		source, err := NewMetadataSource(client, podsGVR, SourceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		deltas := mirror(t, source, func() {
			if err := client.Resource(podsGVR).Namespace("ns").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
		got := summary(deltas, func(m *metav1.PartialObjectMetadata) string { return m.Kind + " " + m.Labels["app"] })
		wantLines(t, "pushed", got, "Added ns/a Pod a", "Deleted ns/a Pod a")
	})
}

func TestASourceIsCheckedWhenItIsMade(t *testing.T) {
	dynamicClient := dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
	metadataClient := metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme())
	restClient, err := rest.RESTClientFor(&rest.Config{Host: "http://127.0.0.1:1", APIPath: "/api", ContentConfig: rest.ContentConfig{
		GroupVersion: &corev1.SchemeGroupVersion, NegotiatedSerializer: scheme.Codecs.WithoutConversion()}})
	if err != nil {
		t.Fatal(err)
	}
	var noREST *rest.RESTClient
	for name, make := range map[string]func(gvr schema.GroupVersionResource, opts SourceOptions, none bool) error{
		"REST": func(gvr schema.GroupVersionResource, opts SourceOptions, none bool) error {
			var client rest.Interface = restClient
			if none {
				client = noREST
			}
			_, err := NewRESTSource[*corev1.Pod](client, gvr.Resource, opts)
			return err
		},
		"dynamic": func(gvr schema.GroupVersionResource, opts SourceOptions, none bool) error {
			var client dynamic.Interface = dynamicClient
			if none {
				client = nil
			}
			_, err := NewDynamicSource(client, gvr, opts)
			return err
		},
		"metadata": func(gvr schema.GroupVersionResource, opts SourceOptions, none bool) error {
			var client metadata.Interface = metadataClient
			if none {
				client = nil
			}
			_, err := NewMetadataSource(client, gvr, opts)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := make(podsGVR, SourceOptions{Namespace: "ns", LabelSelector: "a=b", FieldSelector: "metadata.name=x"}, false); err != nil {
				t.Errorf("a good one: %v", err)
			}
			for what, err := range map[string]error{
				"nil client":    make(podsGVR, SourceOptions{}, true),
				"no resource":   make(schema.GroupVersionResource{}, SourceOptions{}, false),
				"bad resource":  make(corev1.SchemeGroupVersion.WithResource("a/b"), SourceOptions{}, false),
				"bad namespace": make(podsGVR, SourceOptions{Namespace: ".."}, false),
				"bad labels":    make(podsGVR, SourceOptions{LabelSelector: "a in ("}, false),
				"bad field":     make(podsGVR, SourceOptions{FieldSelector: "metadata.name"}, false),
			} {
				if !errors.Is(err, ErrInvalid) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	if _, err := FromListerWatcher[runtime.Object]((*cache.ListWatch)(nil)); !errors.Is(err, ErrInvalid) {
		t.Errorf("nil lister-watcher: %v", err)
	}
}

func TestAnObjectOfAnotherTypeIsAnItemWithAnError(t *testing.T) {
	client := fake.NewClientset(pod("a", "7"))
	source, err := FromListerWatcher[*corev1.Service](podListWatch(client))
	if err != nil {
		t.Fatal(err)
	}
	var items []Item[*corev1.Service]
	if _, err := source.List(t.Context(), metav1.ListOptions{}, func(it Item[*corev1.Service]) error { items = append(items, it); return nil }); err != nil {
		t.Fatal(err)
	}
	var problem *ObjectError
	if len(items) != 1 || !errors.As(items[0].Err, &problem) || problem.Stage != StageType || items[0].Key != key("a") || items[0].Object != nil {
		t.Errorf("items: %+v", items)
	}
}

func TestTheObjectsOfAListDoNotShareItsMemory(t *testing.T) {
	list := &corev1.PodList{Items: []corev1.Pod{*pod("a", "1"), *pod("b", "2")}}
	source, err := FromListerWatcher[runtime.Object](&cache.ListWatch{ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list, nil }})
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	if _, err := source.List(t.Context(), metav1.ListOptions{}, func(it Item[runtime.Object]) error {
		if it.Object == runtime.Object(&list.Items[i]) || it.Object.(*corev1.Pod).Name != list.Items[i].Name {
			t.Errorf("item %d is the slice's own", i)
		}
		i++
		return nil
	}); err != nil || i != 2 {
		t.Errorf("%d items, %v", i, err)
	}
}

// streamOf opens a stream over a watch of client-go.
func streamOf(t *testing.T, ctx context.Context, w watch.Interface) Stream[*corev1.Pod] {
	t.Helper()
	source, err := FromListerWatcher[*corev1.Pod](&cache.ListWatch{WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return w, nil }})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := source.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

func TestAStreamBatchesWhatIsAtHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch.NewFakeWithChanSize(maxBatch+10, false)
		stream := streamOf(t, t.Context(), w)
		defer stream.Stop()
		for i := range maxBatch + 3 {
			w.Add(pod(fmt.Sprint(i), fmt.Sprint(i+1)))
		}
		w.Modify(pod("0", "900"))
		w.Delete(pod("1", "901"))
		w.Action(watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "902",
			Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}})
		w.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "903"}})
		w.Action("STRANGE", pod("2", "904"))
		refusal := status(410, metav1.StatusReasonExpired).Status()
		w.Error(&refusal)
		first, err := stream.Next()
		if err != nil || len(first) != maxBatch {
			t.Fatalf("%d events, %v", len(first), err)
		}
		rest, err := stream.Next()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range rest {
			got = append(got, fmt.Sprint(e.Type, " ", e.Key.Name, " ", e.Version, " ", e.InitialEventsEnd, " ", e.Err != nil))
		}
		wantLines(t, "events", got, "Added 256 257 false false", "Added 257 258 false false", "Added 258 259 false false",
			"Updated 0 900 false false", "Deleted 1 901 false false", "Bookmark  902 true false", "Added  903 false true", "Updated 2 904 false true")
		for range 2 {
			if events, err := stream.Next(); !apierrors.IsResourceExpired(err) || events != nil {
				t.Errorf("%v, %v", events, err)
			}
		}
	})
}

func TestAStreamEnds(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(w *watch.FakeWatcher, stream Stream[*corev1.Pod], cancel func())
		want error
	}{
		"with the server":      {func(w *watch.FakeWatcher, _ Stream[*corev1.Pod], _ func()) { w.Stop() }, io.EOF},
		"with Stop":            {func(_ *watch.FakeWatcher, s Stream[*corev1.Pod], _ func()) { s.Stop(); s.Stop() }, ErrStopped},
		"with its context":     {func(_ *watch.FakeWatcher, _ Stream[*corev1.Pod], cancel func()) { cancel() }, context.Canceled},
		"with an empty status": {func(w *watch.FakeWatcher, _ Stream[*corev1.Pod], _ func()) { w.Error(nil) }, ErrDecode},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w := watch.NewFakeWithOptions(watch.FakeOptions{ChannelSize: 1})
				stream := streamOf(t, ctx, w)
				defer stream.Stop()
				result := make(chan error)
				go func() { _, err := stream.Next(); result <- err }()
				synctest.Wait()
				test.end(w, stream, cancel)
				if err := <-result; !errors.Is(err, test.want) {
					t.Errorf("Next returned %v, want %v", err, test.want)
				}
				synctest.Wait()
				if stopped := w.IsStopped(); stopped == (name == "with an empty status") {
					t.Errorf("the watch was stopped: %v", stopped)
				}
			})
		})
	}
}

func TestAListerWatcherThatHeedsNoContextIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch.NewFake()
		slow := time.Minute
		source, err := FromListerWatcher[*corev1.Pod](&cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				time.Sleep(slow)
				return &corev1.PodList{}, nil
			},
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { time.Sleep(slow); return w, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_, listErr := source.List(ctx, metav1.ListOptions{}, func(Item[*corev1.Pod]) error { return nil })
		_, watchErr := source.Watch(ctx, metav1.ListOptions{})
		if !slices.Equal([]error{listErr, watchErr}, []error{context.DeadlineExceeded, context.DeadlineExceeded}) || time.Since(began) != time.Second {
			t.Errorf("%v, %v after %v", listErr, watchErr, time.Since(began))
		}
		time.Sleep(2 * slow)
		if !w.IsStopped() {
			t.Error("the watch that came too late goes on")
		}
	})
}
