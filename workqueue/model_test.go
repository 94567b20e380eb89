package workqueue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// game is one run of TestModel.
type game struct {
	t      *testing.T
	rng    *rand.Rand
	q      *Queue[string]
	m      *model
	keys   int
	unique time.Duration
	// held are the holds of both sides that may still be there.
	held []heldByBoth
	// expired counts the calls of Expired.
	expired atomic.Uint64
}

type heldByBoth struct {
	release func()
	hold    *modelHold
}

// TestModel does many things at random to a queue and to the oracle, and
// compares all that can be seen after each: 100,000 steps in all.
func TestModel(t *testing.T) {
	seeds, steps := uint64(25), 4000
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { play(t, seed, steps) })
		})
	}
}

func play(t *testing.T, seed uint64, steps int) {
	rng := rand.New(rand.NewPCG(seed, 0))
	opts := Options[string]{
		Backoff: Backoff{Base: 10 * time.Millisecond, Max: time.Second},
		Ageing:  []time.Duration{time.Millisecond, 50 * time.Millisecond, time.Hour}[rng.IntN(3)],
	}
	if rng.IntN(2) == 0 {
		tenants := 1 + rng.IntN(6)
		opts.Tenant = func(key string) string { return []string{"a", "b", "c", "d", "e", "f"}[int(key[len(key)-1])%tenants] }
		opts.Weights = map[string]int{"a": 2, "b": 3}
	}
	g := &game{t: t, rng: rng, q: newQueue(t, opts), m: newModel(opts), keys: 1 + rng.IntN(60)}
	drainAt, mode := steps-rng.IntN(400), DrainMode(rng.IntN(2))
	closeAt := steps - rng.IntN(400)
	drained := make(chan error, 1)
	for step := range steps {
		switch {
		case step == drainAt:
			g.m.drain(mode)
			go func() { drained <- g.q.Drain(context.Background(), mode) }()
			synctest.Wait()
		case step == closeAt && seed%2 == 0:
			g.m.close()
			g.q.Close()
		}
		what := g.step()
		synctest.Wait()
		g.m.tick()
		g.m.closeIfIdle()
		g.compare(fmt.Sprintf("step %d, %s", step, what))
	}
	g.finish()
	if drainAt < steps {
		<-drained
	}
}

// delay returns a duration that ends when no other does.
func (g *game) delay() time.Duration {
	g.unique++
	return time.Duration(g.rng.IntN(2000))*time.Millisecond + g.unique
}

func (g *game) step() (what string) {
	key := fmt.Sprint(g.rng.IntN(g.keys))
	switch g.rng.IntN(12) {
	case 0, 1:
		g.add(key, AddOptions{})
		return "Add " + key
	case 2, 3, 4:
		opts := AddOptions{
			Priority:    []int{0, 0, Low, 1, 5, -3, MaxPriority, MinPriority}[g.rng.IntN(8)],
			Replace:     g.rng.IntN(3) == 0,
			KeepBackoff: g.rng.IntN(3) == 0,
			KeepDelay:   g.rng.IntN(3) == 0,
		}
		if g.rng.IntN(2) == 0 {
			opts.After = g.delay() - time.Duration(g.rng.IntN(2)*int(time.Second))
		}
		g.add(key, opts)
		return fmt.Sprintf("Add %s %+v", key, opts)
	case 5, 6, 7:
		return "Get " + g.get()
	case 8, 9:
		if running := g.m.running(); len(running) > 0 && g.rng.IntN(10) > 0 {
			key = running[g.rng.IntN(len(running))]
		}
		result := []Result{
			{}, {}, {Err: errFailed}, {Err: errFailed}, {After: g.delay()}, {After: -1},
			{Err: errFailed, After: g.delay()}, {Err: errFailed, Drop: true},
		}[g.rng.IntN(8)]
		g.done(key, result)
		return fmt.Sprintf("Done %s %+v", key, result)
	case 10:
		return g.holdOrRelease(key)
	}
	if g.rng.IntN(2) == 0 {
		if got, want := g.q.Cancel(key), g.m.cancel(key); got != want {
			g.t.Fatalf("Cancel %s: %v, want %v", key, got, want)
		}
		return "Cancel " + key
	}
	time.Sleep(time.Duration(g.rng.IntN(200)) * time.Millisecond)
	return "Sleep"
}

func (g *game) add(key string, opts AddOptions) {
	g.t.Helper()
	if got, want := g.q.AddWith(key, opts) == nil, g.m.add(key, opts); got != want {
		g.t.Fatalf("Add %s %+v: %v, want %v", key, opts, got, want)
	}
}

// get takes a batch from both; an empty Get is the business of TestGetWaits.
func (g *game) get() string {
	g.t.Helper()
	var want []string
	n := 1 + g.rng.IntN(3)
	for range n {
		if key, ok := g.m.get(); ok {
			want = append(want, key)
		}
	}
	if len(want) == 0 {
		return "nothing"
	}
	got, err := g.q.GetBatch(context.Background(), n)
	if err != nil || !slices.Equal(got, want) {
		g.t.Fatalf("GetBatch %d: %v, %v, want %v", n, got, err, want)
	}
	return fmt.Sprint(want)
}

