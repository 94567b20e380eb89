package workqueue

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// name is what a key of a controller looks like.
type name struct {
	namespace, name string
	turn            int64
}

func names(n int) []name {
	keys := make([]name, n)
	for i := range keys {
		keys[i] = name{fmt.Sprintf("namespace-%d", i%100), fmt.Sprintf("a-name-of-usual-length-%d", i), 0}
	}
	return keys
}

func benchQueue(b *testing.B) *Queue[name] {
	q, err := New[name](Options{})
	if err != nil {
		b.Fatal(err)
	}
	return q
}

func BenchmarkAddGetDone(b *testing.B) {
	for _, workers := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("goroutines=%d", workers), func(b *testing.B) {
			keys, q := names(1000), benchQueue(b)
			var ids atomic.Int64
			b.SetParallelism(max(1, workers/runtime.GOMAXPROCS(0)))
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				// No key comes twice: one that came while it runs twice
				// would run once, and somebody would wait for ever.
				turn := ids.Add(1) << 32
				for i := 0; pb.Next(); i++ {
					key := keys[i%len(keys)]
					key.turn = turn + int64(i)
					cycle(b, q, key)
				}
			})
		})
	}
}

// cycle adds a key and works on one: perhaps that of another goroutine, which
// then works on this one.
func cycle(b *testing.B, q *Queue[name], key name) {
	if err := q.Add(key); err != nil {
		b.Error(err)
	}
	key, err := q.Get(context.Background())
	if err != nil {
		b.Error(err)
	}
	if err := q.Done(key, Result{}); err != nil {
		b.Error(err)
	}
}

func BenchmarkFill(b *testing.B) {
	keys := names(100_000)
	b.ReportAllocs()
	for b.Loop() {
		q := benchQueue(b)
		for _, key := range keys {
			if err := q.Add(key); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(keys)), "ns/key")
}

func BenchmarkDuplicateAdd(b *testing.B) {
	keys, q := names(100_000), benchQueue(b)
	for _, key := range keys {
		if err := q.Add(key); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := q.Add(keys[i%len(keys)]); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAddAfterAndFire(b *testing.B) {
	keys := names(100_000)
	b.ReportAllocs()
	for b.Loop() {
		q := benchQueue(b)
		for i, key := range keys {
			if err := q.AddAfter(key, time.Duration(1+i*7919%1000)*time.Microsecond); err != nil {
				b.Fatal(err)
			}
		}
		for range keys {
			if _, err := q.Get(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(keys)), "ns/key")
}

// TestNoAllocationsInSteadyState counts the allocations of a key that comes,
// runs, fails, waits and comes again.
func TestNoAllocationsInSteadyState(t *testing.T) {
	q, err := New[name](Options{})
	if err != nil {
		t.Fatal(err)
	}
	keys, i, ctx := names(100), 0, context.Background()
	n := testing.AllocsPerRun(10_000, func() {
		key := keys[i%len(keys)]
		i++
		for _, result := range []Result{{After: time.Hour}, {Err: errFailed}, {}} {
			if q.Add(key) != nil || q.AddAfter(key, time.Second) != nil {
				t.Fatal("not added")
			}
			if got, err := q.Get(ctx); err != nil || got != key || q.Done(key, result) != nil {
				t.Fatal(got, err)
			}
		}
	})
	if n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestMemoryFollowsTheNumberOfKeys has a flood of keys fail, come back, and go.
func TestMemoryFollowsTheNumberOfKeys(t *testing.T) {
	const flood = 100_000
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	q, err := New[int](Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := heap()
	for key := range flood {
		if err := q.Add(key); err != nil {
			t.Fatal(err)
		}
	}
	run := func(result Result) {
		for range flood {
			key, err := q.Get(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if err := q.Done(key, result); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(Result{Err: errFailed, After: time.Nanosecond})
	if held := heap() - before; held < flood*32 {
		t.Errorf("%d bytes for %d keys: the test measures nothing", held, flood)
	}
	run(Result{})
	if held := heap() - before; held > 1<<20 {
		t.Errorf("%d bytes for no keys", held)
	}
	runtime.KeepAlive(q)
}
