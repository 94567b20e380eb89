package workqueue

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// batch takes a batch that must be ready.
func batch(t *testing.T, q *Queue[string], n int, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	got, err := q.GetBatch(ctx, n)
	if !slices.Equal(got, want) || (err == nil) != (len(want) > 0) {
		t.Fatalf("GetBatch: %q, %v, want %q", got, err, want)
	}
}

func TestABatchIsWhatIsReady(t *testing.T) {
	bubble(t, "up to a number, in the order of Get", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a", "b")
		addWith(t, q, "c", AddOptions{Priority: 1})
		addAfter(t, q, "later", time.Second)
		batch(t, q, 2, "c", "a")
		batch(t, q, 1<<62, "b")
		batch(t, q, 1)
		for _, key := range []string{"b", "a", "c"} {
			done(t, q, key, Result{})
		}
	})
	bubble(t, "waiting for the first only", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		addAfter(t, q, "a", time.Hour)
		keys, err := q.GetBatch(t.Context(), 10)
		if len(keys) != 1 || err != nil {
			t.Errorf("GetBatch: %q, %v", keys, err)
		}
	})
	bubble(t, "no more than the rate allows", func(t *testing.T) {
		q := newQueue(t, Options[string]{Rate: 1, Burst: 2})
		add(t, q, "a", "b", "c", "d")
		batch(t, q, 3, "a", "b")
		time.Sleep(time.Second)
		batch(t, q, 3, "c")
		time.Sleep(time.Hour)
		batch(t, q, 3, "d")
	})
	bubble(t, "for each tenant", func(t *testing.T) {
		q := newQueue(t, Options[string]{Tenant: byFolder})
		add(t, q, "a/1", "a/2", "b/1")
		batch(t, q, 3, "a/1", "b/1", "a/2")
	})
	bubble(t, "and wakes others for the rest", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		got := make(chan []string, 3)
		for range cap(got) {
			go func() {
				keys, err := q.GetBatch(context.Background(), 2)
				if err != nil {
					t.Error(err)
				}
				got <- keys
			}()
		}
		for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
			add(t, q, key)
		}
		var all []string
		for range cap(got) {
			all = append(all, <-got...)
		}
		for len(all) < 6 {
			key, err := q.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, key)
		}
		if slices.Sort(all); !slices.Equal(all, []string{"a", "b", "c", "d", "e", "f"}) {
			t.Errorf("got %q", all)
		}
	})
	bubble(t, "and wakes others for what comes together", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		for _, key := range []string{"a", "b", "c"} {
			addAfter(t, q, key, time.Second)
		}
		got := make(chan string, 3)
		for range cap(got) {
			go func() {
				keys, err := q.GetBatch(context.Background(), 1)
				if err != nil || len(keys) != 1 {
					t.Errorf("%q, %v", keys, err)
				}
				got <- keys[0]
			}()
		}
		all := []string{<-got, <-got, <-got} // or all sleep for ever
		if slices.Sort(all); !slices.Equal(all, []string{"a", "b", "c"}) {
			t.Errorf("got %q", all)
		}
	})
	t.Run("and nothing for bad arguments", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		for _, n := range []int{0, -1} {
			if _, err := q.GetBatch(t.Context(), n); !errors.Is(err, ErrInvalid) {
				t.Errorf("%d: %v", n, err)
			}
		}
		var missing context.Context
		if _, err := q.GetBatch(missing, 1); !errors.Is(err, ErrInvalid) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := q.GetBatch(ctx, 1); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		q.Close()
		if _, err := q.GetBatch(t.Context(), 1); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}
