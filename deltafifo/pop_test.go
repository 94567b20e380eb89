package deltafifo

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestPopReturnsWhatIsAtHandInOrder(t *testing.T) {
	q := newQueue(t, Options{BatchSize: 3})
	push(t, q, "A a/u1@1 B@2")
	push(t, q, "D a/u1@3 R@4[A b/u2@4]")
	push(t, q, "U b/u2@5")
	for _, want := range []string{"A a/u1@1 B@2 D a/u1@3", "R@4[A b/u2@4] U b/u2@5"} {
		if got := pop(t, q); got != want {
			t.Errorf("popped %s, want %s", got, want)
		}
	}
}

func TestPopWaitsForAPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options{})
		var got string
		go func() { got = pop2(t, q) }()
		synctest.Wait()
		if got != "" {
			t.Fatalf("popped %s from an empty queue", got)
		}
		push(t, q, "A a/u1@1")
		synctest.Wait()
		if got != "A a/u1@1" {
			t.Errorf("popped %q, want what was pushed", got)
		}
	})
}

// pop2 is pop for another goroutine, and waits.
func pop2(t *testing.T, q *DeltaFIFO[string]) string {
	batch, err := q.Pop(t.Context())
	if err != nil {
		t.Errorf("pop: %v", err)
	}
	return format(batch)
}

func TestPopEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		if _, err := q.Pop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Pop = %v, want the context's error", err)
		}
		if waited := time.Since(start); waited != time.Hour {
			t.Errorf("waited %v, want until the deadline", waited)
		}
		push(t, q, "A a/u1@1")
		if _, err := q.Pop(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Pop with an ended context = %v, want its error", err)
		}
		if got := pop(t, q); got != "A a/u1@1" {
			t.Errorf("popped %s after a Pop that failed, want what was pushed", got)
		}
	})
}

func TestAWakeThatCameTooLateIsHarmless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options{})
		q.wake = make(chan struct{}, 1)
		q.wake <- struct{}{}
		var got string
		go func() { got = pop2(t, q) }()
		synctest.Wait()
		push(t, q, "A a/u1@1")
		synctest.Wait()
		if got != "A a/u1@1" {
			t.Errorf("popped %q, want what was pushed", got)
		}
	})
}

func TestASecondPopAtTheSameTimeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options{})
		var got string
		go func() { got = pop2(t, q) }()
		synctest.Wait()
		if _, err := q.Pop(t.Context()); !errors.Is(err, ErrConcurrentPop) {
			t.Errorf("second Pop = %v, want ErrConcurrentPop", err)
		}
		push(t, q, "A a/u1@1")
		synctest.Wait()
		if got != "A a/u1@1" {
			t.Errorf("the first Pop got %q, want what was pushed", got)
		}
		push(t, q, "A b/u2@2")
		if got := pop(t, q); got != "A b/u2@2" {
			t.Errorf("a later Pop got %s", got)
		}
	})
}

func TestCloseLeavesWhatIsQueuedAndThenEnds(t *testing.T) {
	q := newQueue(t, Options{BatchSize: 1})
	push(t, q, "A a/u1@1 A b/u2@2")
	q.Close()
	for _, want := range []string{"A a/u1@1", "A b/u2@2"} {
		if got := pop(t, q); got != want {
			t.Errorf("popped %s, want %s", got, want)
		}
	}
	for range 2 {
		if _, err := q.Pop(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Pop of an emptied queue = %v, want ErrClosed", err)
		}
	}
	if err := q.Settled(t.Context()); err != nil {
		t.Errorf("Settled after everything was acknowledged = %v", err)
	}
}

func TestCloseWakesAPopThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options{})
		done := make(chan error)
		go func() {
			_, err := q.Pop(t.Context())
			done <- err
		}()
		synctest.Wait()
		q.Close()
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Errorf("Pop = %v, want ErrClosed", err)
		}
	})
}

func TestSettledWaitsForTheNextPop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options{BatchSize: 1})
		if err := q.Settled(t.Context()); err != nil {
			t.Fatalf("Settled of a new queue = %v", err)
		}
		push(t, q, "A a/u1@1 A b/u2@2")
		settled := false
		go func() {
			if err := q.Settled(t.Context()); err != nil {
				t.Errorf("Settled = %v", err)
			}
			settled = true
		}()
		for range 2 {
			pop(t, q)
			synctest.Wait()
			if settled {
				t.Fatal("settled while a batch is in flight")
			}
		}
		// The third Pop has nothing to return. That it was called is enough.
		go pop2(t, q)
		synctest.Wait()
		if !settled {
			t.Error("the Pop that acknowledged the last batch did not wake Settled")
		}
		push(t, q, "B@3")
		synctest.Wait()
	})
}

func TestSettledDoesNotWaitForLaterPushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options{BatchSize: 1})
		push(t, q, "A a/u1@1")
		settled := make(chan error, 1)
		go func() { settled <- q.Settled(t.Context()) }()
		synctest.Wait()
		push(t, q, "A b/u2@2")
		pop(t, q)
		pop(t, q)
		if err := <-settled; err != nil {
			t.Errorf("Settled = %v", err)
		}
	})
}

func TestSettledCountsWhatACompactionDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options{BatchSize: 1, Budget: 3})
		push(t, q, "A a/u1@1 A b/u2@2")
		settled := false
		go func() {
			if err := q.Settled(t.Context()); err != nil {
				t.Errorf("Settled = %v", err)
			}
			settled = true
		}()
		synctest.Wait()
		// a@1 is folded into a@4, so that waiting for one is waiting for both.
		push(t, q, "U b/u2@3 U a/u1@4 U c/u3@5")
		if got, want := pop(t, q), "A b/u2@3 A a/u1@4 U c/u3@5"; got != want {
			t.Fatalf("popped %s, want %s", got, want)
		}
		synctest.Wait()
		if settled {
			t.Fatal("settled before the batch was acknowledged")
		}
		push(t, q, "U c/u3@6")
		pop(t, q)
		synctest.Wait()
		if !settled {
			t.Error("not settled after the batch was acknowledged")
		}
	})
}

func TestSettledEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options{BatchSize: 2})
		push(t, q, "A a/u1@1 A b/u2@2 A c/u3@3")
		pop(t, q)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := q.Settled(ctx)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Settled = %v, want the context's error", err)
		}
		want := "3 deltas are not applied (1 queued, 2 in flight): context deadline exceeded"
		if err == nil || err.Error() != want {
			t.Errorf("Settled = %v, want %s", err, want)
		}
	})
}

func TestSettledOfAClosedQueueDoesNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options{})
		push(t, q, "A a/u1@1")
		waiting := make(chan error)
		go func() { waiting <- q.Settled(t.Context()) }()
		synctest.Wait()
		q.Close()
		if err := <-waiting; !errors.Is(err, ErrClosed) {
			t.Errorf("Settled that waited = %v, want ErrClosed", err)
		}
		if err := q.Settled(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Settled after Close = %v, want ErrClosed", err)
		}
	})
}

func TestANilContextIsAnError(t *testing.T) {
	q := newQueue(t, Options{})
	var none context.Context
	if _, err := q.Pop(none); !errors.Is(err, ErrNilContext) {
		t.Errorf("Pop = %v, want ErrNilContext", err)
	}
	if err := q.Settled(none); !errors.Is(err, ErrNilContext) {
		t.Errorf("Settled = %v, want ErrNilContext", err)
	}
}

// One goroutine pushes, one pops, one waits again and again for all to settle.
func TestProducerConsumerAndWaiterTogether(t *testing.T) {
	const n = 5000
	q := newQueue(t, Options{BatchSize: 7, Budget: 16})
	pushed := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < n && err == nil; i++ {
			key := string(rune('a' + i%5))
			err = q.Push(parse(t, "U "+key+"/u@"+itoa(i)))
			if err == nil && i%100 == 0 {
				err = q.Settled(t.Context())
			}
		}
		q.Close()
		pushed <- err
	}()
	last := map[string]string{}
	for {
		batch, err := q.Pop(t.Context())
		if errors.Is(err, ErrClosed) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range batch {
			last[d.Key.Name] = d.Object
		}
	}
	if err := <-pushed; err != nil {
		t.Fatal(err)
	}
	for i := n - 5; i < n; i++ {
		if key := string(rune('a' + i%5)); last[key] != itoa(i) {
			t.Errorf("the last state of %s is %s, want %d", key, last[key], i)
		}
	}
}

func TestAPopThatWaitsInVainReturnsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options{Idle: time.Millisecond})
		for range 2 {
			push(t, q, "A a/u1@1")
			if _, err := q.Pop(t.Context()); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			if _, err := q.Pop(t.Context()); !errors.Is(err, ErrIdle) {
				t.Fatalf("Pop: %v", err)
			}
			if waited := time.Since(begin); waited != time.Millisecond {
				t.Errorf("Pop has waited for %v", waited)
			}
			if s := q.Stats(); s.InFlight != 0 || s.Acknowledged != s.Pushed {
				t.Errorf("not all is acknowledged: %+v", s)
			}
		}
	})
}

func TestAnIdlePopStaysUntilTheBuffersOfABurstAreGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options{Idle: time.Millisecond})
		for range seriesLength + 1 {
			for i := range 1000 {
				push(t, q, "U k"+itoa(i)+"/u@"+itoa(i))
			}
			pop(t, q)
			time.Sleep(seriesGap / 2)
		}
		begin := time.Now()
		if _, err := q.Pop(t.Context()); !errors.Is(err, ErrIdle) {
			t.Fatalf("Pop: %v", err)
		}
		if waited := time.Since(begin); waited != seriesGap || slots(q) > 2*idleCapacity {
			t.Errorf("after %v there are %d slots", waited, slots(q))
		}
	})
}
