package workqueue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// model is a queue without cleverness: the oracle of TestModel.
type model struct {
	phase   phase
	ready   []string
	due     map[string]time.Time
	running map[string]bool
	again   map[string]bool
	fails   map[string]int
	dropped uint64
}

func newModel() *model {
	return &model{
		due:     map[string]time.Time{},
		running: map[string]bool{},
		again:   map[string]bool{},
		fails:   map[string]int{},
	}
}

func (m *model) add(key string) bool {
	if m.phase != open {
		return false
	}
	m.makeReady(key)
	return true
}

func (m *model) makeReady(key string) {
	delete(m.due, key)
	switch {
	case m.running[key]:
		m.again[key] = true
	case !slices.Contains(m.ready, key):
		m.ready = append(m.ready, key)
	}
}

func (m *model) addAfter(key string, d time.Duration) bool {
	if d <= 0 {
		return m.add(key)
	}
	if m.phase != open {
		return false
	}
	m.postpone(key, time.Now().Add(d))
	return true
}

func (m *model) postpone(key string, due time.Time) {
	if m.again[key] || slices.Contains(m.ready, key) {
		return
	}
	if old, ok := m.due[key]; !ok || due.Before(old) {
		m.due[key] = due
	}
}

// tick makes ready what is due. Keys that are due at the same time were added
// by the test with different times, so their order is that of time.
func (m *model) tick() {
	for {
		first := ""
		for key, due := range m.due {
			if !due.After(time.Now()) && (first == "" || due.Before(m.due[first])) {
				first = key
			}
		}
		if first == "" {
			return
		}
		m.makeReady(first)
	}
}

func (m *model) get() (string, bool) {
	if len(m.ready) == 0 {
		return "", false
	}
	key := m.ready[0]
	m.ready = m.ready[1:]
	m.running[key] = true
	return key, true
}

// done ends a run. retry is when the queue has scheduled a failed key.
func (m *model) done(key string, result Result, retry time.Time) bool {
	if !m.running[key] {
		return false
	}
	delete(m.running, key)
	if result.Err != nil {
		m.fails[key]++
	} else {
		delete(m.fails, key)
	}
	switch {
	case m.again[key]:
		delete(m.again, key)
		m.makeReady(key)
	case m.phase != open:
		if result.Err != nil {
			m.dropped++
		}
		delete(m.fails, key)
	case result.After < 0:
		m.makeReady(key)
	case result.After > 0:
		m.postpone(key, time.Now().Add(result.After))
	case result.Err != nil:
		m.postpone(key, retry)
	}
	return true
}

func (m *model) drain() {
	m.phase = max(m.phase, draining)
	for len(m.due) > 0 {
		first := ""
		for key, due := range m.due {
			if first == "" || due.Before(m.due[first]) {
				first = key
			}
		}
		m.makeReady(first)
	}
}

func (m *model) close() {
	if m.phase == closed {
		return
	}
	m.phase = closed
	m.dropped += uint64(len(m.ready) + len(m.due) + len(m.again))
	m.ready, m.due, m.again = nil, map[string]time.Time{}, map[string]bool{}
}

func (m *model) idle() bool {
	return m.phase != open && len(m.ready)+len(m.running)+len(m.due) == 0
}

// TestModel does many things at random to a queue and to the oracle, and
// compares all that can be seen.
func TestModel(t *testing.T) {
	runs, steps := uint64(20), 3000
	if testing.Short() {
		runs = 5
	}
	for seed := range runs {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playModel(t, seed, steps) })
		})
	}
}

