package workqueue

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

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

func TestTryGetDoesNotWait(t *testing.T) {
	tryGet := func(t *testing.T, q *Queue[string], want string, ok bool) {
		t.Helper()
		if key, got := q.TryGet(); key != want || got != ok {
			t.Errorf("%q, %v, want %q, %v", key, got, want, ok)
		}
	}
	bubble(t, "for a key", func(t *testing.T) {
		var o told
		q := newQueue(t, Options[string]{Observer: &o})
		tryGet(t, q, "", false)
		add(t, q, "a")
		tryGet(t, q, "a", true)
		tryGet(t, q, "", false)
		done(t, q, "a", Result{})
		if what := o.all(); !slices.Equal(what, []string{"added false", "started 0s", "ended 0s <nil>"}) {
			t.Error(what)
		}
	})
	bubble(t, "for the pace", func(t *testing.T) {
		q := newQueue(t, Options[string]{Rate: 1})
		add(t, q, "a", "b")
		tryGet(t, q, "a", true)
		tryGet(t, q, "", false)
		time.Sleep(time.Second)
		tryGet(t, q, "b", true)
	})
	bubble(t, "for the end of a drain", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a", "b")
		get(t, q, "a")
		add(t, q, "a")
		ch := drain(t.Context(), q)
		tryGet(t, q, "b", true)
		tryGet(t, q, "", false)
		done(t, q, "a", Result{})
		tryGet(t, q, "a", true)
		done(t, q, "a", Result{})
		done(t, q, "b", Result{})
		if err := <-ch; err != nil {
			t.Error(err)
		}
		tryGet(t, q, "", false)
	})
}
