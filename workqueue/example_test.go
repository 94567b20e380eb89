package workqueue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"heliograph.example/workqueue"
)

func Example() {
	queue, err := workqueue.New[string](workqueue.Options{
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
	if err := queue.Drain(context.Background()); err != nil {
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
	// added after the drain: workqueue: closed: new was not added
}
