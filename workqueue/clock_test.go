package workqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
)

func TestAQueueGoesByTheClockOfItsOptions(t *testing.T) {
	bubble(t, "which is set by hand", func(t *testing.T) {
		c := testingclock.NewFakeClock(time.Unix(1000, 0))
		q := newQueue(t, Options[string]{Clock: c})
		for i, key := range []string{"a", "b", "c"} { // more than one after the other, on one timer
			addAfter(t, q, key, time.Duration(i+1)*time.Second)
		}
		time.Sleep(time.Hour) // which is no time of the queue
		none(t, q)
		for _, key := range []string{"a", "b", "c"} {
			c.Step(time.Second - 1)
			synctest.Wait()
			if q.Len() > 0 {
				t.Fatal("too early")
			}
			c.Step(1)
			synctest.Wait()
			get(t, q, key)
		}
		r, _ := q.Why("c")
		if want := time.Unix(1003, 0); !r.Since.Equal(want) {
			t.Errorf("runs since %v, want %v", r.Since, want)
		}
		c.Step(2 * time.Second)
		if s := q.Stats(); s.LongestRunning != 4*time.Second {
			t.Errorf("%v, want 4s", s.LongestRunning)
		}
		addAfter(t, q, "d", time.Second)
		q.Close()
		if c.HasWaiters() {
			t.Error("the timer is still set")
		}
	})
	bubble(t, "which may be the real one", func(t *testing.T) {
		q := newQueue(t, Options[string]{Clock: clock.RealClock{}})
		addAfter(t, q, "a", time.Second)
		if _, err := q.Get(t.Context()); err != nil || q.Stats().Running != 1 {
			t.Error(err, q.Stats())
		}
	})
	for _, step := range []time.Duration{time.Second, time.Hour} {
		bubble(t, "which is set forward while a timer is being set", func(t *testing.T) {
			c := &hasty{FakeClock: testingclock.NewFakeClock(time.Unix(1000, 0)), step: step}
			q := newQueue(t, Options[string]{Clock: c})
			addAfter(t, q, "a", time.Minute)
			c.SetTime(time.Unix(1060, 0).Add(max(0, step-time.Minute)))
			synctest.Wait()
			get(t, q, "a")
		})
	}
}

// hasty is a clock that goes forward just before its first timer is set.
type hasty struct {
	*testingclock.FakeClock
	step time.Duration
}

func (h *hasty) AfterFunc(d time.Duration, f func()) clock.Timer {
	h.Step(h.step)
	h.step = 0
	return h.FakeClock.AfterFunc(d, f)
}

// TestManyStepsOfAClockWhileKeysAreAdded: what is added while the clock goes on is
// handed out, and nothing waits for a lock for ever.
func TestManyStepsOfAClockWhileKeysAreAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := testingclock.NewFakeClock(time.Unix(1000, 0))
		q, err := New(Options[int]{Clock: c})
		if err != nil {
			t.Fatal(err)
		}
		const keys = 2000
		go func() {
			for i := range keys {
				if err := q.AddAfter(i, time.Duration(1+i%7)*time.Second); err != nil {
					t.Error(err)
				}
			}
		}()
		go func() {
			for range keys {
				c.Step(time.Millisecond)
			}
		}()
		synctest.Wait()
		c.Step(7 * time.Second)
		for range keys {
			if _, err := q.Get(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}
