package leader

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/controller"
)

// gate stops a process: as long as it is closed, nothing that the process does gets
// past one of its points.
type gate struct {
	mu     sync.Mutex
	open   chan struct{} // nil if it is open; else closed when it opens
	opened time.Time     // when it was opened last
}

func (g *gate) pass() {
	for {
		g.mu.Lock()
		open := g.open
		g.mu.Unlock()
		if open == nil {
			return
		}
		<-open
	}
}

func (g *gate) shut() (reopen func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	open := make(chan struct{})
	g.open = open
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.open, g.opened = nil, time.Now()
		close(open)
	}
}

// sleeps reports whether the process is stopped, or was until this moment.
func (g *gate) sleeps() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open != nil || g.opened.Equal(time.Now())
}

// sleeper is a leadership of a process that can be stopped at any point. With reckless,
// it takes its term for valid as long as nobody has told it otherwise.
type sleeper struct {
	*gate
	controller.Leadership
	reckless bool
}

type sleeperTerm struct {
	sleeper
	controller.Term
}

func (s sleeper) Lead(ctx context.Context) (controller.Term, error) {
	t, err := s.Leadership.Lead(ctx)
	s.pass()
	if err != nil {
		return nil, err
	}
	return sleeperTerm{s, t}, nil
}

func (t sleeperTerm) Valid() bool {
	t.pass()
	return t.reckless || t.Term.Valid()
}

// election is a run of several processes, of which one at a time may work.
type election struct {
	t        *testing.T
	server   *apiservertest.Server
	ctx      context.Context
	reckless bool

	mu sync.Mutex
	// working are the processes that reconcile, by identity, and how much.
	working map[string]*worker
	// starts counts the reconciles, and led those who started some.
	starts   int
	led      map[string]bool
	mistakes []string
}

// worker is what is known of a process that reconciles.
type worker struct {
	*gate
	count int
}

// started checks that a process may start a reconcile.
func (e *election) started(identity string, g *gate) {
	holder := lease(e.t, e.server).Spec.HolderIdentity
	e.mu.Lock()
	defer e.mu.Unlock()
	e.starts++
	e.led[identity] = true
	if holder == nil || *holder != identity {
		e.mistakes = append(e.mistakes, fmt.Sprintf("%v: %s starts, but the holder is %q", time.Now(), identity, *holder))
	}
	for other, w := range e.working {
		if other != identity && !w.sleeps() {
			e.mistakes = append(e.mistakes, fmt.Sprintf("%v: %s starts, but %s is at work and awake", time.Now(), identity, other))
		}
	}
	if e.working[identity] == nil {
		e.working[identity] = &worker{gate: g}
	}
	e.working[identity].count++
}

func (e *election) ended(identity string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if w := e.working[identity]; w.count > 1 {
		w.count--
	} else {
		delete(e.working, identity)
	}
}

// live lets a process live until the run ends: each time it ends, it is started again
// under a new identity.
func (e *election) live(name string, random *rand.Rand) {
	for life := 0; e.ctx.Err() == nil; life++ {
		e.once(fmt.Sprintf("%s%d", name, life), random)
		pause(e.ctx, upTo(random, 10*time.Second))
	}
}

// once is one life of a process, with its misfortunes.
func (e *election) once(identity string, random *rand.Rand) {
	p, g := newProcess(e.t, e.server, identity), &gate{}
	p.wire.gate = g
	p.hook = g.pass
	ctx, stop := context.WithCancel(e.ctx)
	defer stop()
	seed := random.Uint64()
	var mu sync.Mutex
	takes := rand.New(rand.NewPCG(seed, 1))
	reconcile := func(ctx context.Context, _ types.NamespacedName) (controller.Result, error) {
		e.started(identity, g)
		defer e.ended(identity)
		mu.Lock()
		d := upTo(takes, 8*time.Second)
		mu.Unlock()
		pause(ctx, d)
		g.pass()
		return controller.Result{RequeueAfter: time.Second}, ctx.Err()
	}
	c, err := controller.New(identity, reconcile, controller.Options{
		Workers: 3, Leadership: sleeper{g, p, e.reckless}, OnError: func(context.Context, types.NamespacedName, error) {},
	})
	if err != nil {
		e.t.Fatal(err)
	}
	for n := range 5 {
		if err := c.Add(types.NamespacedName{Name: fmt.Sprint(n)}); err != nil {
			e.t.Fatal(err)
		}
	}
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{p.Run, c.Run} {
		running.Go(func() {
			defer stop()
			if err := run(ctx); err != nil && !errors.Is(err, controller.ErrNotLeading) {
				e.t.Errorf("%s: %v", identity, err)
			}
		})
	}
	e.haunt(ctx, p, g, random)
	stop()
	running.Wait()
}

// haunt stops a process, cuts its wire, or both, now and then, until it ends or is told
// to.
func (e *election) haunt(ctx context.Context, p *process, g *gate, random *rand.Rand) {
	for {
		pause(ctx, upTo(random, 40*time.Second))
		if ctx.Err() != nil || random.IntN(10) == 0 {
			return
		}
		var undo []func()
		what := 1 + random.IntN(3)
		if what&1 != 0 {
			undo = append(undo, g.shut())
		}
		if what&2 != 0 {
			undo = append(undo, p.wire.sever())
		}
		random.Shuffle(len(undo), func(i, j int) { undo[i], undo[j] = undo[j], undo[i] })
		for _, f := range undo {
			time.Sleep(upTo(random, 30*time.Second))
			f()
		}
	}
}

func upTo(random *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(d)))
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// hold runs three processes for ten minutes of virtual time.
func hold(t *testing.T, seed uint64, reckless bool) *election {
	e := &election{t: t, reckless: reckless, working: map[string]*worker{}, led: map[string]bool{}}
	synctest.Test(t, func(t *testing.T) {
		e.t, e.server = t, apiservertest.Start(t, apiserver.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		e.ctx = ctx
		var processes sync.WaitGroup
		for n, name := range []string{"a", "b", "c"} {
			random := rand.New(rand.NewPCG(seed, uint64(n)))
			processes.Go(func() { e.live(name, random) })
		}
		processes.Wait()
	})
	return e
}

const seeds = 20

func TestNoProcessStartsWorkWhileAnotherHoldsTheLease(t *testing.T) {
	starts, leaders := 0, 0
	for seed := range uint64(seeds) {
		e := hold(t, seed, false)
		for _, m := range e.mistakes {
			t.Errorf("seed %d: %s", seed, m)
		}
		starts += e.starts
		leaders += len(e.led)
		if t.Failed() {
			return
		}
	}
	if starts < 50*seeds || leaders < 3*seeds {
		t.Errorf("in %d runs, %d processes have led and started %d reconciles: too few to show anything", seeds, leaders, starts)
	}
}

func TestTheSimulationFindsAProcessThatDoesNotAskTheClock(t *testing.T) {
	for seed := range uint64(seeds) {
		if e := hold(t, seed, true); len(e.mistakes) > 0 {
			return
		}
	}
	t.Errorf("no mistake was found in %d runs", seeds)
}
