package dynamicinformer

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func TestAFactoryReadsUnstructuredObjectsInItsScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiservertest.Start(t, apiserver.Options{})
		server.Load(`
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: one, labels: {l: x}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: one}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: two, labels: {l: x}}}
`)
		f := NewFilteredDynamicSharedInformerFactory(server.Dynamic(), 0, "one", func(o *metav1.ListOptions) { o.LabelSelector = "l=x" })
		maps := f.ForResource(configMaps)
		var added, deleted int
		if _, err := maps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { added++ }, DeleteFunc: func(any) { deleted++ },
		}); err != nil {
			t.Fatal(err)
		}
		if f.ForResource(configMaps).Informer() != maps.Informer() {
			t.Error("a resource has two informers")
		}
		ctx, cancel := context.WithCancel(t.Context())
		f.Start(ctx.Done())
		if synced := f.WaitForCacheSync(ctx.Done()); !synced[configMaps] || len(synced) != 1 {
			t.Errorf("synced are %v", synced)
		}
		if all, err := maps.Lister().ByNamespace("one").List(labels.Everything()); err != nil || len(all) != 1 {
			t.Errorf("the lister listed %v, %v", all, err)
		}
		if err := server.Dynamic().Resource(configMaps).Namespace("one").Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if added != 1 || deleted != 1 {
			t.Errorf("%d objects came and %d went", added, deleted)
		}
		cancel()
		f.Shutdown()
	})
}

func TestWithANilClientNothingIsSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewDynamicSharedInformerFactory(nil, 0)
		f.ForResource(configMaps).Informer()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		f.Start(ctx.Done())
		if synced := f.WaitForCacheSync(ctx.Done()); synced[configMaps] {
			t.Error("it is synced")
		}
		f.Shutdown()
	})
}
