package workqueue

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// hold holds a key that must be one that can be held.
func holdKey(t *testing.T, q *Queue[string], key string, limit time.Duration) (release func()) {
	t.Helper()
	release, err := q.Hold(key, Hold{Reason: "the cache", Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	return release
}

func TestAHeldKeyIsNotHandedOut(t *testing.T) {
	bubble(t, "after its run, until it is released, and others are", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a", "b")
		get(t, q, "a")
		release := holdKey(t, q, "a", time.Minute)
		add(t, q, "a")
		done(t, q, "a", Result{})
		get(t, q, "b")
		none(t, q)
		r, _ := q.Why("a")
		if r.Place != Held || !r.Again || len(r.Holds) != 1 || r.Holds[0].Reason != "the cache" ||
			!r.Holds[0].Until.Equal(r.Holds[0].Since.Add(time.Minute)) {
			t.Errorf("Why: %+v", r)
		}
		if s := q.Stats(); s.Held != 1 || s.Ready != 0 || s.Running != 1 {
			t.Errorf("%+v", s)
		}
		release()
		get(t, q, "a")
		release() // its hold has ended: nothing happens
		done(t, q, "a", Result{})
		none(t, q)
	})
	bubble(t, "also if it is added after the run only", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		get(t, q, "a")
		release := holdKey(t, q, "a", time.Minute)
		done(t, q, "a", Result{})
		add(t, q, "a")
		none(t, q)
		release()
		get(t, q, "a")
	})
	bubble(t, "and leaves the queue if nobody adds it", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		get(t, q, "a")
		release := holdKey(t, q, "a", time.Minute)
		done(t, q, "a", Result{})
		if r, ok := q.Why("a"); !ok || r.Place != Held || r.Again {
			t.Errorf("Why: %v", r)
		}
		release()
		if r, ok := q.Why("a"); ok {
			t.Errorf("Why: %v", r)
		}
		none(t, q)
	})
	bubble(t, "if the release comes before Done, as if there had been no hold", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		get(t, q, "a")
		holdKey(t, q, "a", time.Minute)()
		add(t, q, "a")
		none(t, q)
		done(t, q, "a", Result{})
		get(t, q, "a")
	})
	bubble(t, "while one of several holds is left", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		first, second, third := holdKey(t, q, "a", time.Minute), holdKey(t, q, "a", time.Hour), holdKey(t, q, "a", time.Hour)
		second()
		none(t, q)
		first()
		none(t, q)
		third()
		get(t, q, "a")
	})
	bubble(t, "when its delay ends, and is then ready at once", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		addAfter(t, q, "a", time.Second)
		release := holdKey(t, q, "a", time.Minute)
		time.Sleep(2 * time.Second)
		none(t, q)
		release()
		get(t, q, "a")
	})
	bubble(t, "and waits for its delay after the release", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		get(t, q, "a")
		release := holdKey(t, q, "a", time.Minute)
		done(t, q, "a", Result{Err: errFailed, After: time.Second})
		release()
		none(t, q)
		time.Sleep(time.Second)
		get(t, q, "a")
	})
	bubble(t, "also if it was not in the queue", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		release := holdKey(t, q, "a", time.Minute)
		addWith(t, q, "a", AddOptions{Priority: 3})
		add(t, q, "b")
		get(t, q, "b")
		none(t, q)
		release()
		if r, _ := q.Why("a"); r.Priority != 3 || r.Place != Ready {
			t.Errorf("Why: %v", r)
		}
	})
}

func TestAHoldEndsByItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		get(t, q, "a")
		var expired told
		for _, reason := range []string{"first", "second", "released"} {
			limit := map[string]time.Duration{"first": time.Second, "second": time.Minute, "released": time.Hour}[reason]
			release, err := q.Hold("a", Hold{Reason: reason, Limit: limit, Expired: func() {
				q.Why("a") // the queue may be used
				expired.tell("%s", reason)
			}})
			if err != nil {
				t.Fatal(err)
			}
			if reason == "released" {
				release()
			}
		}
		done(t, q, "a", Result{})
		add(t, q, "a")
		start := time.Now()
		key, err := q.Get(t.Context())
		if key != "a" || err != nil || time.Since(start) != time.Minute {
			t.Errorf("%v, %v after %v", key, err, time.Since(start))
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if what := expired.all(); !slices.Equal(what, []string{"first", "second"}) || q.Stats().HoldsExpired != 2 {
			t.Errorf("expired: %q, counted: %d", what, q.Stats().HoldsExpired)
		}
	})
}

func TestACallbackThatBlocksHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		block := make(chan struct{})
		add(t, q, "a", "b")
		if _, err := q.Hold("a", Hold{Reason: "r", Limit: time.Second, Expired: func() { <-block }}); err != nil {
			t.Fatal(err)
		}
		holdKey(t, q, "b", 2*time.Second)
		for _, want := range []string{"a", "b"} {
			if key, err := q.Get(t.Context()); key != want || err != nil {
				t.Errorf("%v, %v, want %s", key, err, want)
			}
		}
		close(block)
	})
}

func TestAReleaseEndsItsOwnHoldOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		old := holdKey(t, q, "a", time.Second)
		time.Sleep(time.Minute) // it has expired, the key has left
		add(t, q, "b")          // perhaps in the place of a
		fresh := holdKey(t, q, "b", time.Minute)
		old()
		none(t, q)
		fresh()
		get(t, q, "b")
	})
}

func TestTheEndOfAQueueWithHeldKeys(t *testing.T) {
	bubble(t, "waits in a drain for those that are to run", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "runs")
		release := holdKey(t, q, "runs", time.Minute)
		holdKey(t, q, "idle", time.Hour)
		ch := drain(t.Context(), q)
		pending(t, ch)
		if _, err := q.Hold("new", Hold{Reason: "r", Limit: 1}); !errors.Is(err, ErrClosed) {
			t.Errorf("Hold: %v", err)
		}
		release()
		get(t, q, "runs")
		late := holdKey(t, q, "runs", time.Hour) // for nothing: it will not run again
		done(t, q, "runs", Result{})
		if err := <-ch; err != nil {
			t.Error(err)
		}
		late()
	})
	bubble(t, "is a drain's when the limit has passed", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		holdKey(t, q, "a", time.Minute)
		ch := drain(t.Context(), q)
		time.Sleep(time.Minute)
		get(t, q, "a")
		done(t, q, "a", Result{})
		if err := <-ch; err != nil {
			t.Error(err)
		}
	})
	bubble(t, "is a close that drops them", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a", "running")
		release := holdKey(t, q, "a", time.Minute)
		get(t, q, "running")
		other := holdKey(t, q, "running", time.Minute)
		holdKey(t, q, "idle", time.Minute)
		q.Close()
		audit(t, q)
		if s := q.Stats(); s.Held != 0 || s.Dropped != 1 || s.Running != 1 {
			t.Errorf("%+v", s)
		}
		if _, err := q.Hold("running", Hold{Reason: "r", Limit: 1}); !errors.Is(err, ErrClosed) {
			t.Errorf("Hold: %v", err)
		}
		release()
		other()
		done(t, q, "running", Result{})
		time.Sleep(time.Hour)
		if s := q.Stats(); s.HoldsExpired != 0 {
			t.Errorf("%+v", s)
		}
	})
}
