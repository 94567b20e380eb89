package workqueue

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var errFailed = errors.New("failed")

// newQueue makes a queue of strings.
func newQueue(t *testing.T, opts Options[string]) *Queue[string] {
	t.Helper()
	q, err := New[string](opts)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// add adds keys that must be accepted.
func add(t *testing.T, q *Queue[string], keys ...string) {
	t.Helper()
	for _, key := range keys {
		if err := q.Add(key); err != nil {
			t.Fatal(err)
		}
	}
}

// addAfter adds a key that must be accepted.
func addAfter(t *testing.T, q *Queue[string], key string, d time.Duration) {
	t.Helper()
	if err := q.AddAfter(key, d); err != nil {
		t.Fatal(err)
	}
}

// get takes a key that must be ready and must be want.
func get(t *testing.T, q *Queue[string], want string) {
	t.Helper()
	key, ok := try(t, q)
	if !ok {
		t.Fatalf("nothing is ready, want %q", want)
	}
	if key != want {
		t.Fatalf("Get: %q, want %q", key, want)
	}
}

// none checks that no key can be had.
func none(t *testing.T, q *Queue[string]) {
	t.Helper()
	if key, ok := try(t, q); ok {
		t.Fatalf("Get: %q, want nothing", key)
	}
}

// try takes a key if one can be had without waiting. In a bubble, it lets a
// nanosecond go by.
func try(t *testing.T, q *Queue[string]) (string, bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	key, err := q.Get(ctx)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	return key, err == nil
}

// done gives back a key that must be running.
func done(t *testing.T, q *Queue[string], key string, result Result) {
	t.Helper()
	if err := q.Done(key, result); err != nil {
		t.Fatal(err)
	}
}

// bubble runs a test in a bubble.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func TestAKeyIsQueuedOnce(t *testing.T) {
	bubble(t, "however often it is added, in the order of first adds", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a", "b", "a", "c", "b")
		if n := q.Len(); n != 3 {
			t.Errorf("Len: %d, want 3", n)
		}
		get(t, q, "a")
		get(t, q, "b")
		get(t, q, "c")
		none(t, q)
	})
	bubble(t, "and again when it was added while it ran", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		get(t, q, "a")
		add(t, q, "a", "a")
		none(t, q)
		if n := q.Len(); n != 0 {
			t.Errorf("Len while running: %d, want 0", n)
		}
		done(t, q, "a", Result{})
		get(t, q, "a")
		done(t, q, "a", Result{})
		none(t, q)
	})
	bubble(t, "behind those that were ready before", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		get(t, q, "a")
		add(t, q, "a", "b")
		done(t, q, "a", Result{})
		get(t, q, "b")
		get(t, q, "a")
	})
}

func TestTheEarliestTimeWins(t *testing.T) {
	bubble(t, "of two delays", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		addAfter(t, q, "a", 10*time.Second)
		addAfter(t, q, "a", 5*time.Second)
		addAfter(t, q, "a", 20*time.Second)
		time.Sleep(5*time.Second - time.Millisecond)
		none(t, q)
		time.Sleep(time.Millisecond)
		get(t, q, "a")
		done(t, q, "a", Result{})
		time.Sleep(time.Hour)
		none(t, q)
	})
	bubble(t, "so an Add ends a delay", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		addAfter(t, q, "a", 10*time.Second)
		add(t, q, "a")
		get(t, q, "a")
		done(t, q, "a", Result{})
		time.Sleep(time.Hour)
		none(t, q)
	})
	bubble(t, "so a delay does not postpone a ready key", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		addAfter(t, q, "a", 10*time.Second)
		get(t, q, "a")
		done(t, q, "a", Result{})
		time.Sleep(time.Hour)
		none(t, q)
	})
	bubble(t, "of a delay and the wish of a result", func(t *testing.T) {
		for _, tt := range []struct{ added, wished time.Duration }{
			{3 * time.Second, 9 * time.Second},
			{9 * time.Second, 3 * time.Second},
		} {
			q := newQueue(t, Options[string]{})
			add(t, q, "a")
			get(t, q, "a")
			addAfter(t, q, "a", tt.added)
			done(t, q, "a", Result{After: tt.wished})
			time.Sleep(2 * time.Second)
			none(t, q)
			time.Sleep(time.Second)
			get(t, q, "a")
			done(t, q, "a", Result{})
			time.Sleep(time.Hour)
			none(t, q)
		}
	})
	bubble(t, "so a key that was added while it ran does not wait for its retry", func(t *testing.T) {
		q := newQueue(t, Options[string]{Backoff: Backoff{Base: time.Hour, Max: time.Hour}})
		add(t, q, "a")
		get(t, q, "a")
		add(t, q, "a")
		done(t, q, "a", Result{Err: errFailed})
		get(t, q, "a")
		if r, _ := q.Why("a"); r.Failures != 1 {
			t.Errorf("failures: %d, want 1", r.Failures)
		}
	})
	bubble(t, "and one that is not positive is now", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		addAfter(t, q, "a", 0)
		addAfter(t, q, "b", -time.Hour)
		get(t, q, "a")
		get(t, q, "b")
		done(t, q, "a", Result{After: -1})
		get(t, q, "a")
	})
	bubble(t, "and one beyond the end of time is never", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		time.Sleep(time.Second)
		addAfter(t, q, "a", 1<<63-1)
		time.Sleep(1000 * time.Hour)
		none(t, q)
		add(t, q, "a")
		get(t, q, "a")
	})
}

