package cache

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// control runs a controller until the test ends.
func control(t *testing.T, c Controller) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.RunWithContext(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	synctest.Wait()
}

func TestAnInformerOfOneHandlerFillsItsStoreAndTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := sourceOf(t, configMap("a"))
		r := &recorder{}
		store, c := NewTransformingIndexerInformer(source, &corev1.ConfigMap{}, time.Minute, r, Indexers{NamespaceIndex: MetaNamespaceIndexFunc}, func(obj any) (any, error) {
			m := obj.(*corev1.ConfigMap).DeepCopy()
			metav1.SetMetaDataLabel(&m.ObjectMeta, "seen", "")
			return m, nil
		})
		if c.HasSynced() {
			t.Error("synced before it was run")
		}
		control(t, c)
		r.expect(t, "at first", "add a1 true")
		if found, err := store.ByIndex(NamespaceIndex, "ns"); err != nil || len(found) != 1 || !c.HasSynced() || !IsDone(c.HasSyncedChecker()) {
			t.Errorf("the index lists %v, %v", found, err)
		}
		time.Sleep(time.Minute)
		r.expect(t, "the resync", "update a1 a1")
		source.Delete(configMap("a"))
		r.expect(t, "the delete", "delete a1")
		if len(store.List()) != 0 || c.LastSyncResourceVersion() == "" {
			t.Errorf("the store has %v at %q", store.List(), c.LastSyncResourceVersion())
		}
	})
}

func TestAnInformerWithoutAHandlerFillsItsStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, c := NewInformerWithOptions(InformerOptions{ListerWatcher: sourceOf(t, configMap("a")), ObjectType: &corev1.ConfigMap{}})
		control(t, c)
		if !c.HasSynced() || len(store.ListKeys()) != 1 {
			t.Errorf("the store has %v", store.ListKeys())
		}
	})
}

func TestAControllerProcessesWhatIsQueuedAndTellsWhatFails(t *testing.T) {
	handlers := utilruntime.ErrorHandlers
	defer func() { utilruntime.ErrorHandlers = handlers }()
	failed := errors.New("failed")
	told := &recorder{}
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(_ context.Context, err error, _ string, _ ...any) {
		told.note("%v", err)
	}}
	synctest.Test(t, func(t *testing.T) {
		queue := NewDeltaFIFO(MetaNamespaceKeyFunc, nil)
		c := New(&Config{
			Queue: queue, ListerWatcher: sourceOf(t, configMap("a"), configMap("b")), ObjectType: &corev1.ConfigMap{},
			Process: func(obj any, initial bool) error {
				if d := obj.(Deltas).Newest(); !initial || d.Object.(*corev1.ConfigMap).Name == "b" {
					return failed
				}
				return nil
			},
		})
		control(t, c)
		told.expect(t, "the error handlers", "failed")
		if !c.HasSynced() || c.LastSyncResourceVersion() != "2" {
			t.Errorf("synced is %v, at %q", c.HasSynced(), c.LastSyncResourceVersion())
		}
	})
}
