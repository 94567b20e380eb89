package informer_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"heliograph.example/informer"
)

func TestAStoppedFactoryCanBeStartedAgain(t *testing.T) {
	config := serve(t)
	f := newFactory(t, config)
	i, err := informer.For(t.Context(), f, informer.Options[*corev1.ConfigMap]{})
	synced(t, f, i, err)
	f.Stop()
	if s := i.Status(); s.Running || !s.Synced || s.Objects != 3 {
		t.Errorf("after Stop: %+v", s)
	}
	client := kubernetes.NewForConfigOrDie(config)
	if err := client.CoreV1().ConfigMaps("ns-1").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	if _, err := i.Handle(informer.Funcs[*corev1.ConfigMap]{
		Deleted: func(context.Context, *corev1.ConfigMap) { close(gone) },
	}, informer.HandlerOptions[*corev1.ConfigMap]{}); err != nil {
		t.Fatal(err)
	}
	f.Start(t.Context())
	<-gone
}

func TestWaitNamesEachCollectionThatIsNotSynced(t *testing.T) {
	config := serve(t)
	f := newFactory(t, config)
	i, err := informer.For(t.Context(), f, informer.Options[*corev1.ConfigMap]{Scope: informer.Scope{Namespace: "ns-1"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = f.Wait(ctx)
	if err == nil || !strings.Contains(err.Error(), "configmaps in ns-1") || apierrors.IsForbidden(err) {
		t.Errorf("Wait: %v", err)
	}
	var s *informer.SyncError
	if !errors.As(err, &s) || !reflect.DeepEqual(s.Status.Name, i.Name()) {
		t.Errorf("%v is not a SyncError of the informer", err)
	}
}

func TestAnInformerRunsFromTheMomentOfStart(t *testing.T) {
	f := newFactory(t, serve(t))
	i, err := informer.For(t.Context(), f, informer.Options[*corev1.ConfigMap]{})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 { // the fault that it looks for was one of timing
		f.Start(t.Context())
		if !i.Status().Running {
			t.Error("the informer does not run after Start")
		}
		if all := f.Status(); len(all) != 1 || all[0].Name != i.Name() {
			t.Errorf("the factory's status is %v", all)
		}
		reg, err := i.Handle(informer.Funcs[*corev1.ConfigMap]{}, informer.HandlerOptions[*corev1.ConfigMap]{})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		reg.Remove()
		f.Stop()
	}
}

func TestStartAndStopMayOverlap(t *testing.T) {
	f := newFactory(t, serve(t))
	if _, err := informer.For(t.Context(), f, informer.Options[*corev1.ConfigMap]{}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 100 {
				f.Start(t.Context())
			}
		})
		wg.Go(func() {
			for range 100 {
				f.Stop()
			}
		})
	}
	wg.Wait()
}
