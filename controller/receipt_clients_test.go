package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/apiserver/fault"
	"heliograph.example/informer"
)

// TestReceiptsAreTakenOfEveryClient writes with each of client-go's, while the watch
// is half a second late.
func TestReceiptsAreTakenOfEveryClient(t *testing.T) {
	maps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	labels := []byte(`{"metadata":{"labels":{"a":"b"}}}`)
	type configMaps = *informer.Informer[*corev1.ConfigMap]
	for name, write := range map[string]func(ctx context.Context, s *apiservertest.Server, inf configMaps) error{
		"typed, to create": func(ctx context.Context, s *apiservertest.Server, inf configMaps) error {
			return second(Write(ctx, inf, func() (*corev1.ConfigMap, error) {
				m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "made-up-"}}
				return s.Client().CoreV1().ConfigMaps("default").Create(ctx, m, metav1.CreateOptions{})
			}))
		},
		"typed, to update": func(ctx context.Context, s *apiservertest.Server, inf configMaps) error {
			there, _ := inf.Store().Get(key("there"))
			return second(WriteOver(ctx, inf, there, func() (*corev1.ConfigMap, error) {
				m := there.DeepCopy()
				m.Data = map[string]string{"a": "b"}
				return s.Client().CoreV1().ConfigMaps("default").Update(ctx, m, metav1.UpdateOptions{})
			}))
		},
		"dynamic, to create": func(ctx context.Context, s *apiservertest.Server, inf configMaps) error {
			return second(Write(ctx, inf, func() (*unstructured.Unstructured, error) {
				m := &unstructured.Unstructured{}
				m.SetAPIVersion("v1")
				m.SetKind("ConfigMap")
				m.SetGenerateName("made-up-")
				return s.Dynamic().Resource(maps).Namespace("default").Create(ctx, m, metav1.CreateOptions{})
			}))
		},
		"dynamic, to delete": func(ctx context.Context, s *apiservertest.Server, inf configMaps) error {
			there, _ := inf.Store().Get(key("there"))
			return Delete(ctx, inf, there, func() error {
				return s.Dynamic().Resource(maps).Namespace("default").Delete(ctx, "there", metav1.DeleteOptions{})
			})
		},
		"metadata only, to patch": func(ctx context.Context, s *apiservertest.Server, inf configMaps) error {
			client, err := metadata.NewForConfig(s.Config())
			if err != nil {
				return err
			}
			return second(Write(ctx, inf, func() (*metav1.PartialObjectMetadata, error) {
				return client.Resource(maps).Namespace("default").Patch(ctx, "there", types.MergePatchType, labels, metav1.PatchOptions{})
			}))
		},
	} {
		bubble(t, name, func(t *testing.T) {
			server := apiservertest.Start(t, apiserver.Options{})
			there := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "there"}}
			if _, err := server.Client().CoreV1().ConfigMaps("default").Create(t.Context(), there, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			server.Break(fault.Fault{Resource: schema.GroupResource{Resource: "configmaps"}, Verb: "watch", Pause: slowness, Times: 1000})
			inf := informerOf(t, server)
			var r recorder
			var runs []time.Time
			c := newController(t, func(ctx context.Context, _ types.NamespacedName) (Result, error) {
				if runs = append(runs, time.Now()); len(runs) == 1 {
					return Result{RequeueAfter: -1}, write(ctx, server, inf)
				}
				return Result{}, nil
			}, Options{OnError: r.onError})
			stop := run(t, c)
			add(t, c, "a")
			time.Sleep(time.Minute)
			synctest.Wait()
			if len(runs) != 2 || runs[1].Sub(runs[0]) != slowness || len(r.all()) > 0 {
				t.Errorf("reconciled at %v, told %v", runs, r.all())
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// informerOf runs an informer of the ConfigMaps of a server until the test ends.
func informerOf(t *testing.T, server *apiservertest.Server) *informer.Informer[*corev1.ConfigMap] {
	t.Helper()
	factory, err := informer.NewFactory(server.Config(), informer.FactoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inf, err := informer.For(t.Context(), factory, informer.Options[*corev1.ConfigMap]{})
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context())
	t.Cleanup(factory.Stop)
	if err := inf.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return inf
}
