package informer

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"heliograph.example/deltafifo"
)

// BenchmarkDelivery measures an update on its way from the loop through the store
// to the last handler, in batches of 1 and of 64. One op is one update.
func BenchmarkDelivery(b *testing.B) {
	for _, size := range []int{1, 64} {
		for _, handlers := range []int{1, 5, 20} {
			b.Run(fmt.Sprintf("batch=%d/handlers=%d", size, handlers), func(b *testing.B) { benchmarkDelivery(b, size, handlers) })
		}
	}
}

func benchmarkDelivery(b *testing.B, size, handlers int) {
	const objects = 1024
	i, err := New(newWorld(), Options[*corev1.ConfigMap]{Name: "configmaps"})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer i.processor.stop()
	defer cancel()
	var told atomic.Int64
	for range handlers {
		if _, err := i.Handle(HandlerFunc[*corev1.ConfigMap](func(context.Context, Change[*corev1.ConfigMap]) { told.Add(1) }), HandlerOptions[*corev1.ConfigMap]{}); err != nil {
			b.Fatal(err)
		}
	}
	i.processor.start(ctx)
	first := replaced(1)
	for n := range objects {
		d := change(deltafifo.Added, "u", 1)
		d.Key = key(strconv.Itoa(n))
		first.Items = append(first.Items, d)
	}
	i.apply([]delta{first})
	batches := make([][]delta, 0, b.N/size+1)
	for n := 0; n < b.N; n += size {
		batch := make([]delta, 0, size)
		for k := n; k < min(b.N, n+size); k++ {
			old := &first.Items[k%objects]
			batch = append(batch, delta{Type: deltafifo.Updated, Key: old.Key, UID: old.UID, Version: strconv.Itoa(k + 2), Object: old.Object})
		}
		batches = append(batches, batch)
	}
	await := func(n int) {
		for told.Load() < int64(n*handlers) {
			time.Sleep(10 * time.Microsecond)
		}
	}
	await(objects)
	b.ReportAllocs()
	b.ResetTimer()
	for n, batch := range batches {
		i.apply(batch)
		// The loop stays within the handlers' budget, so that nothing is folded.
		if done := n * size; done%2048 == 0 {
			await(objects + done)
		}
	}
	await(objects + b.N)
}