func (g *game) done(key string, result Result) {
	g.t.Helper()
	var delayed time.Time
	if k := g.m.keys[key]; k != nil {
		delayed = k.due
	}
	got := g.q.Done(key, result) == nil
	var retry time.Time
	if r, ok := g.q.Why(key); ok && got && result.Err != nil && result.After == 0 && !r.Due.IsZero() {
		// The pause is drawn at random: take it from the queue if it may be.
		retry = r.Due
		ceiling := g.q.backoff.ceiling(uint16(r.Failures))
		if pause := time.Until(retry); !retry.Equal(delayed) && (pause < ceiling/2 || pause > ceiling) {
			g.t.Fatalf("pause of %v after %d failures", pause, r.Failures)
		}
	}
	if want := g.m.done(key, result, retry); got != want {
		g.t.Fatalf("Done %s: %v, want %v", key, got, want)
	}
}

func (g *game) holdOrRelease(key string) string {
	g.t.Helper()
	if n := len(g.held); n > 0 && g.rng.IntN(2) == 0 {
		i := g.rng.IntN(n)
		h := g.held[i]
		h.release()
		g.m.release(h.hold, time.Now())
		if g.rng.IntN(4) > 0 { // else it is released once more, later
			g.held = slices.Delete(g.held, i, i+1)
		}
		return "release " + h.hold.key.key
	}
	limit := g.delay() + 1
	release, err := g.q.Hold(key, Hold{Reason: "test", Limit: limit, Expired: func() { g.expired.Add(1) }})
	hold := g.m.hold(key, limit)
	if (err == nil) != (hold != nil) {
		g.t.Fatalf("Hold %s: %v, want %v", key, err, hold != nil)
	}
	if err == nil {
		g.held = append(g.held, heldByBoth{release, hold})
	}
	return "Hold " + key
}

// compare compares all that can be seen.
func (g *game) compare(what string) {
	g.t.Helper()
	audit(g.t, g.q)
	now, want, got := time.Now(), g.m.stats, g.q.Stats()
	for key, k := range g.m.keys {
		r, ok := g.q.Why(key)
		place, again := k.place, k.again || k.patient
		switch {
		case k.place == Running:
			want.Running++
			want.LongestRunning = max(want.LongestRunning, now.Sub(k.since))
		case k.place == Ready:
			want.Ready++
		case len(k.holds) > 0:
			place = Held
			want.Held++
		default:
			place = Delayed
		}
		if !k.due.IsZero() {
			want.Delayed++
		}
		if !ok || r.Place != place || r.Again != again || !r.Due.Equal(k.due) || r.Failures != k.fails ||
			r.Priority != k.priority || !r.Since.Equal(k.since) || r.Tenant != g.m.tenantOf(key) || len(r.Holds) != len(k.holds) {
			g.t.Fatalf("%s: Why %s: %+v, want %s %+v", what, key, r, place, k)
		}
	}
	firsts := map[laneID]*modelKey{}
	for key, k := range g.m.keys {
		id := laneID{g.m.tenantOf(key), int16(k.lane)}
		if first := firsts[id]; k.place == Ready && (first == nil || k.nth < first.nth) {
			firsts[id] = k
		}
	}
	for _, k := range firsts {
		want.OldestReady = max(want.OldestReady, now.Sub(k.since))
	}
	if expired := g.expired.Load(); got.HoldsExpired != expired {
		g.t.Fatalf("%s: Expired was called %d times, want %d", what, expired, got.HoldsExpired)
	}
	want.Waits, want.Runs = got.Waits, got.Runs
	if got != want {
		g.t.Fatalf("%s:\n%+v, want\n%+v", what, got, want)
	}
	if got, want := len(g.q.keys()), len(g.m.keys); got != want {
		g.t.Fatalf("%s: %d keys, want %d", what, got, want)
	}
}

// finish drains what is left and checks that nothing stays behind.
func (g *game) finish() {
	g.m.drain(RunDelayed)
	ch := drain(context.Background(), g.q)
	for len(g.m.keys) > 0 {
		pending(g.t, ch)
		if want, ok := g.m.get(); ok {
			get(g.t, g.q, want)
		}
		for _, key := range g.m.running() {
			g.done(key, Result{})
		}
		time.Sleep(time.Second)
		synctest.Wait()
		g.m.tick()
	}
	if err := <-ch; err != nil {
		g.t.Errorf("Drain: %v", err)
	}
	audit(g.t, g.q)
	g.q.mu.Lock()
	defer g.q.mu.Unlock()
	if g.q.alarm.timer != nil || len(g.q.ready.byID) > 0 {
		g.t.Errorf("left in the queue: %v, %v", g.q.alarm, g.q.ready.byID)
	}
	if c := &g.q.counts; c.waits.Count != c.done || c.runs.Count != c.done {
		g.t.Errorf("%d waits and %d runs, %d done", c.waits.Count, c.runs.Count, c.done)
	}
}