func playModel(t *testing.T, seed uint64, steps int) {
	rng := rand.New(rand.NewPCG(seed, 0))
	backoff := Backoff{Base: 10 * time.Millisecond, Max: time.Second}
	q := newQueue(t, Options{Backoff: backoff})
	m := newModel()
	drained := make(chan error, 1)
	keys := 1 + rng.IntN(60)
	drainAt, closeAt := steps-rng.IntN(400), steps-rng.IntN(400)
	// unique returns a delay that ends when no other does.
	nth := time.Duration(0)
	unique := func() time.Duration {
		nth++
		return time.Duration(rng.IntN(2000))*time.Millisecond + nth*time.Nanosecond
	}
	for step := range steps {
		synctest.Wait()
		m.tick()
		key := fmt.Sprint(rng.IntN(keys))
		switch {
		case step == drainAt:
			m.drain()
			go func() { drained <- q.Drain(context.Background()) }()
			synctest.Wait()
		case step == closeAt && seed%2 == 0:
			m.close()
			q.Close()
		}
		switch rng.IntN(8) {
		case 0, 1:
			if got, want := q.Add(key) == nil, m.add(key); got != want {
				t.Fatalf("step %d: Add %s: %v, want %v", step, key, got, want)
			}
		case 2, 3:
			d := unique() - time.Duration(rng.IntN(2)*int(time.Second))
			if got, want := q.AddAfter(key, d) == nil, m.addAfter(key, d); got != want {
				t.Fatalf("step %d: AddAfter %s: %v, want %v", step, key, got, want)
			}
		case 4, 5:
			want, ok := m.get()
			if !ok {
				break // an empty Get is the business of TestGetWaits
			}
			get(t, q, want)
		case 6:
			if len(m.running) > 0 && rng.IntN(10) > 0 {
				for key = range m.running {
					break
				}
			}
			modelDone(t, q, m, key, backoff, []Result{
				{}, {}, {Err: errFailed}, {After: unique()}, {After: -1}, {Err: errFailed, After: unique()},
			}[rng.IntN(6)])
		case 7:
			time.Sleep(time.Duration(rng.IntN(200)) * time.Millisecond)
		}
		synctest.Wait()
		m.tick()
		compare(t, step, q, m, keys)
	}
	finishModel(t, q, m, backoff)
	if drainAt < steps {
		<-drained
	}
}

func modelDone(t *testing.T, q *Queue[string], m *model, key string, backoff Backoff, result Result) {
	t.Helper()
	delayed, wasDelayed := m.due[key]
	got := q.Done(key, result) == nil
	var retry time.Time
	if r, ok := q.Why(key); ok && got && result.Err != nil && result.After == 0 && r.Place == Delayed {
		// The pause is drawn at random: take it from the queue if it may be.
		retry = r.Due
		ceiling := backoff.ceiling(uint32(r.Failures))
		if early := wasDelayed && retry.Equal(delayed); !early &&
			(time.Until(retry) < ceiling/2 || time.Until(retry) > ceiling) {
			t.Fatalf("pause of %v after %d failures", time.Until(retry), r.Failures)
		}
	}
	if want := m.done(key, result, retry); got != want {
		t.Fatalf("Done %s: %v, want %v", key, got, want)
	}
}

func compare(t *testing.T, step int, q *Queue[string], m *model, keys int) {
	t.Helper()
	s := q.Stats()
	if s.Ready != len(m.ready) || s.Delayed != len(m.due) || s.Running != len(m.running) || s.Dropped != m.dropped {
		t.Fatalf("step %d: %+v, want ready %d, delayed %d, running %d, dropped %d",
			step, s, len(m.ready), len(m.due), len(m.running), m.dropped)
	}
	for i := range keys {
		key := fmt.Sprint(i)
		r, ok := q.Why(key)
		due, delayed := m.due[key]
		ready := slices.Contains(m.ready, key)
		if ok != (m.running[key] || ready || delayed) {
			t.Fatalf("step %d: Why %s: %v", step, key, ok)
		}
		if !ok {
			continue
		}
		want := Delayed
		switch {
		case m.running[key]:
			want = Running
		case ready:
			want = Ready
		}
		if r.Place != want || r.Again != m.again[key] || !r.Due.Equal(due) || r.Failures != m.fails[key] {
			t.Fatalf("step %d: Why %s: %v, want %s, again %v, due %v, failures %d",
				step, key, r, want, m.again[key], due, m.fails[key])
		}
	}
}

// finishModel drains what is left and checks that nothing stays behind.
func finishModel(t *testing.T, q *Queue[string], m *model, backoff Backoff) {
	m.drain()
	ch := drain(context.Background(), q)
	for !m.idle() {
		pending(t, ch)
		if want, ok := m.get(); ok {
			get(t, q, want)
		}
		for key := range m.running {
			modelDone(t, q, m, key, backoff, Result{})
			break
		}
	}
	if err := <-ch; err != nil {
		t.Errorf("Drain: %v", err)
	}
	if len(q.shelf.items) != 0 || q.alarm.timer != nil {
		t.Errorf("left in the queue: %v, %v", q.shelf.items, q.alarm)
	}
}
