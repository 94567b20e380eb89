package e2e

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"heliograph.example/e2e/recorder"
)

// witness notes the present state of a kind and then all that happens to it, as
// a stock client sees it, until the test ends.
func witness(t *testing.T, c *kubernetes.Clientset, namespace string, k kind) *recorder.History {
	t.Helper()
	history := &recorder.History{}
	list, err := request(c, namespace, k, metav1.ListOptions{}).Do(t.Context()).Get()
	if err != nil {
		t.Fatal(err)
	}
	err = meta.EachListItem(list, func(o runtime.Object) error { return note(history, o, false) })
	if err != nil {
		t.Fatal(err)
	}
	from, err := meta.ListAccessor(list)
	if err != nil {
		t.Fatal(err)
	}
	// The test's own context ends before its cleanup; the stream must not.
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	// The server ends the watch of a client that it finds too slow, and a
	// witness must not miss anything: client-go's retry watcher resumes.
	w, err := watchtools.NewRetryWatcherWithContext(ctx, from.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.Watch = true
			return request(c, namespace, k, options).Watch(ctx)
		},
	})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range w.ResultChan() {
			if ctx.Err() != nil {
				return // what the stream says of its own end is no matter
			}
			if e.Type == watch.Error {
				t.Errorf("the witness of %s is gone: %v", k.plural, e.Object)
				return
			}
			if err := note(history, e.Object, e.Type == watch.Deleted); err != nil {
				t.Error(err)
			}
		}
	}()
	t.Cleanup(func() {
		cancel() // which stops the retry watcher too
		<-done
	})
	return history
}

func request(c *kubernetes.Clientset, namespace string, k kind, options metav1.ListOptions) *rest.Request {
	return c.CoreV1().RESTClient().Get().Namespace(namespace).Resource(k.plural).VersionedParams(&options, scheme.ParameterCodec)
}

func note(history *recorder.History, o runtime.Object, deleted bool) error {
	m, err := meta.Accessor(o)
	if err != nil {
		return err
	}
	key := types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}
	history.Note(key, recorder.State{UID: m.GetUID(), Version: m.GetResourceVersion()}, deleted)
	return nil
}
