package workqueue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/workqueue"
)

func Example() {
	queue, err := workqueue.New(workqueue.Options[string]{
		Backoff: workqueue.Backoff{Base: time.Millisecond, Max: time.Second},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	// However often a key is added before a worker takes it, it is worked on
	// once.
	for range 3 {
		if err := queue.Add("flaky"); err != nil {
			fmt.Println(err)
		}
	}
	var worker sync.WaitGroup
	finished := make(chan bool)
	worker.Go(func() {
		tries := map[string]int{}
		for {
			key, err := queue.Get(context.Background())
			if err != nil {
				fmt.Println("the worker ends:", errors.Is(err, workqueue.ErrClosed))
				return
			}
			tries[key]++
			var result workqueue.Result
			if key == "flaky" && tries[key] < 3 {
				result.Err = errors.New("not yet")
			}
			fmt.Println(key, "ok:", result.Err == nil)
			if err := queue.Done(key, result); err != nil {
				fmt.Println(err)
			}
			if key == "flaky" && result.Err == nil {
				close(finished)
			}
		}
	})
	<-finished
	if err := queue.AddAfter("late", time.Hour); err != nil {
		fmt.Println(err)
	}
	// A drain does not wait for an hour: it makes delayed keys ready.
	if err := queue.Drain(context.Background(), workqueue.RunDelayed); err != nil {
		fmt.Println(err)
	}
	worker.Wait()
	fmt.Println("added after the drain:", queue.Add("new"))
	// Output:
	// flaky ok: false
	// flaky ok: false
	// flaky ok: true
	// late ok: true
	// the worker ends: true
	// added after the drain: workqueue: closed: not added: new
}

// Keys of low priority come after all others that are waiting.
func ExampleQueue_AddWith() {
	queue, err := workqueue.New(workqueue.Options[string]{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range []string{"a", "b", "c"} {
		if err := queue.AddWith(key, workqueue.AddOptions{Priority: workqueue.Low}); err != nil {
			fmt.Println(err)
		}
	}
	// Somebody has changed c: an add with a higher priority raises it.
	if err := queue.Add("c"); err != nil {
		fmt.Println(err)
	}
	keys, err := queue.GetBatch(context.Background(), 10)
	fmt.Println(keys, err)
	// Output: [c a b] <nil>
}

// Two namespaces take turns, whatever the number of their objects.
func ExampleNamespace() {
	queue, err := workqueue.New(workqueue.Options[types.NamespacedName]{Tenant: workqueue.Namespace})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range []types.NamespacedName{
		{Namespace: "large", Name: "1"}, {Namespace: "large", Name: "2"}, {Namespace: "large", Name: "3"},
		{Namespace: "small", Name: "1"},
	} {
		if err := queue.Add(key); err != nil {
			fmt.Println(err)
		}
	}
	keys, err := queue.GetBatch(context.Background(), 10)
	fmt.Println(keys, err)
	// Output: [large/1 small/1 large/2 large/3] <nil>
}

// A worker that has written something holds its key until the write can be seen.
func ExampleQueue_Hold() {
	queue, err := workqueue.New(workqueue.Options[string]{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range []string{"a", "b"} {
		if err := queue.Add(key); err != nil {
			fmt.Println(err)
		}
	}
	key, err := queue.Get(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	release, err := queue.Hold(key, workqueue.Hold{Reason: "child at version 42", Limit: time.Minute})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The work asks for another run at once, which has to wait.
	if err := queue.Done(key, workqueue.Result{After: -1}); err != nil {
		fmt.Println(err)
	}
	if r, ok := queue.Why(key); ok {
		fmt.Println(key, "is", r.Place, "for", r.Holds[0].Reason)
	}
	other, err := queue.Get(context.Background())
	fmt.Println("meanwhile:", other, err)
	release()
	key, err = queue.Get(context.Background())
	fmt.Println("and then:", key, err)
	// Output:
	// a is held for child at version 42
	// meanwhile: b <nil>
	// and then: a <nil>
}
