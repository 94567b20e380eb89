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

func TestGetWaits(t *testing.T) {
	// waiting starts a Get and returns where its answer will be.
	type answer struct {
		key string
		err error
	}
	waiting := func(ctx context.Context, q *Queue[string]) <-chan answer {
		ch := make(chan answer, 1)
		go func() {
			key, err := q.Get(ctx)
			ch <- answer{key, err}
		}()
		synctest.Wait()
		return ch
	}
	bubble(t, "for an Add", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		ch := waiting(t.Context(), q)
		add(t, q, "a")
		if a := <-ch; a.key != "a" || a.err != nil {
			t.Errorf("%v", a)
		}
	})
	bubble(t, "for a delay to end", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		ch := waiting(t.Context(), q)
		start := time.Now()
		addAfter(t, q, "a", time.Hour)
		if a := <-ch; a.key != "a" || a.err != nil || time.Since(start) != time.Hour {
			t.Errorf("%v after %v", a, time.Since(start))
		}
	})
	bubble(t, "until its context ends, and takes nothing with it", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		ctx, cancel := context.WithCancel(t.Context())
		first, second := waiting(ctx, q), waiting(t.Context(), q)
		third := waiting(ctx, q)
		cancel()
		add(t, q, "a")
		for _, ch := range []<-chan answer{first, third} {
			if a := <-ch; !errors.Is(a.err, context.Canceled) {
				t.Errorf("%v", a)
			}
		}
		if a := <-second; a.key != "a" || a.err != nil {
			t.Errorf("%v", a)
		}
	})
	bubble(t, "until the queue is closed", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		first, second := waiting(t.Context(), q), waiting(t.Context(), q)
		q.Close()
		for _, ch := range []<-chan answer{first, second} {
			if a := <-ch; !errors.Is(a.err, ErrClosed) {
				t.Errorf("%v", a)
			}
		}
	})
	bubble(t, "not at all if its context has ended", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := q.Get(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Get: %v", err)
		}
		get(t, q, "a")
	})
	bubble(t, "not at all without a context", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		var missing context.Context
		if _, err := q.Get(missing); err == nil {
			t.Error("Get: no error")
		}
		if err := q.Drain(missing, RunDelayed); err == nil {
			t.Error("Drain: no error")
		}
	})
}

func TestAFailedKeyIsRetriedWithBackoff(t *testing.T) {
	bubble(t, "that doubles, is jittered, ends at its cap and with a success", func(t *testing.T) {
		q := newQueue(t, Options[string]{Backoff: Backoff{Base: time.Second, Max: 10 * time.Second}})
		add(t, q, "a")
		for round := range 2 {
			for i, ceiling := range []time.Duration{1, 2, 4, 8, 10, 10} {
				ceiling *= time.Second
				key, err := q.Get(t.Context())
				if key != "a" || err != nil {
					t.Fatal(key, err)
				}
				done(t, q, "a", Result{Err: errFailed})
				r, ok := q.Why("a")
				if pause := time.Until(r.Due); !ok || pause < ceiling/2 || pause > ceiling {
					t.Errorf("round %d: pause after failure %d: %v, want up to %v", round, i+1, pause, ceiling)
				}
				if r.Place != Delayed || r.Failures != i+1 || r.Err != errFailed {
					t.Errorf("Why: %v", r)
				}
			}
			if key, err := q.Get(t.Context()); key != "a" || err != nil {
				t.Fatal(key, err)
			}
			done(t, q, "a", Result{After: time.Hour})
			r, _ := q.Why("a")
			if r.Failures != 0 || r.Err != nil || time.Until(r.Due) != time.Hour {
				t.Errorf("Why: %v", r)
			}
		}
	})
	bubble(t, "or after the time that the result names", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		get(t, q, "a")
		done(t, q, "a", Result{Err: errFailed, After: time.Hour})
		if r, _ := q.Why("a"); time.Until(r.Due) != time.Hour || r.Failures != 1 {
			t.Errorf("Why: %v", r)
		}
	})
	bubble(t, "of its own, however many others fail", func(t *testing.T) {
		q := newQueue(t, Options[string]{Backoff: Backoff{Base: time.Second}})
		pauses := map[time.Duration]bool{}
		for i := range 10_000 {
			key := strings.Repeat("x", i%100) + string(rune('0'+i/100))
			add(t, q, key)
			if _, err := q.Get(t.Context()); err != nil {
				t.Fatal(err)
			}
			done(t, q, key, Result{Err: errFailed})
			r, _ := q.Why(key)
			pause := time.Until(r.Due)
			if pause < time.Second/2 || pause > time.Second {
				t.Fatalf("pause of key %d: %v", i, pause)
			}
			pauses[pause] = true
		}
		if len(pauses) < 9_000 {
			t.Errorf("only %d different pauses", len(pauses))
		}
	})
	bubble(t, "and shares nothing with another queue of the same options", func(t *testing.T) {
		opts := Options[string]{Backoff: Backoff{Base: time.Second}}
		q, other := newQueue(t, opts), newQueue(t, opts)
		for _, q := range []*Queue[string]{q, other} {
			add(t, q, "a")
			get(t, q, "a")
		}
		done(t, q, "a", Result{Err: errFailed})
		done(t, other, "a", Result{})
		if r, _ := q.Why("a"); r.Failures != 1 {
			t.Errorf("failures: %d, want 1", r.Failures)
		}
	})
}

func TestAStrayDoneChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		stray := func(key string) {
			t.Helper()
			err := q.Done(key, Result{Err: errFailed})
			if !errors.Is(err, ErrNotProcessing) || !strings.Contains(err.Error(), key) {
				t.Errorf("Done: %v", err)
			}
		}
		add(t, q, "queued")
		addAfter(t, q, "delayed", time.Hour)
		stray("unknown")
		stray("queued")
		stray("delayed")
		s := q.Stats()
		if s.Ready != 1 || s.Delayed != 1 || s.Running != 0 || s.Strays != 3 || s.Done != 0 || s.Failures != 0 {
			t.Errorf("%+v", s)
		}
		get(t, q, "queued")
		done(t, q, "queued", Result{})
		stray("queued")
		none(t, q)
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

func TestBackoffDefaults(t *testing.T) {
	for _, tt := range []struct{ given, want Backoff }{
		{Backoff{}, Backoff{DefaultBackoffBase, DefaultBackoffMax}},
		{Backoff{Base: time.Hour}, Backoff{time.Hour, time.Hour}},
		{Backoff{Max: time.Millisecond}, Backoff{time.Millisecond, time.Millisecond}},
		{Backoff{Max: time.Hour}, Backoff{DefaultBackoffBase, time.Hour}},
	} {
		if got, err := tt.given.complete(); got != tt.want || err != nil {
			t.Errorf("%v: %v, %v, want %v", tt.given, got, err, tt.want)
		}
	}
	whole := Backoff{Base: 1, Max: 1<<63 - 1}
	for failures, want := range map[uint16]time.Duration{
		0: 0, 1: 1, 2: 2, 62: 1 << 61, 63: 1 << 62, 64: whole.Max, 1<<16 - 1: whole.Max,
	} {
		if got := whole.ceiling(failures); got != want {
			t.Errorf("after %d failures: %d, want %d", failures, got, want)
		}
	}
}
