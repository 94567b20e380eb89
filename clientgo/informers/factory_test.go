package informers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/reflector"
)

const objects = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: one, labels: {l: x}}, data: {k: v}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: one}, data: {k: v}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: two, labels: {l: x}}, data: {k: v}}
---
{apiVersion: v1, kind: Node, metadata: {name: worker}}
`

// onServer runs a test of a factory on a server with objects.
func onServer(t *testing.T, test func(ctx context.Context, server *apiservertest.Server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.Start(t, apiserver.Options{})
		server.Load(objects)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		test(ctx, server)
	})
}

// started starts a factory and waits until it is synced. The function that it returns
// ends it.
func started(t *testing.T, ctx context.Context, f SharedInformerFactory) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	f.StartWithContext(ctx)
	if result := f.WaitForCacheSyncWithContext(ctx); result.Err != nil {
		t.Error(result.Err)
	}
	return func() { cancel(); f.Shutdown() }
}

func TestAFactoryReadsAServerWithOurDecoders(t *testing.T) {
	onServer(t, func(ctx context.Context, server *apiservertest.Server) {
		f := NewSharedInformerFactory(server.Client(), 0)
		maps, nodes := f.Core().V1().ConfigMaps(), f.Core().V1().Nodes()
		maps.Informer()
		nodes.Informer()
		defer started(t, ctx, f)()
		got, err := maps.Lister().ConfigMaps("two").Get("a")
		if err != nil || got.Data["k"] != "v" {
			t.Errorf("the lister returned %v, %v", got, err)
		}
		if all, err := maps.Lister().List(labels.Everything()); err != nil || len(all) != 3 {
			t.Errorf("the lister listed %v, %v", all, err)
		}
		if some, err := maps.Lister().ConfigMaps("one").List(labels.Everything()); err != nil || len(some) != 2 {
			t.Errorf("the lister listed %v, %v", some, err)
		}
		if _, err := nodes.Lister().Get("worker"); err != nil {
			t.Error(err)
		}
		if f.Core().V1().ConfigMaps().Informer() == nil || len(server.Log().Resource("configmaps")) > 2 {
			t.Errorf("configmaps were asked for: %v", server.Log().Resource("configmaps"))
		}
	})
}

func TestTheOptionsOfAFactoryHold(t *testing.T) {
	onServer(t, func(ctx context.Context, server *apiservertest.Server) {
		var updates, resyncs int
		f := NewSharedInformerFactoryWithOptions(server.Client(), time.Minute, nil,
			WithNamespace("one"),
			WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = "l=x" }),
			WithTransform(func(obj any) (any, error) {
				if m, ok := obj.(*corev1.ConfigMap); ok {
					m.Data = nil
				}
				return obj, nil
			}),
			WithCustomResyncConfig(map[metav1.Object]time.Duration{&corev1.Node{}: 0}))
		maps, nodes := f.Core().V1().ConfigMaps(), f.Core().V1().Nodes()
		if _, err := maps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { updates++ }}); err != nil {
			t.Fatal(err)
		}
		if _, err := nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { resyncs++ }}); err != nil {
			t.Fatal(err)
		}
		defer started(t, ctx, f)()
		all, err := maps.Lister().List(labels.Everything())
		if err != nil || len(all) != 1 || all[0].Namespace != "one" || all[0].Data != nil {
			t.Errorf("the lister listed %v, %v", all, err)
		}
		time.Sleep(150 * time.Second) // of virtual time
		synctest.Wait()
		if updates != 2 || resyncs != 0 {
			t.Errorf("there were %d resyncs of what has a period of a minute, and %d of what has none", updates, resyncs)
		}
	})
}

func TestObjectsAreSharedOnlyOnRequest(t *testing.T) {
	onServer(t, func(ctx context.Context, server *apiservertest.Server) {
		for n := range 20 {
			server.Load(fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: p%d, namespace: one, labels: {app: shop, tier: back}}, spec: {containers: [{name: c, image: i}]}}", n))
		}
		config := rest.CopyConfig(server.Config())
		config.ContentType = runtime.ContentTypeProtobuf
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		for want, options := range map[bool][]SharedInformerOption{false: nil, true: {WithShape(reflector.Shape{})}} {
			f := NewSharedInformerFactoryWithOptions(client, 0, options...)
			lister := f.Core().V1().Pods().Lister()
			end := started(t, ctx, f)
			all, err := lister.List(labels.Everything())
			if err != nil || len(all) != 20 {
				t.Fatal(len(all), err)
			}
			all[0].Labels["probe"], all[1].Labels["probe"] = "x", "x" // nobody may, but for a probe
			written := 0
			for _, pod := range all {
				written += len(pod.Labels) - 2
			}
			if shared := written > 2; shared != want {
				t.Errorf("objects share: %v, want %v", shared, want)
			}
			end()
		}
	})
}

func TestAFactoryThatIsNotSyncedSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewSharedInformerFactory(nil, 0)
		f.Core().V1().Pods().Informer()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		f.StartWithContext(ctx)
		result := f.WaitForCacheSyncWithContext(ctx)
		if !errors.Is(result.Err, context.DeadlineExceeded) || !strings.Contains(result.Err.Error(), errNilClient.Error()) {
			t.Errorf("the error is %v", result.Err)
		}
		f.Shutdown()
	})
}

func TestNothingStartsAfterShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewSharedInformerFactory(nil, 0)
		informer := f.Core().V1().Pods().Informer()
		f.Shutdown()
		f.Start(t.Context().Done())
		if synced := f.WaitForCacheSync(t.Context().Done()); len(synced) != 0 {
			t.Errorf("it waited for %v", synced)
		}
		if informer.IsStopped() {
			t.Error("it has run")
		}
	})
}

func TestAnInformerOfTheCallersIsTakenAsItIs(t *testing.T) {
	onServer(t, func(ctx context.Context, server *apiservertest.Server) {
		f := NewSharedInformerFactory(server.Client(), 0)
		elsewhere := core.New(f, "two", nil).V1().ConfigMaps() // not what the factory would take
		elsewhere.Informer()
		defer started(t, ctx, f)()
		if all, err := f.Core().V1().ConfigMaps().Lister().List(labels.Everything()); err != nil || len(all) != 1 || all[0].Namespace != "two" {
			t.Errorf("it listed %v, %v", all, err)
		}
	})
}

// wrapped is a clientset whose group core is the program's own.
type wrapped struct {
	kubernetes.Interface
	asked *int
}

func (w wrapped) CoreV1() typedcorev1.CoreV1Interface {
	*w.asked++
	return struct{ typedcorev1.CoreV1Interface }{w.Interface.CoreV1()}
}

func TestAClientsetThatIsWrappedIsCalled(t *testing.T) {
	onServer(t, func(ctx context.Context, server *apiservertest.Server) {
		asked := 0
		f := NewSharedInformerFactory(wrapped{server.Client(), &asked}, 0)
		f.Core().V1().ConfigMaps().Informer()
		before := asked
		defer started(t, ctx, f)()
		if all, err := f.Core().V1().ConfigMaps().Lister().List(labels.Everything()); err != nil || len(all) != 3 || asked == before {
			t.Errorf("it listed %v, %v, and asked the clientset %d times", all, err, asked-before)
		}
	})
}
