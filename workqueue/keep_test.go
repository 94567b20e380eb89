package workqueue

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestADelayCanBeKeptBesideARun: each row asks for two runs, and gets one of them
// now and the other after a second.
func TestADelayCanBeKeptBesideARun(t *testing.T) {
	now, later := AddOptions{KeepDelay: true}, AddOptions{After: time.Second, KeepDelay: true}
	for name, adds := range map[string][]AddOptions{
		"a delay of a ready key": {now, later},
		"a run of a delayed key": {later, now},
		"both more than once":    {later, now, later, now},
		"a later delay":          {later, now, {After: time.Minute, KeepDelay: true}},
		"an earlier delay":       {{After: time.Minute, KeepDelay: true}, now, later},
		"a plain add after it":   {now, later, {}},
		"a plain delay after it": {now, later, {After: time.Millisecond}},
	} {
		bubble(t, name, func(t *testing.T) {
			q := newQueue(t, Options[string]{})
			start := time.Now()
			for _, opts := range adds {
				addWith(t, q, "a", opts)
			}
			get(t, q, "a")
			done(t, q, "a", Result{})
			dueIn(t, q, "a", time.Second-time.Since(start))
			none(t, q)
			time.Sleep(time.Second)
			synctest.Wait()
			get(t, q, "a")
			done(t, q, "a", Result{})
			if s := q.Stats(); s.Ready+s.Delayed+s.Running > 0 {
				t.Errorf("left in the queue: %+v", s)
			}
		})
		bubble(t, name+", while it runs", func(t *testing.T) {
			q := newQueue(t, Options[string]{})
			start := time.Now()
			add(t, q, "a")
			get(t, q, "a")
			for _, opts := range adds {
				addWith(t, q, "a", opts)
			}
			done(t, q, "a", Result{})
			get(t, q, "a")
			done(t, q, "a", Result{})
			dueIn(t, q, "a", time.Second-time.Since(start))
		})
	}
}

func TestADelayBesideARun(t *testing.T) {
	both := func(t *testing.T) *Queue[string] {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		addWith(t, q, "a", AddOptions{After: time.Second, KeepDelay: true, Priority: 7})
		return q
	}
	bubble(t, "is one with it if it ends first", func(t *testing.T) {
		q := both(t)
		time.Sleep(time.Second)
		synctest.Wait()
		get(t, q, "a")
		done(t, q, "a", Result{})
		none(t, q)
	})
	bubble(t, "is shown beside it", func(t *testing.T) {
		q := both(t)
		dueIn(t, q, "a", time.Second)
		if r, _ := q.Why("a"); r.Place != Ready {
			t.Error(r)
		}
		if s := q.Stats(); s.Ready != 1 || s.Delayed != 1 {
			t.Errorf("%+v", s)
		}
	})
	bubble(t, "can be cancelled without it", func(t *testing.T) {
		q := both(t)
		if !q.Cancel("a") || q.Cancel("a") {
			t.Error("Cancel says something else")
		}
		get(t, q, "a")
		done(t, q, "a", Result{})
		none(t, q)
	})
	bubble(t, "keeps the priority", func(t *testing.T) {
		q := both(t)
		get(t, q, "a")
		done(t, q, "a", Result{})
		time.Sleep(time.Second)
		synctest.Wait()
		if r, _ := q.Why("a"); r.Place != Ready || r.Priority != 7 {
			t.Error(r)
		}
	})
	bubble(t, "is held with it", func(t *testing.T) {
		q := both(t)
		release, err := q.Hold("a", Hold{Reason: "test", Limit: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		none(t, q)
		release()
		get(t, q, "a")
		done(t, q, "a", Result{})
		dueIn(t, q, "a", time.Second-time.Nanosecond) // none has taken one
	})
	for mode, dropped := range map[DrainMode]uint64{RunDelayed: 0, DropDelayed: 1} {
		bubble(t, "ends when a drain begins", func(t *testing.T) {
			q := both(t)
			ch := make(chan error, 1)
			go func() { ch <- q.Drain(t.Context(), mode) }()
			synctest.Wait()
			if s := q.Stats(); s.Ready != 1 || s.Delayed != 0 || s.Dropped != dropped {
				t.Errorf("mode %d: %+v", mode, s)
			}
			get(t, q, "a")
			done(t, q, "a", Result{})
			if err := <-ch; err != nil {
				t.Error(err)
			}
		})
	}
}
