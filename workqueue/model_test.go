package workqueue

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// model is a queue without cleverness: the oracle of TestModel. It keeps all keys
// in one map and looks through all of them for everything.
type model struct {
	phase   phase
	ageing  time.Duration
	tenant  func(string) string // nil: none
	weights map[string]int
	keys    map[string]*modelKey
	rounds  map[int][]turn // by priority, the next first
	nth     int
	stats   Stats // what is only counted
}

// turn is a tenant in the round of a priority, with the keys that it may still
// have before the next.
type turn struct {
	tenant string
	left   int
}

type modelKey struct {
	key   string
	place Place // Ready, Running, or "" for neither
	since time.Time
	// stand is when a ready key took its stand, with which priority, and as the
	// how manieth.
	stand     time.Time
	lane, nth int

	priority, pending int
	again, patient    bool
	due               time.Time
	holds             []*modelHold
	fails             int
}

type modelHold struct {
	until time.Time
	key   *modelKey
}

func newModel(opts Options[string]) *model {
	return &model{
		ageing: opts.Ageing, tenant: opts.Tenant, weights: opts.Weights,
		keys: map[string]*modelKey{}, rounds: map[int][]turn{},
	}
}

func (m *model) tenantOf(key string) string {
	if m.tenant == nil {
		return ""
	}
	return m.tenant(key)
}

func (k *modelKey) pursued() bool { return k.again || k.patient || !k.due.IsZero() }

func (m *model) add(key string, opts AddOptions) bool {
	if m.phase != open {
		m.stats.Refused++
		return false
	}
	m.stats.Adds++
	k, now := m.keys[key], time.Now()
	if k == nil {
		k = &modelKey{key: key, priority: opts.Priority, since: now}
		m.keys[key] = k
	} else {
		m.stats.Merged++
		m.prefer(k, opts.Priority, now)
	}
	switch {
	case k.place == Ready || k.again:
	case opts.KeepBackoff && k.place == "" && !k.due.IsZero() && k.fails > 0:
	case opts.After > 0:
		if !k.patient {
			m.postpone(k, now, now.Add(opts.After), opts.Replace)
		}
	case opts.KeepBackoff && k.place == Running:
		k.due, k.patient = time.Time{}, true
	default:
		m.makeReady(k, now)
	}
	return true
}

func (m *model) prefer(k *modelKey, priority int, now time.Time) {
	switch {
	case k.place == Running && k.pursued():
		k.pending = max(k.pending, priority)
	case k.place == Running:
		k.pending = priority
	case k.place == "" && !k.pursued():
		k.priority = priority
	case priority > k.priority:
		k.priority = priority
		fresh := now.Add(-time.Duration(priority) * m.ageing)
		if k.place == Ready && fresh.Before(m.rank(k)) {
			m.unready(k)
			m.line(k, now)
		}
	}
}

// rank is the earlier the sooner a ready key comes.
func (m *model) rank(k *modelKey) time.Time {
	return k.stand.Add(-time.Duration(k.lane) * m.ageing)
}

func (m *model) makeReady(k *modelKey, now time.Time) {
	k.due = time.Time{}
	if k.place == Running || len(k.holds) > 0 {
		k.again, k.patient = true, false
		return
	}
	k.again, k.patient, k.place, k.since = false, false, Ready, now
	m.line(k, now)
}

// line gives a key its place in line.
func (m *model) line(k *modelKey, now time.Time) {
	m.nth++
	k.stand, k.lane, k.nth = now, k.priority, m.nth
	round, tenant := m.rounds[k.lane], m.tenantOf(k.key)
	if !slices.ContainsFunc(round, func(t turn) bool { return t.tenant == tenant }) {
		m.rounds[k.lane] = append(round, turn{tenant, m.weight(tenant)})
	}
	k.place = Ready
}

func (m *model) weight(tenant string) int { return cmp.Or(m.weights[tenant], 1) }

// unready takes a key out of the line, and its tenant out of the round if it was
// the last.
func (m *model) unready(k *modelKey) {
	k.place = ""
	if !slices.ContainsFunc(m.readyIn(k.lane), func(o *modelKey) bool { return m.tenantOf(o.key) == m.tenantOf(k.key) }) {
		m.rounds[k.lane] = slices.DeleteFunc(m.rounds[k.lane], func(t turn) bool { return t.tenant == m.tenantOf(k.key) })
	}
}

// readyIn are the ready keys of a priority in the order in which they came.
func (m *model) readyIn(lane int) (keys []*modelKey) {
	for _, k := range m.keys {
		if k.place == Ready && k.lane == lane {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b *modelKey) int { return cmp.Compare(a.nth, b.nth) })
	return keys
}

func (m *model) postpone(k *modelKey, now, due time.Time, replace bool) {
	switch {
	case k.due.IsZero():
		if k.place == "" && len(k.holds) == 0 {
			k.since = now
		}
	case !replace && !due.Before(k.due):
		return
	}
	k.due = due
}

// tick makes ready what is due, and ends the holds whose limit has passed, one
// after the other.
func (m *model) tick() {
	for {
		var first time.Time
		var event func()
		earlier := func(at time.Time) bool {
			return !at.IsZero() && !at.After(time.Now()) && (event == nil || at.Before(first))
		}
		for _, k := range m.keys {
			if earlier(k.due) {
				first, event = k.due, func() { m.makeReady(k, first) }
			}
			for _, h := range k.holds {
				if earlier(h.until) {
					first, event = h.until, func() { m.stats.HoldsExpired++; m.release(h, first) }
				}
			}
		}
		if event == nil {
			return
		}
		event()
	}
}

