package deltafifo

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func updates(n, keys int) []Delta[*int] {
	deltas := make([]Delta[*int], n)
	for i := range deltas {
		deltas[i] = Delta[*int]{
			Type:    Updated,
			Key:     types.NamespacedName{Namespace: "default", Name: fmt.Sprint("pod-", i%keys)},
			UID:     "a-uid",
			Version: fmt.Sprint(i),
			Object:  new(int),
		}
	}
	return deltas
}

// BenchmarkPushPop is a consumer that keeps up. An operation is one delta.
func BenchmarkPushPop(b *testing.B) {
	for _, size := range []int{1, 64, 1024} {
		b.Run(fmt.Sprint("batch ", size), func(b *testing.B) {
			q, err := New[*int](Options{})
			if err != nil {
				b.Fatal(err)
			}
			deltas := updates(size, size)
			ctx := b.Context()
			b.ReportAllocs()
			for n := 0; n < b.N; n += size {
				if err := q.Push(deltas); err != nil {
					b.Fatal(err)
				}
				if _, err := q.Pop(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBehind is a consumer that is always some thousand deltas behind,
// within the budget.
func BenchmarkBehind(b *testing.B) {
	q, err := New[*int](Options{BatchSize: 64})
	if err != nil {
		b.Fatal(err)
	}
	if err := q.Push(updates(3000, 3000)); err != nil {
		b.Fatal(err)
	}
	deltas := updates(64, 64)
	b.ReportAllocs()
	for n := 0; n < b.N; n += 64 {
		if err := q.Push(deltas); err != nil {
			b.Fatal(err)
		}
		if _, err := q.Pop(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBlocked is a consumer that has stopped: every delta is compacted.
func BenchmarkBlocked(b *testing.B) {
	for _, keys := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(keys, " keys"), func(b *testing.B) {
			q, err := New[*int](Options{})
			if err != nil {
				b.Fatal(err)
			}
			deltas := updates(keys/64*64, keys)
			b.ReportAllocs()
			for n := 0; n < b.N; n += 64 {
				at := n % len(deltas)
				if err := q.Push(deltas[at : at+64]); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(q.Stats().HighWater), "high-water")
		})
	}
}
