package workqueue

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
)

func limit(r float64) rate.Limit { return rate.Limit(r) }

func TestThePaceCountsWhenKeysAreHandedOut(t *testing.T) {
	bubble(t, "one at a time after a burst", func(t *testing.T) {
		q := newQueue(t, Options[string]{Rate: 2, Burst: 3})
		for i := range 7 {
			add(t, q, fmt.Sprint(i))
		}
		start := time.Now()
		for i, want := range []time.Duration{0, 0, 0, 500, 1000, 1500, 2000} {
			want *= time.Millisecond
			key, err := q.Get(t.Context())
			if key != fmt.Sprint(i) || err != nil {
				t.Fatal(key, err)
			}
			if at := time.Since(start); at < want || at > want+time.Millisecond {
				t.Errorf("key %d after %v, want %v", i, at, want)
			}
		}
	})
	bubble(t, "so workers that give up take no turn away", func(t *testing.T) {
		q := newQueue(t, Options[string]{Rate: 1})
		add(t, q, "a", "b")
		get(t, q, "a")
		start := time.Now()
		for range 1000 {
			none(t, q)
		}
		if key, err := q.Get(t.Context()); key != "b" || err != nil {
			t.Fatal(key, err)
		}
		if at := time.Since(start); at > time.Second+time.Millisecond {
			t.Errorf("after %v", at)
		}
	})
	bubble(t, "so many that wait share it", func(t *testing.T) {
		q := newQueue(t, Options[string]{Rate: 10})
		start := time.Now()
		times := make(chan time.Duration, 20)
		for range 20 {
			go func() {
				if _, err := q.Get(context.Background()); err != nil {
					t.Error(err)
				}
				times <- time.Since(start)
			}()
		}
		synctest.Wait()
		for i := range 20 {
			add(t, q, fmt.Sprint(i))
		}
		for i := range 20 {
			want := time.Duration(i) * 100 * time.Millisecond
			if at := <-times; at < want || at > want+time.Millisecond {
				t.Errorf("key %d after %v, want %v", i, at, want)
			}
		}
	})
	bubble(t, "so adding a key again costs nothing", func(t *testing.T) {
		q := newQueue(t, Options[string]{Rate: 1, Burst: 2})
		for range 1000 {
			add(t, q, "a")
			addAfter(t, q, "b", time.Second)
		}
		add(t, q, "b")
		get(t, q, "a")
		get(t, q, "b")
		done(t, q, "a", Result{})
		add(t, q, "a")
		start := time.Now()
		if key, err := q.Get(t.Context()); key != "a" || err != nil {
			t.Fatal(key, err)
		}
		if at := time.Since(start); at > time.Second+time.Millisecond {
			t.Errorf("after %v", at)
		}
	})
	bubble(t, "and hardly ever is a rate too", func(t *testing.T) {
		q := newQueue(t, Options[string]{Rate: 1e-300})
		add(t, q, "a", "b")
		get(t, q, "a")
		time.Sleep(1000 * time.Hour)
		none(t, q)
		q.Close()
	})
	bubble(t, "and infinite is none", func(t *testing.T) {
		q := newQueue(t, Options[string]{Rate: rate.Inf})
		for i := range 100 {
			add(t, q, fmt.Sprint(i))
		}
		for i := range 100 {
			get(t, q, fmt.Sprint(i))
		}
	})
	bubble(t, "and drains keep it", func(t *testing.T) {
		q := newQueue(t, Options[string]{Rate: 1})
		add(t, q, "a", "b", "c")
		go func() {
			for {
				key, err := q.Get(context.Background())
				if err != nil {
					return
				}
				if err := q.Done(key, Result{}); err != nil {
					t.Error(err)
				}
			}
		}()
		start := time.Now()
		if err := q.Drain(t.Context(), RunDelayed); err != nil {
			t.Fatal(err)
		}
		if at := time.Since(start); at < 2*time.Second || at > 2*time.Second+time.Millisecond {
			t.Errorf("drained after %v", at)
		}
	})
}
