package simulation

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"heliograph.example/reflector"
)

const (
	mirrorAgent = "mirror"
	// patience is how long, in virtual time, informers may take to come to the
	// state of a server with which nothing is wrong: a dead watch is noticed
	// after ten minutes and a half, and a pause can last for five more.
	patience = time.Hour
)

// Tally is what a run went through.
type Tally struct {
	// Events is the number of changes that handlers were told, Faults that of
	// the things that were done to the server and to the informers.
	Events, Faults int
}

// Outcome is the result of one seed.
type Outcome struct {
	Tally
	// Failure is nil if all promises were kept.
	Failure *Failure

	mirrors []*mirror
	truth   *Truth
}

// Record is what an informer of the run went through; nil if there is none of
// the name.
func (o *Outcome) Record(name string) []Line {
	for _, m := range o.mirrors {
		if m.spec.Name == name {
			return m.record.with(o.truth)
		}
	}
	return nil
}

// Run simulates one seed in a bubble of its own.
func Run(t *testing.T, seed uint64) (out Outcome) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		s, err := newSimulation(ctx, t, seed)
		if err == nil {
			out.Failure = s.run()
			s.end()
			out.Tally, out.mirrors, out.truth = s.tally, s.mirrors, s.world.truth
		} else {
			out.Failure = &Failure{Check: "the simulation", What: err.Error()}
		}
		cancel()
	})
	return out
}

// simulation is one seed under way. All of it belongs to the goroutine of the
// bubble.
type simulation struct {
	ctx     context.Context
	cancel  context.CancelFunc
	rnd     *rand.Rand
	world   *world
	writers *writers
	mirrors []*mirror
	// group is shared by all informers.
	group   *reflector.Group
	backups []backup
	tally   Tally
	// names counts the handlers, for their names.
	names int
}

func newSimulation(ctx context.Context, t *testing.T, seed uint64) (*simulation, error) {
	s := &simulation{rnd: rand.New(rand.NewPCG(seed, 0))}
	s.ctx, s.cancel = context.WithCancel(ctx)
	var err error
	if s.world, err = newWorld(s.ctx, t); err != nil {
		return nil, err
	}
	if s.writers, err = newWriters(s.world, 3); err != nil {
		return nil, err
	}
	if s.rnd.IntN(2) == 0 {
		if s.group, err = reflector.NewGroup(1); err != nil {
			return nil, err
		}
	}
	s.mirrors = make([]*mirror, 2)
	for i := range s.mirrors {
		if err := s.bear(i, s.mirrorSpec(i)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// bear makes an informer with handlers.
func (s *simulation) bear(i int, spec MirrorSpec) error {
	m, err := newMirror(spec, s.world, s.group)
	if err != nil {
		return err
	}
	s.mirrors[i] = m
	for range 1 + s.rnd.IntN(2) {
		if err := m.join(s.handlerSpec()); err != nil {
			return err
		}
	}
	return nil
}

// run is the whole simulation, up to the first promise that is broken.
func (s *simulation) run() *Failure {
	if s.rnd.IntN(2) == 0 {
		s.writers.burst(s.ctx, s.rnd, 5, 0)
	}
	for _, m := range s.mirrors {
		m.start(s.ctx)
	}
	for range 20 + s.rnd.IntN(30) {
		if f := s.step(); f != nil {
			return f
		}
		if f := s.check(); f != nil {
			return f
		}
	}
	return s.finish()
}

// broken is a failure of the simulation itself.
func (s *simulation) broken(err error) *Failure {
	return &Failure{Check: "the simulation", What: err.Error()}
}

func (s *simulation) done(err error) *Failure {
	if err != nil {
		return s.broken(err)
	}
	return nil
}

// check waits until nothing is under way, and checks everything.
func (s *simulation) check() *Failure {
	synctest.Wait()
	s.world.mu.Lock()
	trouble := s.world.trouble
	s.world.mu.Unlock()
	if trouble != nil {
		return s.broken(trouble)
	}
	if s.writers.refused != nil {
		return s.broken(s.writers.refused)
	}
	for _, m := range s.mirrors {
		for _, h := range m.handlers {
			s.tally.Events += len(h.told)
		}
		m.record.add(Line{Do: lineCheck, Gaps: m.gaps.isAllowed()})
		if f := m.check(); f != nil {
			return f
		}
		m.look(s.rnd)
	}
	return nil
}

// step is one of very different things, most often writes.
func (s *simulation) step() *Failure {
	s.pause()
	if s.world.running() == nil && s.rnd.IntN(3) == 0 {
		s.note("the server starts")
		return s.done(s.world.up())
	}
	if s.rnd.IntN(3) > 0 {
		// Writers and what is done to informers and server meanwhile.
		done := make(chan struct{})
		mine := rand.New(rand.NewPCG(s.rnd.Uint64(), 0))
		go func() {
			defer close(done)
			s.writers.burst(s.ctx, mine, 4, 2*time.Second)
		}()
		var f *Failure
		if s.rnd.IntN(2) == 0 {
			time.Sleep(seconds(s.rnd, 2))
			f = s.disturb()
		}
		<-done
		return f
	}
	if s.rnd.IntN(2) == 0 {
		return s.disturb()
	}
	return s.upheave()
}

// pause lets time pass, or not.
func (s *simulation) pause() {
	switch n := s.rnd.IntN(20); {
	case n < 8:
	case n < 14:
		time.Sleep(seconds(s.rnd, 5))
	case n < 19:
		time.Sleep(seconds(s.rnd, 120))
	default:
		time.Sleep(seconds(s.rnd, 15*60))
	}
}

func (s *simulation) note(format string, args ...any) {
	s.tally.Faults++
	for _, m := range s.mirrors {
		m.record.note(format, args...)
	}
}
