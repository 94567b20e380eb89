package workqueue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// told is an observer that keeps what it is told.
type told struct {
	mu   sync.Mutex
	what []string
}

func (o *told) tell(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.what = append(o.what, fmt.Sprintf(format, args...))
}

func (o *told) all() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.what)
}

func (o *told) Added(merged bool)                   { o.tell("added %v", merged) }
func (o *told) Started(waited time.Duration)        { o.tell("started %v", waited) }
func (o *told) Ended(worked time.Duration, e error) { o.tell("ended %v %v", worked, e) }

func TestAnObserverIsToldOfEachKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o told
		q := newQueue(t, Options[string]{Observer: &o})
		add(t, q, "a", "a", "b")
		time.Sleep(time.Second)
		get(t, q, "a")
		time.Sleep(time.Second)
		batch(t, q, 2, "b")
		done(t, q, "a", Result{Err: errFailed, After: time.Hour})
		done(t, q, "b", Result{})
		if q.Done("b", Result{}) == nil || q.AddWith("b", AddOptions{Priority: 1e6}) == nil {
			t.Error("no error")
		}
		q.Close()
		if q.Add("c") == nil {
			t.Error("no error")
		}
		want := []string{
			"added false", "added true", "added false", "started 1s", "started 2s", "ended 1s failed", "ended 0s <nil>",
		}
		if what := o.all(); !slices.Equal(what, want) {
			t.Errorf("told %q, want %q", what, want)
		}
	})
}

// TestQueuesOfOneNameDoNotMeet: field report 79.
func TestQueuesOfOneNameDoNotMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var o told
		opts := Options[string]{Name: "pods", Observer: &o}
		first, second := newQueue(t, opts), newQueue(t, opts)
		add(t, first, "a", "b")
		add(t, second, "a")
		first.Close()
		get(t, second, "a")
		done(t, second, "a", Result{})
		if a, b := first.Stats(), second.Stats(); a.Name != "pods" || b.Name != "pods" || a.Adds != 2 || b.Adds != 1 ||
			a.Ready != 0 || a.Dropped != 2 || b.Done != 1 || b.Dropped != 0 {
			t.Errorf("%+v\n%+v", a, b)
		}
		if what := o.all(); len(what) != 5 {
			t.Errorf("told %q", what)
		}
	})
}

// TestTheDepthIsTheNumberOfKeys: field report 78.
func TestTheDepthIsTheNumberOfKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		depth := func(ready, delayed, running int) {
			t.Helper()
			if s := q.Stats(); s.Ready != ready || s.Delayed != delayed || s.Running != running || q.Len() != ready {
				t.Errorf("%d ready, %d delayed, %d running, Len %d, want %d, %d, %d",
					s.Ready, s.Delayed, s.Running, q.Len(), ready, delayed, running)
			}
		}
		addAfter(t, q, "a", time.Second)
		addAfter(t, q, "a", time.Second)
		depth(0, 1, 0)
		time.Sleep(time.Second)
		synctest.Wait()
		depth(1, 0, 0)
		get(t, q, "a")
		done(t, q, "a", Result{})
		for range 3 {
			if err := q.Done("a", Result{}); !errors.Is(err, ErrNotProcessing) {
				t.Error(err)
			}
		}
		depth(0, 0, 0)
	})
}

func TestHistograms(t *testing.T) {
	bubble(t, "count how long keys wait and are worked on", func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "a")
		addWith(t, q, "a", AddOptions{Priority: 1})
		time.Sleep(3 * time.Millisecond)
		addWith(t, q, "a", AddOptions{Priority: 2}) // waits on, and does not begin anew
		get(t, q, "a")
		time.Sleep(time.Hour)
		done(t, q, "a", Result{})
		s := q.Stats()
		if s.Waits.Count != 1 || s.Waits.Sum != 3*time.Millisecond || s.Runs.Count != 1 || s.Runs.Sum != time.Hour {
			t.Errorf("%+v, %+v", s.Waits, s.Runs)
		}
		if s.Waits.Buckets[12] != 1 || s.Runs.Buckets[HistogramBuckets-1] != 1 {
			t.Errorf("%v, %v", s.Waits.Buckets, s.Runs.Buckets)
		}
	})
	t.Run("have a bucket for each duration", func(t *testing.T) {
		for _, d := range []time.Duration{
			-1, 0, 1, 1023, 1024, 1025, 2047, 2048, time.Millisecond, time.Second, 1<<40 - 1, 1 << 40, 1<<63 - 1,
		} {
			var h Histogram
			h.add(d)
			i := slices.Index(h.Buckets[:], 1)
			if last := i == HistogramBuckets-1; !last && d >= BucketBound(i) || i > 0 && d < BucketBound(i-1) {
				t.Errorf("%v is in bucket %d, below %v", d, i, BucketBound(i))
			}
		}
		if BucketBound(-1) != 0 || BucketBound(HistogramBuckets-1) != 0 || BucketBound(0) != 1024 {
			t.Error(BucketBound(-1), BucketBound(HistogramBuckets-1), BucketBound(0))
		}
	})
}

func TestAllKeysSayWhyTheyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options[string]{Tenant: byFolder})
		for _, key := range []string{"first", "second", "third"} {
			add(t, q, key)
			get(t, q, key)
			time.Sleep(time.Second)
		}
		addWith(t, q, "x/ready", AddOptions{Priority: 5})
		addAfter(t, q, "x/delayed", time.Minute)
		holdKey(t, q, "x/held", time.Minute)
		var running []string
		places := map[string]Place{}
		for key, r := range q.All() {
			if r.Place == Running {
				running = append(running, key)
			}
			places[key] = r.Place
			q.Len() // the queue may be used
		}
		if !slices.Equal(running, []string{"first", "second", "third"}) {
			t.Errorf("running: %q", running)
		}
		want := map[string]Place{
			"first": Running, "second": Running, "third": Running,
			"x/ready": Ready, "x/delayed": Delayed, "x/held": Held,
		}
		if !maps.Equal(places, want) {
			t.Errorf("%v, want %v", places, want)
		}
		for key := range q.All() {
			done(t, q, key, Result{}) // the others have left by then
			done(t, q, "second", Result{})
			break
		}
		r, _ := q.Why("x/held")
		if s := r.String(); !strings.HasPrefix(s, "held since ") || !strings.Contains(s, `, held for "the cache" until `) {
			t.Errorf("Why: %s", s)
		}
		r, _ = q.Why("x/ready")
		if s := r.String(); r.Tenant != "x" || !strings.HasSuffix(s, " with priority 5") {
			t.Errorf("Why: %s", s)
		}
	})
}

// TestAKeyThatIsNeverDoneHoldsUpNobodyElse: it is seen, and others go on.
func TestAKeyThatIsNeverDoneHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(t, Options[string]{})
		add(t, q, "stuck")
		get(t, q, "stuck")
		for range 100 {
			add(t, q, "stuck", "other")
			get(t, q, "other")
			time.Sleep(time.Minute)
			done(t, q, "other", Result{})
		}
		for key, r := range q.All() {
			if key != "stuck" || r.Place != Running || time.Since(r.Since) < 100*time.Minute {
				t.Errorf("%s: %v", key, r)
			}
			break
		}
		if s := q.Stats(); s.LongestRunning < 100*time.Minute || s.Ready != 0 {
			t.Errorf("%+v", s)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := q.Drain(ctx, RunDelayed); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		q.Close()
	})
}
