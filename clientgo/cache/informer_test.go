package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	fcache "k8s.io/client-go/tools/cache/testing"
)

func configMap(name string, labels ...string) *corev1.ConfigMap {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	for _, l := range labels {
		metav1.SetMetaDataLabel(&m.ObjectMeta, l, "")
	}
	return m
}

// recorder is a handler that notes what it is told.
type recorder struct {
	mu   sync.Mutex
	seen []string
}

func (r *recorder) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, fmt.Sprintf(format, args...))
}

// take returns what was noted since the last call, in order of the texts.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	slices.Sort(seen)
	return seen
}

func nameOfObject(obj any) string {
	if unknown, ok := obj.(DeletedFinalStateUnknown); ok {
		return "unknown " + unknown.Key + " last " + nameOfObject(unknown.Obj)
	}
	m := obj.(*corev1.ConfigMap)
	return fmt.Sprint(m.Name, len(m.Labels))
}

func (r *recorder) OnAdd(obj any, initial bool) { r.note("add %s %v", nameOfObject(obj), initial) }
func (r *recorder) OnUpdate(old, new any) {
	r.note("update %s %s", nameOfObject(old), nameOfObject(new))
}
func (r *recorder) OnDelete(obj any) { r.note("delete %s", nameOfObject(obj)) }

func (r *recorder) expect(t *testing.T, what string, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := r.take(); !slices.Equal(got, want) {
		t.Errorf("%s: the handler was told %q instead of %q", what, got, want)
	}
}

// listWatchOf reads the config maps of a client.
func listWatchOf(client *fake.Clientset) ListerWatcher {
	return ToListWatcherWithWatchListSemantics(&ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return client.CoreV1().ConfigMaps("").List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return client.CoreV1().ConfigMaps("").Watch(ctx, opts)
		},
	}, client)
}

// sourceOf is a server with some objects.
func sourceOf(t *testing.T, objects ...runtime.Object) *fcache.FakeControllerSource {
	source := fcache.NewFakeControllerSource()
	t.Cleanup(source.Shutdown)
	for _, obj := range objects {
		source.Add(obj)
	}
	return source
}

// run runs an informer until the test ends.
func run(t *testing.T, informer SharedInformer) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	synctest.Wait()
	return stop
}

func add(t *testing.T, informer SharedInformer, h ResourceEventHandler) ResourceEventHandlerRegistration {
	t.Helper()
	reg, err := informer.AddEventHandler(h)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func TestHandlersAreToldAsWithClientGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(configMap("a"))
		maps := client.CoreV1().ConfigMaps("ns")
		informer := NewSharedIndexInformer(listWatchOf(client), &corev1.ConfigMap{}, 0, Indexers{NamespaceIndex: MetaNamespaceIndexFunc})
		early, late := &recorder{}, &recorder{}
		reg := add(t, informer, early)
		if informer.HasSynced() || reg.HasSynced() || informer.LastSyncResourceVersion() != "" {
			t.Error("synced before it was run")
		}
		run(t, informer)
		if !WaitFor(t.Context(), "", informer.HasSyncedChecker(), reg.HasSyncedChecker()) || !informer.GetController().HasSynced() {
			t.Error("not synced")
		}
		early.expect(t, "at first", "add a0 true")
		add(t, informer, late)
		late.expect(t, "who comes late", "add a0 true")

		ctx := t.Context()
		_, e1 := maps.Create(ctx, configMap("b"), metav1.CreateOptions{})
		_, e2 := maps.Update(ctx, configMap("a", "x"), metav1.UpdateOptions{})
		if err := errors.Join(e1, e2, maps.Delete(ctx, "b", metav1.DeleteOptions{})); err != nil {
			t.Fatal(err)
		}
		for _, r := range []*recorder{early, late} {
			r.expect(t, "changes", "add b0 false", "delete b0", "update a0 a1")
		}
		if found, err := informer.GetIndexer().ByIndex(NamespaceIndex, "ns"); err != nil || len(found) != 1 {
			t.Errorf("the index lists %v, %v", found, err)
		}
	})
}

func TestARemovedHandlerIsToldNoMoreAndCanBeWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := sourceOf(t)
		informer, other := NewSharedInformer(source, &corev1.ConfigMap{}, 0), NewSharedInformer(source, &corev1.ConfigMap{}, 0)
		r := &recorder{}
		reg := add(t, informer, r)
		run(t, informer)
		for _, err := range []error{other.RemoveEventHandler(reg), informer.RemoveEventHandler(nil)} {
			if err == nil {
				t.Error("a registration of another was removed")
			}
		}
		for range 2 {
			if err := ShutDownEventHandler(informer, reg); err != nil {
				t.Error(err)
			}
		}
		source.Add(configMap("a"))
		r.expect(t, "after its removal")
	})
}

func TestAnEmptyFakeIsFollowedFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := sourceOf(t)
		informer := NewSharedInformer(source, &corev1.ConfigMap{}, 0)
		r := &recorder{}
		add(t, informer, r)
		run(t, informer)
		source.Add(configMap("a"))
		r.expect(t, "of the first object", "add a0 false")
	})
}

func TestAStoppedInformerTakesNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := NewSharedIndexInformer(sourceOf(t), &corev1.ConfigMap{}, 0, nil)
		if _, err := informer.AddEventHandler(nil); err == nil {
			t.Error("a nil handler was taken")
		}
		stop := run(t, informer)
		if err := errors.Join(informer.SetTransform(nil)); !errors.Is(err, errStarted) {
			t.Errorf("SetTransform: %v", err)
		}
		if err := informer.SetWatchErrorHandler(nil); !errors.Is(err, errStarted) {
			t.Errorf("SetWatchErrorHandler: %v", err)
		}
		informer.RunWithContext(t.Context()) // returns: there is one run
		if informer.IsStopped() {
			t.Error("stopped")
		}
		stop()
		_, handlerErr := informer.AddEventHandler(&recorder{})
		if !informer.IsStopped() || handlerErr == nil || informer.AddIndexers(Indexers{"x": MetaNamespaceIndexFunc}) == nil {
			t.Errorf("after the stop: %v, %v", informer.IsStopped(), handlerErr)
		}
		informer.Run(nil) // returns
	})
}

func TestAResyncComesToThoseWhoAskedAsOftenAsTheyDid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := sourceOf(t, configMap("a"))
		informer := NewSharedInformer(source, &corev1.ConfigMap{}, time.Minute)
		never, often, standard := &recorder{}, &recorder{}, &recorder{}
		run(t, informer)
		for h, period := range map[*recorder]time.Duration{never: 0, often: time.Millisecond, standard: time.Minute} {
			if _, err := informer.AddEventHandlerWithResyncPeriod(h, period); err != nil {
				t.Fatal(err)
			}
			h.expect(t, "at first", "add a0 true")
		}
		time.Sleep(time.Minute + time.Millisecond)
		never.expect(t, "who did not ask")
		standard.expect(t, "each minute", "update a0 a0")
		if n := len(often.take()); n != 60 {
			t.Errorf("each second: %d resyncs in a minute", n)
		}
	})
}

func TestAListThatChangedNothingIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := sourceOf(t, configMap("a"), configMap("b"))
		informer := NewSharedInformer(source, &corev1.ConfigMap{}, 0)
		r := &recorder{}
		add(t, informer, r)
		run(t, informer)
		r.expect(t, "at first", "add a0 true", "add b0 true")
		source.DeleteDropWatch(configMap("b"))
		source.ResetWatch()
		time.Sleep(time.Minute)
		r.expect(t, "after the relist", "delete unknown ns/b last b0")
	})
}

func TestTheWatchErrorHandlerIsToldOfEachFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("not you"))
		})
		informer := NewSharedInformer(listWatchOf(client), &corev1.ConfigMap{}, 0)
		var told int
		if err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *Reflector, err error) {
			if told++; !apierrors.IsForbidden(err) || r.TypeDescription() != "*v1.ConfigMap" || ctx.Err() != nil {
				t.Errorf("told %v of %s", err, r.TypeDescription())
			}
			DefaultWatchErrorHandler(ctx, r, err)
		}); err != nil {
			t.Fatal(err)
		}
		stop := run(t, informer)
		time.Sleep(10 * time.Minute)
		stop()
		native, _ := Native(informer)
		if tries := native.Status().Reader.Tries; told < 2 || told != tries {
			t.Errorf("told %d times of %d failures", told, tries)
		}
	})
}

func TestATransformSeesWhatIsStoredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := sourceOf(t, configMap("a"), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
		informer := NewSharedInformer(source, &corev1.ConfigMap{}, 0)
		calls := 0
		if err := informer.SetTransform(func(obj any) (any, error) {
			calls++
			m := obj.(*corev1.ConfigMap).DeepCopy()
			metav1.SetMetaDataLabel(&m.ObjectMeta, "seen", "")
			return m, nil
		}); err != nil {
			t.Fatal(err)
		}
		r := &recorder{}
		add(t, informer, r)
		run(t, informer)
		r.expect(t, "transformed", "add a1 true")
		if calls != 1 {
			t.Errorf("called %d times", calls)
		}
	})
}

func TestAPanicOfAHandlerGoesToTheCrashHandlers(t *testing.T) {
	reallyCrash, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	defer func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = reallyCrash, handlers }()
	utilruntime.ReallyCrash = false
	crashed := &recorder{}
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, v any) { crashed.note("%v", v) }}
	synctest.Test(t, func(t *testing.T) {
		source := sourceOf(t, configMap("a"), configMap("b"))
		informer := NewSharedInformer(source, &corev1.ConfigMap{}, 0)
		reg := add(t, informer, ResourceEventHandlerFuncs{AddFunc: func(obj any) { panic(nameOfObject(obj)) }})
		run(t, informer)
		if !reg.HasSynced() {
			t.Error("the handler did not go on")
		}
		crashed.expect(t, "the crash handlers", "a0", "b0")
	})
}

func TestAnInformerOfNothingSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		informer := NewSharedIndexInformer(nil, nil, 0, Indexers{"none": nil})
		var told error
		if err := informer.SetWatchErrorHandler(func(_ *Reflector, err error) { told = err }); err != nil {
			t.Fatal(err)
		}
		run(t, informer)
		if told == nil || informer.HasSynced() || len(informer.GetIndexer().GetIndexers()) != 0 {
			t.Errorf("told %v", told)
		}
	})
}
