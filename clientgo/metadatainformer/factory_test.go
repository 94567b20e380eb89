package metadatainformer

import (
	"context"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
)

func TestAFactoryReadsTheMetadataOfObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.Start(t, apiserver.Options{})
		server.Load(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: one, labels: {l: x}}, data: {k: v}}`)
		client, err := metadata.NewForConfig(server.Config())
		if err != nil {
			t.Fatal(err)
		}
		f := NewSharedInformerFactoryWithOptions(client, 0, nil, WithTransform(func(obj any) (any, error) {
			obj.(*metav1.PartialObjectMetadata).Annotations = map[string]string{"seen": "yes"}
			return obj, nil
		}))
		configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
		maps := f.ForResource(configMaps)
		ctx, cancel := context.WithCancel(t.Context())
		f.Start(ctx.Done())
		if synced := f.WaitForCacheSync(ctx.Done()); !synced[configMaps] {
			t.Errorf("synced are %v", synced)
		}
		got, err := maps.Lister().ByNamespace("one").Get("a")
		if err != nil {
			t.Fatal(err)
		}
		if m := got.(*metav1.PartialObjectMetadata); m.Labels["l"] != "x" || m.Annotations["seen"] != "yes" {
			t.Errorf("it read %v", m)
		}
		cancel()
		f.Shutdown()
	})
}
