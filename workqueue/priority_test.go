package workqueue

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// addWith adds a key that must be accepted.
func addWith(t *testing.T, q *Queue[string], key string, opts AddOptions) {
	t.Helper()
	if err := q.AddWith(key, opts); err != nil {
		t.Fatal(err)
	}
}

func TestHigherPrioritiesComeFirst(t *testing.T) {
	bubble(t, "and in one priority those that came first", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		for _, p := range []int{0, Low, 5, -1, 5, 0, MaxPriority, MinPriority} {
			addWith(t, q, fmt.Sprint(p, q.Len()), AddOptions{Priority: p})
		}
		for _, want := range []string{"1000 6", "5 2", "5 4", "0 0", "0 5", "-1 3", "-100 1", "-1000 7"} {
			get(t, q, want)
		}
	})
	bubble(t, "also when they come later, after a delay", func(t *testing.T) { // field report 76
		q := newQueue(t, Options[string]{})
		for i := range 100 {
			addWith(t, q, fmt.Sprint("low", i), AddOptions{Priority: Low})
		}
		addWith(t, q, "high", AddOptions{After: 50 * time.Millisecond})
		get(t, q, "low0")
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		get(t, q, "high")
		get(t, q, "low1")
	})
	bubble(t, "and of equal ranks too", func(t *testing.T) {
		q := newQueue(t, Options[string]{Ageing: time.Second})
		addWith(t, q, "old", AddOptions{Priority: -3})
		time.Sleep(2 * time.Second)
		addWith(t, q, "high", AddOptions{Priority: -1})
		time.Sleep(time.Second)
		add(t, q, "highest")
		get(t, q, "highest")
		get(t, q, "high")
		get(t, q, "old")
	})
}

func TestAWaitingKeyAges(t *testing.T) {
	bubble(t, "so that none starves", func(t *testing.T) {
		q := newQueue(t, Options[string]{Ageing: 100 * time.Millisecond})
		addWith(t, q, "low", AddOptions{Priority: -10})
		// Keys of priority 0 come as fast as they are worked off, for ever.
		start, n := time.Now(), 0
		for {
			add(t, q, fmt.Sprint(n), fmt.Sprint(n, "more"))
			key, err := q.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			done(t, q, key, Result{})
			if key == "low" {
				break
			}
			n++
			time.Sleep(10 * time.Millisecond)
		}
		// All that were added in the first second go before, two at a time.
		if waited := time.Since(start); waited < time.Second || waited > 3*time.Second {
			t.Errorf("waited for %v", waited)
		}
	})
	bubble(t, "and comes before those added when it has aged enough", func(t *testing.T) {
		q := newQueue(t, Options[string]{Ageing: time.Second})
		addWith(t, q, "low", AddOptions{Priority: -10})
		time.Sleep(9 * time.Second)
		add(t, q, "early")
		time.Sleep(2 * time.Second)
		add(t, q, "late")
		get(t, q, "early")
		get(t, q, "low")
		get(t, q, "late")
	})
}

func TestAnAddRaisesThePriority(t *testing.T) {
	bubble(t, "of a ready key", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		addWith(t, q, "a", AddOptions{Priority: Low})
		addWith(t, q, "b", AddOptions{Priority: Low})
		addWith(t, q, "b", AddOptions{Priority: 3})
		add(t, q, "b") // lower than it has: no matter
		if r, _ := q.Why("b"); r.Priority != 3 {
			t.Errorf("%v", r)
		}
		get(t, q, "b")
		get(t, q, "a")
	})
	bubble(t, "but not behind the place that it had by its age", func(t *testing.T) {
		q := newQueue(t, Options[string]{Ageing: time.Second})
		addWith(t, q, "a", AddOptions{Priority: -2})
		time.Sleep(time.Second)
		add(t, q, "fresh")
		time.Sleep(4 * time.Second)
		add(t, q, "a", "fresher")
		get(t, q, "fresh")
		get(t, q, "a")
		get(t, q, "fresher")
		done(t, q, "a", Result{After: time.Second})
		if r, _ := q.Why("a"); r.Priority != 0 {
			t.Errorf("the raise is forgotten: %v", r)
		}
	})
	bubble(t, "of a delayed key", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		addWith(t, q, "a", AddOptions{Priority: Low, After: time.Second})
		addWith(t, q, "a", AddOptions{Priority: 7, After: time.Minute})
		add(t, q, "b")
		time.Sleep(time.Second)
		synctest.Wait()
		get(t, q, "a")
	})
	bubble(t, "and a key that has left starts anew", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		addWith(t, q, "a", AddOptions{Priority: 7})
		get(t, q, "a")
		done(t, q, "a", Result{})
		addWith(t, q, "a", AddOptions{Priority: Low})
		if r, _ := q.Why("a"); r.Priority != Low {
			t.Errorf("%v", r)
		}
	})
}

func TestAKeyKeepsItsPriority(t *testing.T) {
	for name, result := range map[string]Result{
		"when it is retried":            {Err: errFailed},
		"when it is retried after":      {Err: errFailed, After: time.Second},
		"when it is wanted again":       {After: time.Second},
		"when it is wanted again, soon": {After: -1},
	} {
		bubble(t, name, func(t *testing.T) {
			q := newQueue(t, Options[string]{})
			addWith(t, q, "a", AddOptions{Priority: 5})
			get(t, q, "a")
			done(t, q, "a", result)
			add(t, q, "b")
			time.Sleep(time.Second)
			synctest.Wait()
			get(t, q, "a")
		})
	}
	bubble(t, "but an add while it runs has its own", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		addWith(t, q, "a", AddOptions{Priority: 5})
		get(t, q, "a")
		addWith(t, q, "a", AddOptions{Priority: Low})
		done(t, q, "a", Result{})
		add(t, q, "b")
		get(t, q, "b")
		get(t, q, "a")
		done(t, q, "a", Result{})
	})
	bubble(t, "unless the run fails", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		addWith(t, q, "a", AddOptions{Priority: 5})
		get(t, q, "a")
		addWith(t, q, "a", AddOptions{Priority: Low})
		done(t, q, "a", Result{Err: errFailed})
		if r, _ := q.Why("a"); r.Place != Ready || r.Priority != 5 {
			t.Errorf("%v", r)
		}
	})
}

func TestAPriorityOutOfRangeIsAnError(t *testing.T) {
	q := newQueue(t, Options[string]{})
	for _, p := range []int{MinPriority - 1, MaxPriority + 1, 1 << 40, -1 << 40} {
		if err := q.AddWith("a", AddOptions{Priority: p}); !errors.Is(err, ErrInvalid) {
			t.Errorf("priority %d: %v", p, err)
		}
	}
	if _, ok := q.Why("a"); ok {
		t.Error("it was added")
	}
}