// next is the key that is to be handed out next, nil for none.
func (m *model) next() *modelKey {
	var best *modelKey
	for _, k := range m.keys {
		if k.place != Ready {
			continue
		}
		order := -1
		if best != nil {
			order = cmp.Or(m.rank(k).Compare(m.rank(best)), cmp.Compare(best.lane, k.lane), cmp.Compare(k.nth, best.nth))
		}
		if order < 0 {
			best = k
		}
	}
	if best == nil {
		return nil
	}
	for _, k := range m.readyIn(best.lane) {
		if m.tenantOf(k.key) == m.rounds[best.lane][0].tenant {
			return k
		}
	}
	panic("the first in the round has no key")
}

func (m *model) get() (string, bool) {
	k := m.next()
	if k == nil {
		return "", false
	}
	round := m.rounds[k.lane]
	round[0].left--
	if t := round[0]; t.left == 0 {
		m.rounds[k.lane] = append(slices.Clone(round[1:]), turn{t.tenant, m.weight(t.tenant)})
	}
	m.unready(k)
	k.place, k.since = Running, time.Now()
	return k.key, true
}

// done ends a run. retry is when the queue has scheduled a failed key.
func (m *model) done(key string, result Result, retry time.Time) bool {
	k, now := m.keys[key], time.Now()
	if k == nil || k.place != Running {
		m.stats.Strays++
		return false
	}
	m.stats.Done++
	retries := !result.Drop && (result.Err != nil || result.After != 0)
	switch {
	case k.pursued() && retries:
		k.priority = max(k.priority, k.pending)
	case k.pursued():
		k.priority = k.pending
	}
	if result.Err != nil {
		m.stats.Failures++
	}
	k.fails++
	if result.Err == nil || result.Drop {
		k.fails = 0
	}
	if result.Drop {
		m.stats.GivenUp++
	}
	k.place, k.since = "", now
	again := k.again || k.patient && k.fails == 0
	k.again, k.patient = false, false
	switch {
	case again:
		m.makeReady(k, now)
	case m.phase != open:
		if k.fails > 0 {
			m.stats.Dropped++
		}
		delete(m.keys, key)
	case !retries:
		m.leave(k)
	default:
		if k.fails > 0 {
			m.stats.Retries++
		}
		if result.After < 0 {
			m.makeReady(k, now)
		} else if result.After > 0 {
			m.postpone(k, now, now.Add(result.After), false)
		} else {
			m.postpone(k, now, retry, false)
		}
	}
	return true
}

// leave lets a key go that nothing keeps.
func (m *model) leave(k *modelKey) {
	if k.place == "" && !k.pursued() && len(k.holds) == 0 {
		delete(m.keys, k.key)
	}
}

func (m *model) cancel(key string) bool {
	k := m.keys[key]
	if k == nil || k.due.IsZero() {
		return false
	}
	k.due = time.Time{}
	m.leave(k)
	return true
}

func (m *model) hold(key string, limit time.Duration) *modelHold {
	k, now := m.keys[key], time.Now()
	if m.phase == closed || m.phase == draining && k == nil {
		return nil
	}
	if k == nil {
		k = &modelKey{key: key}
		m.keys[key] = k
	}
	if k.place != Running && len(k.holds) == 0 {
		k.since = now
	}
	if k.place == Ready {
		m.unready(k)
		k.again = true
	}
	h := &modelHold{until: now.Add(limit), key: k}
	k.holds = append(k.holds, h)
	return h
}

func (m *model) release(h *modelHold, now time.Time) {
	k := h.key
	if m.keys[k.key] != k || !slices.Contains(k.holds, h) {
		return
	}
	k.holds = slices.DeleteFunc(k.holds, func(o *modelHold) bool { return o == h })
	if len(k.holds) > 0 || k.place == Running {
		return
	}
	if k.again {
		m.makeReady(k, now)
	}
	m.leave(k)
}

func (m *model) drain(mode DrainMode) {
	m.phase = max(m.phase, draining)
	for {
		var first *modelKey
		for _, k := range m.keys {
			if !k.due.IsZero() && (first == nil || k.due.Before(first.due)) {
				first = k
			}
		}
		if first == nil {
			break
		}
		if mode == DropDelayed {
			m.stats.Dropped++
			m.cancel(first.key)
		} else {
			m.makeReady(first, time.Now())
		}
	}
	maps.DeleteFunc(m.keys, func(_ string, k *modelKey) bool { return k.place == "" && !k.pursued() })
	m.closeIfIdle()
}

func (m *model) close() {
	if m.phase == closed {
		return
	}
	m.phase = closed
	for key, k := range m.keys {
		if k.place == Ready || k.pursued() {
			m.stats.Dropped++
		}
		k.again, k.patient, k.due, k.holds = false, false, time.Time{}, nil
		if k.place != Running {
			delete(m.keys, key)
		}
	}
	m.rounds = map[int][]turn{}
}

func (m *model) closeIfIdle() {
	if m.phase == draining && len(m.keys) == 0 {
		m.phase = closed
	}
}

// running are the running keys, in order of their names.
func (m *model) running() (keys []string) {
	for key, k := range m.keys {
		if k.place == Running {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

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
