package workqueue

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

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
