package workqueue_test

import (
	"errors"
	"fmt"
	"time"

	"heliograph.example/clientgo/workqueue"
)

// A controller that was written for client-go keeps its worker as it is.
func Example() {
	queue := workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Millisecond, time.Minute),
		workqueue.TypedRateLimitingQueueConfig[string]{Name: "pods"},
	)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			key, shutdown := queue.Get()
			if shutdown {
				return
			}
			if err := sync(key, queue.NumRequeues(key)); err != nil {
				fmt.Println("again:", err)
				queue.AddRateLimited(key)
			} else {
				fmt.Println("synced", key)
				queue.Forget(key)
			}
			queue.Done(key)
			if queue.NumRequeues(key) == 0 {
				queue.ShutDown()
			}
		}
	}()
	queue.Add("default/web")
	<-done
	// Output:
	// again: default/web is not there yet
	// synced default/web
}

// sync fails at the first try.
func sync(key string, tries int) error {
	if tries == 0 {
		return errors.New(key + " is not there yet")
	}
	return nil
}
