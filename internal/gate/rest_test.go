package gate

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/indexer"
	"heliograph.example/informer"
	"heliograph.example/workqueue"
)

// entries is how many keys and objects stores and queues hold.
const entries = 20000

// measureStore looks at what a stored object costs beside itself.
func measureStore(t *testing.T, out figures) {
	byOwner := indexer.Index[*corev1.Pod]{Values: func(p *corev1.Pod, values []string) ([]string, error) {
		return append(values, p.Labels["owner"]), nil
	}}
	byName := indexer.Index[*corev1.Pod]{Values: func(p *corev1.Pod, values []string) ([]string, error) {
		return append(values, p.Name), nil
	}}
	pods := make([]*corev1.Pod, entries)
	for n := range pods {
		pods[n] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%d", n%50), Name: fmt.Sprintf("pod-%d", n), Labels: map[string]string{"owner": fmt.Sprint(n / 10)}}}
	}
	none := storeBytes(t, pods, nil)
	shared := storeBytes(t, pods, indexer.Indexes[*corev1.Pod]{"owner": byOwner})
	unique := storeBytes(t, pods, indexer.Indexes[*corev1.Pod]{"name": byName})
	out["bytes of an entry in a store without indexes"] = none
	out["bytes of an entry in an index, ten to a value"] = shared - none
	out["bytes of an entry in an index, one to a value"] = unique - none
}

func storeBytes(t *testing.T, pods []*corev1.Pod, indexes indexer.Indexes[*corev1.Pod]) float64 {
	t.Helper()
	before := liveHeap()
	s, err := indexer.New(indexes)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(pods); at += 100 {
		s.Update(func(tx indexer.Tx[*corev1.Pod]) {
			for _, p := range pods[at : at+100] {
				if err := tx.Put(indexer.Entry[*corev1.Pod]{Key: keyOf(p), UID: "uid", Version: "1", Object: p}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	held := liveHeap() - before
	runtime.KeepAlive(s)
	return held / float64(len(pods))
}

// measureQueue looks at what a key costs.
func measureQueue(t *testing.T, out figures) {
	keys := make([]types.NamespacedName, entries)
	for n := range keys {
		keys[n] = types.NamespacedName{Namespace: "team", Name: fmt.Sprint(n)}
	}
	measure := func(what string, add func(q *workqueue.Queue[types.NamespacedName], key types.NamespacedName, n int) error) {
		before := liveHeap()
		q, err := workqueue.New[types.NamespacedName](workqueue.Options[types.NamespacedName]{})
		if err != nil {
			t.Fatal(err)
		}
		for n, key := range keys {
			if err := add(q, key, n); err != nil {
				t.Fatal(err)
			}
		}
		out[what] = (liveHeap() - before) / entries
		q.Close()
	}
	measure("bytes of a key that is ready", func(q *workqueue.Queue[types.NamespacedName], key types.NamespacedName, _ int) error {
		return q.Add(key)
	})
	measure("bytes of a key that is delayed", func(q *workqueue.Queue[types.NamespacedName], key types.NamespacedName, n int) error {
		return q.AddAfter(key, time.Hour+time.Duration(n*7919%entries)*time.Second)
	})
	q, err := workqueue.New[types.NamespacedName](workqueue.Options[types.NamespacedName]{})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	round := func(n int) {
		if err := q.Add(keys[n%1000]); err != nil {
			t.Fatal(err)
		}
		key, err := q.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := q.Done(key, workqueue.Result{}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range entries {
		round(n)
	}
	begin, _ := allocated()
	for n := range entries {
		round(n)
	}
	end, _ := allocated()
	out["allocations of Add, Get and Done"] = (end - begin) / entries
}

// idle is how many informers lie idle.
const idle = 300

// measureIdle looks at what an informer and a handler cost that have nothing to
// do.
func measureIdle(t *testing.T, out figures) {
	s := newServer(t, protobufMedia, 0)
	factory, err := informer.NewFactory(s.config(), informer.FactoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer factory.Stop()
	goroutines, bytes := atRest(t)
	informers := make([]*informer.Informer[*corev1.Pod], idle)
	for n := range informers {
		if informers[n], err = informer.For(t.Context(), factory, informer.Options[*corev1.Pod]{Scope: informer.Scope{Namespace: fmt.Sprintf("team-%d", n)}}); err != nil {
			t.Fatal(err)
		}
	}
	factory.Start(t.Context())
	if err := factory.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	running, runningBytes := atRest(t)
	for _, i := range informers {
		h := informer.HandlerFunc[*corev1.Pod](func(context.Context, informer.Change[*corev1.Pod]) {})
		if _, err := i.Handle(h, informer.HandlerOptions[*corev1.Pod]{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := factory.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	followed, followedBytes := atRest(t)
	out["goroutines of an idle informer"] = (running - goroutines) / idle
	out["goroutines of an idle handler"] = (followed - running) / idle
	out["bytes of an idle informer, without stacks"] = (runningBytes - bytes) / idle
	out["bytes of an idle handler, without stacks"] = (followedBytes - runningBytes) / idle
}

// atRest waits until no goroutine comes or goes, and returns their number and the
// bytes of the heap. Stacks are left out: how large they are differs from run to
// run.
func atRest(t *testing.T) (goroutines, bytes float64) {
	t.Helper()
	const settled = 20
	for n, same := -1, 0; same < settled; same++ {
		if now := runtime.NumGoroutine(); now != n {
			n, same = now, 0
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
	bytes = liveHeap()
	return float64(runtime.NumGoroutine()), bytes
}
