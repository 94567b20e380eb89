package watch

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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	"k8s.io/klog/v2"
)

func pod(name, label string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"l": label}}}
}

// onSource runs a test of an informer over a fake source.
func onSource(t *testing.T, test func(ctx context.Context, source *cachetesting.FakeControllerSource)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		source := cachetesting.NewFakeControllerSource()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		test(ctx, source)
		source.Shutdown()
	})
}

func TestAnInformerWatcherGivesWhatThereIsAndEachChange(t *testing.T) {
	onSource(t, func(_ context.Context, source *cachetesting.FakeControllerSource) {
		source.Add(pod("a", "1"))
		indexer, controller, w, done := NewIndexerInformerWatcherWithLogger(klog.Background(), source, &corev1.Pod{})
		<-controller.HasSyncedChecker().Done()
		expect(t, w, "ADDED a 1")
		source.Modify(pod("a", "2"))
		expect(t, w, "MODIFIED a 2")
		source.Add(pod("b", "1"))
		expect(t, w, "ADDED b 1")
		source.Delete(pod("a", "2"))
		expect(t, w, "DELETED a 2")
		if keys := indexer.ListKeys(); len(keys) != 1 || keys[0] != "ns/b" {
			t.Errorf("the store has %v", keys)
		}
		w.Stop()
		<-done
	})
}

func expect(t *testing.T, w watch.Interface, want string) {
	t.Helper()
	e := <-w.ResultChan()
	object := e.Object.(*corev1.Pod)
	if got := fmt.Sprintf("%s %s %s", e.Type, object.Name, object.Labels["l"]); got != want {
		t.Errorf("it gave %s, want %s", got, want)
	}
}

func TestAnInformerWatcherThatNobodyReadsHoldsOneChangeOfEachObject(t *testing.T) {
	onSource(t, func(_ context.Context, source *cachetesting.FakeControllerSource) {
		_, controller, w, done := NewIndexerInformerWatcherWithLogger(klog.Background(), source, &corev1.Pod{})
		<-controller.HasSyncedChecker().Done()
		source.Add(pod("a", "0"))
		const changes = 20_000
		for n := range changes {
			source.Modify(pod("a", fmt.Sprint(n)))
			if n%50 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		events, last := 0, ""
		for last != fmt.Sprint(changes-1) {
			last = (<-w.ResultChan()).Object.(*corev1.Pod).Labels["l"]
			events++
		}
		if events > changes/2 {
			t.Errorf("it held %d of %d changes", events, changes)
		}
		w.Stop()
		<-done
	})
}

func TestAnInformerWatcherEndsWhileNobodyReads(t *testing.T) {
	onSource(t, func(_ context.Context, source *cachetesting.FakeControllerSource) {
		source.Add(pod("a", "0"))
		_, _, w, done := NewIndexerInformerWatcher(source, &corev1.Pod{})
		synctest.Wait()
		w.Stop()
		<-done
	})
}

func TestUntilWithSyncAsksThePreconditionOnceTheStoreIsSynced(t *testing.T) {
	onSource(t, func(ctx context.Context, source *cachetesting.FakeControllerSource) {
		source.Add(pod("a", "0"))
		refusal := errors.New("no")
		for _, want := range []error{nil, refusal} {
			e, err := UntilWithSync(ctx, source, &corev1.Pod{}, func(store cache.Store) (bool, error) {
				_, exists, _ := store.GetByKey("ns/a")
				return exists, want
			}, isNamed("nobody"))
			if e != nil || !errors.Is(err, want) {
				t.Errorf("it returned %v and %v, want %v", e, err, want)
			}
		}
		e, err := UntilWithSync(ctx, source, &corev1.Pod{}, func(cache.Store) (bool, error) { return false, nil }, isNamed("a"))
		if err != nil || e.Type != watch.Added {
			t.Errorf("it returned %v and %v", e, err)
		}
	})
}

func TestUntilWithSyncSaysWhyItIsNotSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		lw := &cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return nil, errors.New("no route to host")
			},
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return nil, errors.New("no route to host")
			},
		}
		_, err := UntilWithSync(ctx, lw, &corev1.Pod{}, func(cache.Store) (bool, error) { return true, nil })
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no route to host") {
			t.Errorf("the error is %v", err)
		}
		if _, err := UntilWithSync(ctx, lw, &corev1.Pod{}, nil, nil); !errors.Is(err, errNilCondition) {
			t.Errorf("the error is %v", err)
		}
	})
}
