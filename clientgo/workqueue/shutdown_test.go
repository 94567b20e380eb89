package workqueue

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// eachKind runs a test on a queue of each kind, in a bubble.
func eachKind(t *testing.T, name string, f func(t *testing.T, q TypedInterface[string])) {
	t.Helper()
	for kind, make := range map[string]func() TypedInterface[string]{
		"plain":           func() TypedInterface[string] { return NewTyped[string]() },
		"with storage":    func() TypedInterface[string] { return NewTypedWithConfig(TypedQueueConfig[string]{Queue: &stack{}}) },
		"delaying":        func() TypedInterface[string] { return NewTypedDelayingQueue[string]() },
		"delaying, above": func() TypedInterface[string] { return above() },
		"rate limiting": func() TypedInterface[string] {
			return NewTypedRateLimitingQueue(DefaultTypedItemBasedRateLimiter[string]())
		},
	} {
		t.Run(kind+" "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := make()
				defer q.ShutDown()
				f(t, q)
			})
		})
	}
}

// above is a delaying queue over one of the caller's that has a delay to wait for.
func above() TypedDelayingInterface[string] {
	q := NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[string]{Queue: NewTyped[string]()})
	q.AddAfter("far away", time.Hour)
	return q
}

// async runs f, and returns a channel that is closed when it has returned.
func async(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	synctest.Wait()
	return done
}

func returned(t *testing.T, want bool, what ...<-chan struct{}) {
	t.Helper()
	synctest.Wait()
	for i, ch := range what {
		select {
		case <-ch:
			if !want {
				t.Errorf("call %d has returned", i)
			}
		default:
			if want {
				t.Errorf("call %d has not returned", i)
			}
		}
	}
}

// getNow takes an item without waiting, after the queue was shut down.
func getNow(t *testing.T, q TypedInterface[string], want string, end bool) {
	t.Helper()
	if got, shutdown := q.Get(); got != want || shutdown != end {
		t.Errorf("Get: %q, %v, want %q, %v", got, shutdown, want, end)
	}
}

func TestAShutDown(t *testing.T) {
	eachKind(t, "ends every Get that waits", func(t *testing.T, q TypedInterface[string]) {
		get := func() { getNow(t, q, "", true) }
		first, second := async(get), async(get)
		returned(t, false, first, second)
		q.ShutDown()
		returned(t, true, first, second)
	})
	eachKind(t, "hands out what is ready, and takes nothing", func(t *testing.T, q TypedInterface[string]) {
		q.Add("a")
		q.ShutDown()
		q.Add("b")
		q.ShutDown()
		getNow(t, q, "a", false)
		getNow(t, q, "", true)
		q.Done("a")
		getNow(t, q, "", true)
		if !q.ShuttingDown() {
			t.Error("it does not say so")
		}
	})
	eachKind(t, "hands out what was added while it ran, once it is done", func(t *testing.T, q TypedInterface[string]) {
		q.Add("a")
		getNow(t, q, "a", false)
		q.Add("a")
		q.ShutDown()
		getNow(t, q, "", true)
		q.Done("a")
		getNow(t, q, "a", false)
		q.Done("a")
	})
}

func TestADrain(t *testing.T) {
	eachKind(t, "waits for what is ready and what runs, for all who wait", func(t *testing.T, q TypedInterface[string]) {
		q.Add("a")
		q.Add("b")
		drains := []<-chan struct{}{async(q.ShutDownWithDrain), async(q.ShutDownWithDrain), async(q.ShutDownWithDrain)}
		first, _ := q.Get()
		q.Done(first)
		returned(t, false, drains...)
		second, _ := q.Get()
		returned(t, false, drains...)
		q.Done(second)
		returned(t, true, drains...)
	})
	eachKind(t, "waits for what was added while it ran", func(t *testing.T, q TypedInterface[string]) {
		q.Add("a")
		q.Get()
		q.Add("a")
		drain := async(q.ShutDownWithDrain)
		q.Done("a")
		returned(t, false, drain)
		getNow(t, q, "a", false)
		q.Done("a")
		returned(t, true, drain)
	})
	eachKind(t, "ends with a ShutDown, and a later one waits", func(t *testing.T, q TypedInterface[string]) {
		q.Add("a")
		q.Get()
		first, second := async(q.ShutDownWithDrain), async(q.ShutDownWithDrain)
		q.ShutDown()
		returned(t, true, first, second)
		third := async(q.ShutDownWithDrain)
		returned(t, false, third)
		q.Done("a")
		returned(t, true, third)
	})
	eachKind(t, "of an empty queue returns at once", func(t *testing.T, q TypedInterface[string]) {
		returned(t, true, async(q.ShutDownWithDrain))
	})
}

func TestADelayIsDroppedByAShutDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, shutDown := range []func(TypedInterface[string]){TypedInterface[string].ShutDown, TypedInterface[string].ShutDownWithDrain} {
			for _, q := range []TypedDelayingInterface[string]{NewTypedDelayingQueue[string](), above()} {
				q.AddAfter("a", time.Second)
				returned(t, true, async(func() { shutDown(q) }))
				q.AddAfter("b", time.Second)
				q.AddAfter("b", 0)
				time.Sleep(time.Minute)
				getNow(t, q, "", true)
			}
		}
	})
}

// TestNoItemIsLostInADrain: producers, workers and drains run against each other;
// each item that was accepted is worked on after its last add, by one worker at a time.
func TestNoItemIsLostInADrain(t *testing.T) {
	eachKind(t, "with many producers and workers", func(t *testing.T, q TypedInterface[string]) {
		const items, producers, workers = 20, 4, 4
		var added, seen [items]atomic.Int64 // the newest version that was added, and that was worked on
		var busy [items]atomic.Bool
		var producing, working sync.WaitGroup
		for range producers {
			producing.Go(func() {
				for i := range 50 * items {
					added[i%items].Add(1)
					q.Add(string(rune('a' + i%items)))
				}
			})
		}
		for range workers {
			working.Go(func() {
				for {
					item, shutdown := q.Get()
					if shutdown {
						return
					}
					i := item[0] - 'a'
					if busy[i].Swap(true) {
						t.Errorf("two workers have %s", item)
					}
					seen[i].Store(added[i].Load())
					busy[i].Store(false)
					q.Done(item)
				}
			})
		}
		producing.Wait()
		q.ShutDownWithDrain()
		for i := range items {
			if got, want := seen[i].Load(), added[i].Load(); got != want {
				t.Errorf("item %d: version %d was seen, want %d", i, got, want)
			}
		}
		working.Wait()
	})
}
