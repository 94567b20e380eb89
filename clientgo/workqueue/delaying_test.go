package workqueue

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
)

// TestADelayIsApartFromARun: as with client-go, what is asked for now and what is
// asked for later are two runs.
func TestADelayIsApartFromARun(t *testing.T) {
	later := func(q TypedDelayingInterface[string]) { q.AddAfter("a", time.Second) }
	now := func(q TypedDelayingInterface[string]) { q.Add("a") }
	for name, adds := range map[string][]func(TypedDelayingInterface[string]){
		"now and later": {now, later},
		"later and now": {later, now},
	} {
		for kind, make := range map[string]func() TypedDelayingInterface[string]{
			"ours": NewTypedDelayingQueue[string], "over the caller's": above,
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					q := make()
					defer q.ShutDown()
					start := time.Now()
					for _, add := range adds {
						add(q)
					}
					for _, want := range []time.Duration{0, time.Second} {
						item, _ := q.Get()
						if after := time.Since(start); item != "a" || after != want {
							t.Errorf("%q after %v, want it after %v", item, after, want)
						}
						q.Done(item)
					}
				})
			})
		}
	}
}

// ticking is a clock that has no AfterFunc.
type ticking struct{ clock.WithTicker }

func TestAQueueGoesByTheClockOfItsConfiguration(t *testing.T) {
	for name, wrap := range map[string]func(c *testingclock.FakeClock) clock.WithTicker{
		"a fake one":            func(c *testingclock.FakeClock) clock.WithTicker { return c },
		"one without AfterFunc": func(c *testingclock.FakeClock) clock.WithTicker { return ticking{c} },
	} {
		for kind, inner := range map[string]func() TypedInterface[string]{
			"ours":              func() TypedInterface[string] { return nil },
			"over the caller's": func() TypedInterface[string] { return NewTyped[string]() },
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := testingclock.NewFakeClock(time.Unix(1000, 0))
					var m counted
					q := NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[string]{
						Name: "test", MetricsProvider: &m, Clock: wrap(c), Queue: inner(),
					})
					q.AddAfter("b", 2*time.Second)
					q.AddAfter("a", time.Second)
					for _, want := range []string{"a", "b"} {
						time.Sleep(time.Hour)
						if q.Len() > 0 {
							t.Error("it goes by another clock")
						}
						c.Step(time.Second)
						synctest.Wait()
						getNow(t, q, want, false)
						q.Done(want)
					}
					q.Add("c")
					q.Get()
					q.AddAfter("c", time.Second)
					q.ShutDown() // no goroutine is left, though a delay and a run are
					if got := m.retries.get(); got != "3.000000/3" {
						t.Errorf("%s retries, want 3", got)
					}
				})
			})
		}
	}
}

func TestTheLimiterSaysHowLongAnItemWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewTypedRateLimitingQueue(NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute))
		defer q.ShutDown()
		var waits []time.Duration
		for range 3 {
			start := time.Now()
			q.AddRateLimited("a")
			item, _ := q.Get()
			q.Done(item)
			waits = append(waits, time.Since(start))
		}
		if want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}; !slices.Equal(waits, want) {
			t.Errorf("waits %v, want %v", waits, want)
		}
		if n := q.NumRequeues("a"); n != 3 {
			t.Errorf("%d requeues, want 3", n)
		}
		q.Forget("a")
		if n := q.NumRequeues("a"); n != 0 {
			t.Errorf("%d requeues after Forget, want 0", n)
		}
	})
}

// TestADelayNeverWaits: many retries at once, which client-go's
// channel of 1000 holds up.
func TestADelayNeverWaits(t *testing.T) {
	const items = 5000
	c := testingclock.NewFakeClock(time.Unix(1000, 0))
	q := NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[int]{Clock: c})
	defer q.ShutDown()
	for i := range items {
		q.AddAfter(i, time.Duration(items-i)*time.Millisecond)
	}
	c.Step(items * time.Millisecond)
	for i := range items {
		if item, _ := q.Get(); item != items-1-i {
			t.Fatalf("item %d, want %d", item, items-1-i)
		}
	}
}
