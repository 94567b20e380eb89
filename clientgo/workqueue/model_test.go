package workqueue

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// TestTheQueueDoesWhatThatOfClientGoDoes does the same at random to a queue of ours
// and to one of client-go's, and compares all that can be seen after each step, their
// metrics too.
func TestTheQueueDoesWhatThatOfClientGoDoes(t *testing.T) {
	const seeds, steps = 40, 1000
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 1))
				p := newPair(rng.IntN(2) == 0)
				for step := range steps {
					p.step(t, rng)
					p.compare(t, step)
				}
				p.finish(t)
			})
		})
	}
}

// TestTheStorageIsUsedAsThatOfClientGoIs: with a storage of the caller's, which tells
// what was asked of it.
func TestTheStorageIsUsedAsThatOfClientGoIs(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 2))
			var stores [2]*stack
			for i := range stores {
				stores[i] = &stack{}
			}
			p := &pair{
				ours:   plain{NewTypedWithConfig(TypedQueueConfig[string]{Queue: stores[0]})},
				theirs: plain{workqueue.NewTypedWithConfig(TypedQueueConfig[string]{Queue: stores[1]})},
			}
			for step := range 500 {
				p.step(t, rng)
				p.compare(t, step)
				if !slices.Equal(stores[0].told, stores[1].told) {
					t.Fatalf("step %d: the storage was told %q, want %q", step, stores[0].told, stores[1].told)
				}
			}
			p.finish(t)
		})
	}
}

// stack is a storage that gives what came last, and notes what it is told.
type stack struct{ items, told []string }

func (s *stack) Touch(item string) { s.told = append(s.told, "touch "+item) }
func (s *stack) Push(item string) {
	s.told = append(s.told, "push "+item)
	s.items = append(s.items, item)
}
func (s *stack) Len() int { return len(s.items) }
func (s *stack) Pop() string {
	last := s.items[len(s.items)-1]
	s.items = s.items[:len(s.items)-1]
	s.told = append(s.told, "pop "+last)
	return last
}

// plain is a queue that cannot delay: AddAfter and AddRateLimited are Add.
type plain struct{ TypedInterface[string] }

func (p plain) AddAfter(item string, _ time.Duration) { p.Add(item) }
func (p plain) AddRateLimited(item string)            { p.Add(item) }
func (plain) Forget(string)                           {}
func (plain) NumRequeues(string) int                  { return 0 }

// pair is a queue of ours beside one of client-go's.
type pair struct {
	ours, theirs             TypedRateLimitingInterface[string]
	ourMetrics, theirMetrics counted
	running                  []string
	unique                   time.Duration
}

func newPair(metrics bool) *pair {
	p := &pair{}
	var ours, theirs TypedRateLimitingQueueConfig[string]
	if metrics {
		ours.Name, ours.MetricsProvider = "test", &p.ourMetrics
		theirs.Name, theirs.MetricsProvider = "test", &p.theirMetrics
	}
	limiter := func() TypedRateLimiter[string] {
		return unequal{NewTypedItemExponentialFailureRateLimiter[string](time.Millisecond, 2*time.Second), p}
	}
	p.ours = NewTypedRateLimitingQueueWithConfig(limiter(), ours)
	p.theirs = workqueue.NewTypedRateLimitingQueueWithConfig(limiter(), theirs)
	return p
}

// unequal is a limiter that never lets two items be due at once, as then client-go's
// order is one of chance.
type unequal struct {
	TypedRateLimiter[string]
	p *pair
}

func (u unequal) When(item string) time.Duration { return u.TypedRateLimiter.When(item) + u.p.unique }

func (p *pair) both(f func(q TypedRateLimitingInterface[string])) {
	f(p.ours)
	f(p.theirs)
}

func (p *pair) step(t *testing.T, rng *rand.Rand) {
	t.Helper()
	item := string(rune('a' + rng.IntN(8)))
	p.unique++
	switch rng.IntN(9) {
	case 0, 1:
		p.both(func(q TypedRateLimitingInterface[string]) { q.Add(item) })
	case 2, 3:
		d := time.Duration(rng.IntN(500))*time.Millisecond + p.unique - time.Duration(rng.IntN(2)*int(100*time.Millisecond))
		p.both(func(q TypedRateLimitingInterface[string]) { q.AddAfter(item, d) })
	case 4:
		p.both(func(q TypedRateLimitingInterface[string]) { q.AddRateLimited(item) })
	case 5, 6:
		p.get(t)
	case 7:
		p.done(rng)
	case 8:
		p.both(func(q TypedRateLimitingInterface[string]) { q.Forget(item) })
		time.Sleep(time.Duration(rng.IntN(100)) * time.Millisecond)
	}
	synctest.Wait()
}

// get takes an item from both if there is one, or if they do not wait any more.
func (p *pair) get(t *testing.T) {
	t.Helper()
	if p.theirs.Len() == 0 && !p.theirs.ShuttingDown() {
		return
	}
	got, gotEnd := p.ours.Get()
	want, wantEnd := p.theirs.Get()
	if got != want || gotEnd != wantEnd {
		t.Fatalf("Get: %q, %v, want %q, %v", got, gotEnd, want, wantEnd)
	}
	if !wantEnd {
		p.running = append(p.running, want)
	}
}

func (p *pair) done(rng *rand.Rand) {
	if len(p.running) == 0 {
		return
	}
	i := rng.IntN(len(p.running))
	item := p.running[i]
	p.running = slices.Delete(p.running, i, i+1)
	p.both(func(q TypedRateLimitingInterface[string]) { q.Done(item) })
}

func (p *pair) compare(t *testing.T, step int) {
	t.Helper()
	if got, want := p.ours.Len(), p.theirs.Len(); got != want {
		t.Fatalf("step %d: %d ready, want %d", step, got, want)
	}
	if got, want := p.ours.ShuttingDown(), p.theirs.ShuttingDown(); got != want {
		t.Fatalf("step %d: shutting down %v, want %v", step, got, want)
	}
	for item := 'a'; item < 'i'; item++ {
		if got, want := p.ours.NumRequeues(string(item)), p.theirs.NumRequeues(string(item)); got != want {
			t.Fatalf("step %d: %c was requeued %d times, want %d", step, item, got, want)
		}
	}
	if got, want := p.ourMetrics.String(), p.theirMetrics.String(); got != want {
		t.Fatalf("step %d: metrics\n%s, want\n%s", step, got, want)
	}
}

// finish shuts both down and lets what is left be worked on.
func (p *pair) finish(t *testing.T) {
	t.Helper()
	p.both(func(q TypedRateLimitingInterface[string]) { q.Add("z"); q.AddAfter("y", time.Second); q.ShutDown() })
	rng := rand.New(rand.NewPCG(1, 1))
	for step := 0; p.theirs.Len() > 0 || len(p.running) > 0; step++ {
		p.both(func(q TypedRateLimitingInterface[string]) { q.Add("x") })
		p.get(t)
		p.done(rng)
		p.compare(t, step)
	}
	p.get(t)
	time.Sleep(time.Minute) // in which client-go's goroutine ends
}
