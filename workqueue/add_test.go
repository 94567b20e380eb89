package workqueue

import (
	"testing"
	"testing/synctest"
	"time"
)

// dueIn checks that a key is delayed for so long.
func dueIn(t *testing.T, q *Queue[string], key string, want time.Duration) {
	t.Helper()
	if r, ok := q.Why(key); !ok || r.Due.IsZero() || time.Until(r.Due) != want {
		t.Errorf("%s: %v, want it due in %v", key, r, want)
	}
}

func TestADelayCanBeReplaced(t *testing.T) {
	bubble(t, "by a later one, and the timer follows", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		start := time.Now()
		for range 5 { // as a debounce does
			addWith(t, q, "a", AddOptions{After: time.Second, Replace: true})
			time.Sleep(500 * time.Millisecond)
		}
		if key, err := q.Get(t.Context()); key != "a" || err != nil || time.Since(start) != 3*time.Second {
			t.Errorf("%v, %v after %v", key, err, time.Since(start))
		}
	})
	bubble(t, "by an earlier one", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		addAfter(t, q, "a", time.Hour)
		addWith(t, q, "a", AddOptions{After: time.Second, Replace: true})
		dueIn(t, q, "a", time.Second)
		addAfter(t, q, "a", time.Minute)
		dueIn(t, q, "a", time.Second)
	})
	bubble(t, "while the key runs", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		get(t, q, "a")
		addAfter(t, q, "a", time.Second)
		addWith(t, q, "a", AddOptions{After: time.Minute, Replace: true})
		done(t, q, "a", Result{})
		dueIn(t, q, "a", time.Minute)
	})
	bubble(t, "but not after its end", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		addWith(t, q, "a", AddOptions{After: time.Minute, Replace: true})
		get(t, q, "a")
		add(t, q, "a")
		addWith(t, q, "a", AddOptions{After: time.Minute, Replace: true})
		done(t, q, "a", Result{})
		get(t, q, "a")
	})
}

func TestADelayCanBeCancelled(t *testing.T) {
	cancel := func(t *testing.T, q *Queue[string], key string, want bool) {
		t.Helper()
		if got := q.Cancel(key); got != want {
			t.Errorf("Cancel %s: %v, want %v", key, got, want)
		}
	}
	bubble(t, "and the key leaves with its failures", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "failed")
		get(t, q, "failed")
		done(t, q, "failed", Result{Err: errFailed})
		addAfter(t, q, "delayed", time.Second)
		for _, key := range []string{"failed", "delayed"} {
			cancel(t, q, key, true)
			cancel(t, q, key, false)
			if r, ok := q.Why(key); ok {
				t.Errorf("%s: %v", key, r)
			}
		}
		time.Sleep(time.Hour)
		none(t, q)
	})
	bubble(t, "and nothing else", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "running", "ready")
		get(t, q, "running")
		cancel(t, q, "unknown", false)
		cancel(t, q, "ready", false)
		cancel(t, q, "running", false)
		addAfter(t, q, "running", time.Second)
		cancel(t, q, "running", true)
		get(t, q, "ready")
		done(t, q, "running", Result{})
		time.Sleep(time.Hour)
		none(t, q)
		release := holdKey(t, q, "held", time.Hour)
		addAfter(t, q, "held", time.Second)
		cancel(t, q, "held", true)
		time.Sleep(time.Minute)
		release()
		none(t, q)
	})
}

func TestAnAddCanKeepTheBackoff(t *testing.T) {
	failing := func(t *testing.T) *Queue[string] {
		q := newQueue(t, Options[string]{Backoff: Backoff{Base: time.Minute, Max: time.Minute}})
		add(t, q, "a")
		get(t, q, "a")
		return q
	}
	bubble(t, "of a key that waits for its retry, and raise its priority", func(t *testing.T) {
		q := failing(t)
		done(t, q, "a", Result{Err: errFailed})
		before, _ := q.Why("a")
		addWith(t, q, "a", AddOptions{KeepBackoff: true, Priority: 2})
		addWith(t, q, "a", AddOptions{KeepBackoff: true, After: time.Second})
		if r, _ := q.Why("a"); r.Place != Delayed || !r.Due.Equal(before.Due) || r.Priority != 2 {
			t.Errorf("%v", r)
		}
		add(t, q, "a")
		get(t, q, "a")
	})
	bubble(t, "of a key that runs, if the run fails", func(t *testing.T) {
		q := failing(t)
		addWith(t, q, "a", AddOptions{KeepBackoff: true})
		done(t, q, "a", Result{Err: errFailed})
		if r, _ := q.Why("a"); r.Place != Delayed || r.Due.IsZero() || r.Again {
			t.Errorf("%v", r)
		}
	})
	bubble(t, "but not if the run succeeds", func(t *testing.T) {
		q := failing(t)
		addWith(t, q, "a", AddOptions{KeepBackoff: true})
		done(t, q, "a", Result{})
		get(t, q, "a")
	})
	bubble(t, "nor if somebody else does not", func(t *testing.T) {
		q := failing(t)
		addWith(t, q, "a", AddOptions{KeepBackoff: true})
		add(t, q, "a")
		addWith(t, q, "a", AddOptions{KeepBackoff: true})
		done(t, q, "a", Result{Err: errFailed})
		get(t, q, "a")
	})
	bubble(t, "and is as any other for a key that has not failed", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		addAfter(t, q, "a", time.Minute)
		addWith(t, q, "a", AddOptions{KeepBackoff: true})
		addWith(t, q, "b", AddOptions{KeepBackoff: true})
		get(t, q, "a")
		get(t, q, "b")
	})
}

func TestAKeyCanBeGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a", "b")
		get(t, q, "a")
		get(t, q, "b")
		done(t, q, "a", Result{Err: errFailed, Drop: true, After: time.Second})
		if r, ok := q.Why("a"); ok {
			t.Errorf("a: %v", r)
		}
		add(t, q, "b") // something new
		done(t, q, "b", Result{Err: errFailed, Drop: true})
		get(t, q, "b")
		if r, _ := q.Why("b"); r.Failures != 0 || r.Err != nil {
			t.Errorf("b: %v", r)
		}
		if s := q.Stats(); s.Failures != 2 || s.GivenUp != 2 || s.Retries != 0 || s.Dropped != 0 {
			t.Errorf("%+v", s)
		}
	})
}