func TestADelayThatEndsWhileTheKeyRunsWaitsForDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		get(t, q, "a")
		addAfter(t, q, "a", time.Second)
		if s := q.Stats(); s.Running != 1 || s.Delayed != 1 {
			t.Errorf("running %d, delayed %d, want 1 and 1", s.Running, s.Delayed)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		none(t, q)
		if r, _ := q.Why("a"); r.Place != Running || !r.Again || !r.Due.IsZero() {
			t.Errorf("Why: %v", r)
		}
		done(t, q, "a", Result{})
		get(t, q, "a")
		addAfter(t, q, "a", time.Minute)
		time.Sleep(time.Second)
		done(t, q, "a", Result{})
		if r, _ := q.Why("a"); r.Place != Delayed || time.Since(r.Since) != 0 || time.Until(r.Due) != 59*time.Second {
			t.Errorf("Why: %v", r)
		}
	})
}

func TestKeysDueTogetherComeInTheOrderOfAdding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		keys := strings.Split("qwertzuiopasdfghjklyxcvbnm", "")
		for _, key := range keys {
			addAfter(t, q, key, time.Second)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		for _, key := range keys {
			get(t, q, key)
		}
	})
}

func TestStatsAndWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		start := time.Now()
		add(t, q, "a", "b", "a")
		time.Sleep(time.Second)
		add(t, q, "c")
		time.Sleep(time.Second)
		addAfter(t, q, "d", time.Minute)
		if r, ok := q.Why("b"); !ok || r.Place != Ready || !r.Since.Equal(start) || !r.Due.IsZero() {
			t.Errorf("Why: %v, %v", r, ok)
		}
		if r, ok := q.Why("d"); !ok || r.Place != Delayed || !r.Due.Equal(start.Add(62*time.Second)) {
			t.Errorf("Why: %v, %v", r, ok)
		}
		if r, ok := q.Why("e"); ok {
			t.Errorf("Why: %v for an unknown key", r)
		}
		if s := q.Stats(); s.OldestReady != 2*time.Second || s.LongestRunning != 0 {
			t.Errorf("%+v", s)
		}
		get(t, q, "a")
		get(t, q, "b")
		time.Sleep(time.Second)
		want := Stats{
			Ready: 1, Delayed: 1, Running: 2,
			OldestReady: 2 * time.Second, LongestRunning: time.Second,
			Adds: 5, Merged: 1,
		}
		s := q.Stats()
		s.Waits, s.Runs = Histogram{}, Histogram{}
		if s != want {
			t.Errorf("%+v, want %+v", s, want)
		}
		done(t, q, "a", Result{Err: errFailed, After: time.Hour})
		if r, _ := q.Why("a"); !strings.Contains(r.String(), "delayed since ") ||
			!strings.HasSuffix(r.String(), "after 1 failures in a row, the last: failed") {
			t.Errorf("Why: %v", r)
		}
	})
}
