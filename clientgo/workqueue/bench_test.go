package workqueue

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"

	ours "heliograph.example/workqueue"
)

// BenchmarkTheWayOfAnItem is the way of one of 1000 items, with one worker: added,
// handed out, done; and, as "retry", added by the limiter and forgotten. Beside
// client-go's queue and ours there is that of package workqueue.
func BenchmarkTheWayOfAnItem(b *testing.B) {
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprintf("namespace-%d/name-%d", i%10, i)
	}
	limiter := func() TypedRateLimiter[string] {
		return NewTypedItemExponentialFailureRateLimiter[string](0, time.Second)
	}
	for name, q := range map[string]TypedRateLimitingInterface[string]{
		"heliograph": NewTypedRateLimitingQueue(limiter()),
		"client-go":  workqueue.NewTypedRateLimitingQueue(limiter()),
		"heliograph with metrics": NewTypedRateLimitingQueueWithConfig(limiter(),
			TypedRateLimitingQueueConfig[string]{Name: "test", MetricsProvider: &counted{}}),
		"client-go with metrics": workqueue.NewTypedRateLimitingQueueWithConfig(limiter(),
			TypedRateLimitingQueueConfig[string]{Name: "test", MetricsProvider: &counted{}}),
	} {
		defer q.ShutDown()
		b.Run("add/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				q.Add(keys[i%len(keys)])
				item, _ := q.Get()
				q.Done(item)
			}
		})
		b.Run("retry/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for i := range b.N {
				q.AddRateLimited(keys[i%len(keys)])
				item, _ := q.Get()
				q.Forget(item)
				q.Done(item)
			}
		})
	}
	q, err := ours.New(ours.Options[string]{})
	if err != nil {
		b.Fatal(err)
	}
	defer q.Close()
	b.Run("add/package workqueue", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			if err := q.Add(keys[i%len(keys)]); err != nil {
				b.Fatal(err)
			}
			key, err := q.Get(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if err := q.Done(key, ours.Result{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
