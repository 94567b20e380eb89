package workqueue

import (
	"context"
	"fmt"
	"runtime"
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

// TestNoAllocationsInSteadyState counts the allocations of a key that comes,
// runs, fails, waits and comes again, with everything on and off.
func TestNoAllocationsInSteadyState(t *testing.T) {
	for kind, opts := range map[string]Options[name]{
		"plain":   {},
		"tenants": {Tenant: func(key name) string { return key.namespace }},
	} {
		q, err := New(opts)
		if err != nil {
			t.Fatal(err)
		}
		keys, i, ctx := names(100), 0, context.Background()
		n := testing.AllocsPerRun(10_000, func() {
			key := keys[i%len(keys)]
			i++
			for _, result := range []Result{{After: time.Hour}, {Err: errFailed}, {}} {
				if q.AddWith(key, AddOptions{Priority: i % 3}) != nil || q.AddAfter(key, time.Second) != nil {
					t.Fatal("not added")
				}
				if got, err := q.Get(ctx); err != nil || got != key || q.Done(key, result) != nil {
					t.Fatal(got, err)
				}
			}
		})
		if n > 0 {
			t.Errorf("%s: %v allocations", kind, n)
		}
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
	q, err := New[int](Options[int]{})
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

// TestAQueueHasNoGoroutineOfItsOwn: not while it is idle, nor while keys are ready,
// delayed, held, or must wait for the pace.
func TestAQueueHasNoGoroutineOfItsOwn(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 100 {
		q := newQueue(t, Options[string]{Rate: 1e-3})
		defer q.Close()
		add(t, q, "a", "b")
		addAfter(t, q, "c", time.Hour)
		if _, err := q.Hold("d", Hold{Reason: "r", Limit: time.Hour}); err != nil {
			t.Fatal(err)
		}
		if key, err := q.Get(t.Context()); key != "a" || err != nil {
			t.Fatal(key, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if key, err := q.Get(ctx); err == nil {
			t.Fatalf("%q came before its time", key)
		}
	}
	// A timer that ends at this moment may have one.
	if n := runtime.NumGoroutine() - before; n >= 100 {
		t.Errorf("%d goroutines for 100 queues", n)
	}
}
