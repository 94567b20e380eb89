package workqueue

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// drain starts a Drain and returns where its answer will be.
func drain(ctx context.Context, q *Queue[string]) <-chan error {
	ch := make(chan error, 1)
	go func() { ch <- q.Drain(ctx, RunDelayed) }()
	synctest.Wait()
	return ch
}

// pending checks that a Drain still waits.
func pending(t *testing.T, ch <-chan error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-ch:
		t.Fatalf("drained too early: %v", err)
	default:
	}
}

func TestDrainWaitsForEverything(t *testing.T) {
	bubble(t, "ready and running", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a", "b")
		ch := drain(t.Context(), q)
		pending(t, ch)
		get(t, q, "a")
		done(t, q, "a", Result{})
		pending(t, ch)
		get(t, q, "b")
		pending(t, ch)
		done(t, q, "b", Result{})
		if err := <-ch; err != nil {
			t.Error(err)
		}
		if _, err := q.Get(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Get: %v", err)
		}
	})
	bubble(t, "delayed, which are made ready", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		addAfter(t, q, "late", 2*time.Hour)
		addAfter(t, q, "soon", time.Hour)
		ch := drain(t.Context(), q)
		get(t, q, "soon")
		get(t, q, "late")
		done(t, q, "soon", Result{})
		pending(t, ch)
		done(t, q, "late", Result{})
		if err := <-ch; err != nil {
			t.Error(err)
		}
	})
	bubble(t, "added or delayed while running", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a", "b")
		get(t, q, "a")
		get(t, q, "b")
		add(t, q, "a")
		addAfter(t, q, "b", time.Hour)
		ch := drain(t.Context(), q)
		done(t, q, "a", Result{})
		done(t, q, "b", Result{})
		pending(t, ch)
		get(t, q, "a")
		done(t, q, "a", Result{})
		get(t, q, "b")
		pending(t, ch)
		done(t, q, "b", Result{})
		if err := <-ch; err != nil {
			t.Error(err)
		}
	})
	bubble(t, "but for delayed ones that it is to drop", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "running", "ready", "failed", "held")
		for _, key := range []string{"running", "ready", "failed"} {
			get(t, q, key)
			if key != "running" {
				done(t, q, key, Result{Err: errFailed, After: time.Hour})
			}
		}
		add(t, q, "ready")
		addAfter(t, q, "running", time.Hour)
		holdKey(t, q, "held", time.Minute)
		addAfter(t, q, "held", time.Hour)
		ch := make(chan error, 1)
		go func() { ch <- q.Drain(t.Context(), DropDelayed) }()
		synctest.Wait()
		if s := q.Stats(); s.Delayed != 0 || s.Dropped != 2 || s.Held != 1 {
			t.Errorf("%+v", s)
		}
		get(t, q, "ready")
		done(t, q, "running", Result{})
		done(t, q, "ready", Result{})
		pending(t, ch)
		time.Sleep(time.Minute)
		get(t, q, "held")
		done(t, q, "held", Result{})
		if err := <-ch; err != nil {
			t.Error(err)
		}
	})
	bubble(t, "or nothing at all", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		for range 2 {
			if err := q.Drain(t.Context(), RunDelayed); err != nil {
				t.Error(err)
			}
		}
	})
	bubble(t, "and says what is left when its context ends, and can go on", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a", "b")
		get(t, q, "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := q.Drain(ctx, RunDelayed)
		if !errors.Is(err, context.DeadlineExceeded) ||
			err.Error() != "workqueue: not drained, 1 keys ready, 0 held and 1 running: context deadline exceeded" {
			t.Errorf("Drain: %v", err)
		}
		get(t, q, "b")
		done(t, q, "a", Result{})
		done(t, q, "b", Result{})
		if err := q.Drain(ctx, RunDelayed); err != nil {
			t.Errorf("a drained queue with an ended context: %v", err)
		}
	})
	bubble(t, "for each who waits", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		get(t, q, "a")
		first, second, third := drain(t.Context(), q), drain(t.Context(), q), drain(t.Context(), q)
		done(t, q, "a", Result{})
		for _, ch := range []<-chan error{first, second, third} {
			if err := <-ch; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestDrainTakesNothingNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a", "b", "c")
		ch := drain(t.Context(), q)
		get(t, q, "a")
		get(t, q, "b")
		for _, err := range []error{q.Add("new"), q.Add("a"), q.Add("c"), q.AddAfter("new", 1)} {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("Add: %v", err)
			}
		}
		done(t, q, "a", Result{Err: errFailed})
		done(t, q, "b", Result{After: time.Second})
		get(t, q, "c")
		pending(t, ch)
		done(t, q, "c", Result{})
		if err := <-ch; !errors.Is(err, ErrDropped) || err.Error() != "workqueue: keys were dropped while the queue drained: 1" {
			t.Errorf("Drain: %v", err)
		}
		if s := q.Stats(); s.Refused != 4 || s.Dropped != 1 || s.Ready+s.Delayed+s.Running != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestCloseDropsWhatIsNotRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "running", "again", "later", "ready")
		get(t, q, "running")
		get(t, q, "again")
		get(t, q, "later")
		add(t, q, "again")
		addAfter(t, q, "later", time.Second)
		addAfter(t, q, "delayed", time.Second)
		draining := drain(t.Context(), newQueue(t, Options[string]{}))
		q.Close()
		q.Close()
		if s := q.Stats(); s.Dropped != 4 || s.Running != 3 || s.Ready != 0 || s.Delayed != 0 {
			t.Errorf("%+v", s)
		}
		if _, err := q.Get(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Get: %v", err)
		}
		if err := q.Add("new"); !errors.Is(err, ErrClosed) {
			t.Errorf("Add: %v", err)
		}
		if err := <-draining; err != nil {
			t.Error(err)
		}
		ch := drain(t.Context(), q)
		done(t, q, "running", Result{Err: errFailed})
		done(t, q, "again", Result{})
		pending(t, ch)
		done(t, q, "later", Result{})
		if err := <-ch; !errors.Is(err, ErrDropped) {
			t.Errorf("Drain: %v", err)
		}
		time.Sleep(time.Hour)
		if s := q.Stats(); s.Dropped != 5 || s.Running+s.Ready+s.Delayed != 0 {
			t.Errorf("%+v", s)
		}
	})
}

func TestCloseEndsADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a", "b")
		get(t, q, "a")
		ch := drain(t.Context(), q)
		q.Close()
		pending(t, ch)
		done(t, q, "a", Result{})
		if err := <-ch; !errors.Is(err, ErrDropped) {
			t.Errorf("Drain: %v", err)
		}
	})
}

// TestADrainAndACloseAtOnceBothReturn: field report 68.
func TestADrainAndACloseAtOnceBothReturn(t *testing.T) {
	for range 10_000 {
		q := newQueue(t, Options[string]{})
		add(t, q, "running", "ready")
		key, err := q.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := q.Drain(context.Background(), RunDelayed); err != nil && !errors.Is(err, ErrDropped) {
				t.Error(err)
			}
		})
		wg.Go(q.Close)
		wg.Go(func() {
			if err := q.Done(key, Result{}); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			for {
				key, err := q.Get(context.Background())
				if err != nil {
					return
				}
				if err := q.Done(key, Result{}); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Wait()
	}
}

// TestNothingHangsOrIsLost has many consumers and producers while the queue is
// drained by several, and closed by some, again and again.
func TestNothingHangsOrIsLost(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	for round := range rounds {
		stress(t, uint64(round))
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
}

func stress(t *testing.T, seed uint64) {
	opts := Options[int]{Backoff: Backoff{Base: time.Microsecond, Max: 50 * time.Microsecond}}
	if seed%4 == 0 {
		opts.Tenant = func(key int) string { return string(rune('a' + key%3)) }
	}
	q, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	const keys, consumers, producers, drains = 16, 32, 4, 3
	var wg sync.WaitGroup
	var held [keys]atomic.Int32
	// added counts the tries to add a key, accepted is the last of them that
	// succeeded, ran is how many a worker knew of when it started.
	var added, accepted, ran [keys]atomic.Int64
	for c := range consumers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(c)))
			for {
				batch, err := q.GetBatch(context.Background(), 1+rng.IntN(2))
				if err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Errorf("GetBatch: %v", err)
					}
					return
				}
				for _, key := range batch {
					if held[key].Add(1) != 1 {
						t.Errorf("two workers on %d", key)
					}
				}
				for _, key := range batch {
					ran[key].Store(added[key].Load())
					var result Result
					switch rng.IntN(10) {
					case 0:
						result.Err = errFailed
					case 1:
						result.After = time.Microsecond
					case 2:
						holdForAMoment(t, q, key, rng, &wg)
					}
					held[key].Add(-1)
					if err := q.Done(key, result); err != nil {
						t.Errorf("Done: %v", err)
					}
				}
			}
		})
	}
	for p := range producers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(100+p)))
			for range 200 {
				key, d := rng.IntN(keys), time.Duration(max(0, rng.IntN(40)-20))*time.Microsecond
				n := added[key].Add(1)
				if err := q.AddWith(key, AddOptions{After: d, Priority: rng.IntN(3)}); err != nil {
					if !errors.Is(err, ErrClosed) {
						t.Errorf("AddWith: %v", err)
					}
					return
				}
				for old := accepted[key].Load(); old < n && !accepted[key].CompareAndSwap(old, n); {
					old = accepted[key].Load()
				}
			}
		})
	}
	closing := seed%3 == 0
	for d := range drains {
		wg.Go(func() {
			if seed%2 == 0 {
				time.Sleep(time.Duration(seed%200) * time.Microsecond)
			}
			if closing && d == 0 {
				q.Close()
			}
			if err := q.Drain(context.Background(), RunDelayed); err != nil && !errors.Is(err, ErrDropped) {
				t.Errorf("Drain: %v", err)
			}
		})
	}
	wg.Wait()
	audit(t, q)
	if s := q.Stats(); s.Ready+s.Delayed+s.Running != 0 || s.Strays != 0 {
		t.Errorf("%+v", s)
	}
	for key := range keys {
		if ran, accepted := ran[key].Load(), accepted[key].Load(); !closing && ran < accepted {
			t.Errorf("key %d was added %d times, the last run knew of %d", key, accepted, ran)
		}
	}
}

// holdForAMoment holds a key that runs, and has somebody release it, or nobody. If
// the queue was closed meanwhile, it does nothing.
func holdForAMoment(t *testing.T, q *Queue[int], key int, rng *rand.Rand, wg *sync.WaitGroup) {
	release, err := q.Hold(key, Hold{Reason: "a moment", Limit: time.Duration(1+rng.IntN(100)) * time.Microsecond})
	switch {
	case errors.Is(err, ErrClosed):
	case err != nil:
		t.Errorf("Hold: %v", err)
	case rng.IntN(2) == 0:
		wg.Go(release)
	}
}
