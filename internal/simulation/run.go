package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/apiserver/fault"
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
	for i := range 2 {
		spec := s.mirrorSpec(i)
		m, err := newMirror(spec, s.world.config(), s.world.truth, newRecord(spec))
		if err != nil {
			return nil, err
		}
		s.mirrors = append(s.mirrors, m)
	}
	return s, nil
}

func (s *simulation) mirrorSpec(i int) MirrorSpec {
	spec := MirrorSpec{
		Name:      fmt.Sprint(mirrorAgent, i),
		Form:      pick(s.rnd, formTyped, formUnstructured, formMetadata),
		Paged:     s.rnd.IntN(3) == 0,
		PageSize:  1 + s.rnd.Int64N(4),
		Transform: s.rnd.IntN(3) == 0,

		WatchTimeout: 5*time.Minute + seconds(s.rnd, 300).Truncate(time.Second),
		Backoff:      500*time.Millisecond + seconds(s.rnd, 1),
	}
	switch s.rnd.IntN(4) {
	case 0:
		spec.Namespace = pick(s.rnd, namespaces...)
	case 1:
		spec.Colour = pick(s.rnd, colours...)
	}
	return spec
}

func (s *simulation) handlerSpec() HandlerSpec {
	s.names++
	spec := HandlerSpec{Name: fmt.Sprint("h", s.names), Seed: s.rnd.Uint64()}
	switch s.rnd.IntN(6) {
	case 0: // quick
	case 1:
		spec.Colour = pick(s.rnd, colours...)
	case 2:
		spec.Resync = seconds(s.rnd, 300) + time.Minute
	case 3:
		spec.Panics = true
	case 4:
		spec.Colour, spec.Resync, spec.Pause = pick(s.rnd, colours...), 5*time.Minute, seconds(s.rnd, 10)
	}
	if s.rnd.IntN(3) == 0 { // slow
		spec.Pause, spec.Budget = seconds(s.rnd, 30), 1+s.rnd.IntN(5)
	}
	return spec
}

// run is the whole simulation, up to the first promise that is broken.
func (s *simulation) run() *Failure {
	if s.rnd.IntN(2) == 0 {
		s.writers.burst(s.ctx, s.rnd, 5, 0)
	}
	for _, m := range s.mirrors {
		for range 1 + s.rnd.IntN(2) {
			if err := m.join(s.handlerSpec()); err != nil {
				return s.broken(err)
			}
		}
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
		m.record.add(Line{Do: lineCheck, Disordered: m.keeper.disordered})
		if f := m.check(); f != nil {
			return f
		}
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

// anyMirror is one of the informers.
func (s *simulation) anyMirror() *mirror { return s.mirrors[s.rnd.IntN(len(s.mirrors))] }

// disturb does what may happen at any time.
func (s *simulation) disturb() *Failure {
	server := s.world.running()
	switch n := s.rnd.IntN(100); {
	case n < 55 || server == nil && n < 75:
		return s.breakRequests()
	case n < 60:
		s.note("watches are dropped")
		server.DropWatches(configMaps)
	case n < 64:
		s.note("the caches are not ready")
		return s.done(server.Unready(configMaps))
	case n < 69:
		s.note("thaw")
		return s.done(server.Thaw(configMaps))
	case n < 75:
		on := s.rnd.IntN(3) == 0
		s.note("black hole: %v", on)
		server.BlackHole(on)
	case n < 83:
		m := s.anyMirror()
		s.note("start or stop")
		if m.cancel == nil {
			m.start(s.ctx)
			return nil
		}
		return m.stop()
	case n < 91:
		return s.done(s.anyMirror().join(s.handlerSpec()))
	case n < 95:
		m := s.anyMirror()
		m.leave(m.handlers[s.rnd.IntN(len(m.handlers))].spec.Name)
	default:
		s.note("all faults of requests end")
		s.world.script.Clear()
	}
	return nil
}

func (s *simulation) done(err error) *Failure {
	if err != nil {
		return s.broken(err)
	}
	return nil
}

// breakRequests adds a fault to the script.
func (s *simulation) breakRequests() *Failure {
	var names []string
	for _, m := range s.mirrors {
		names = append(names, m.spec.Name)
	}
	f := randomFault(s.rnd, names)
	if f.Illegal == fault.IllegalSwap {
		m := s.anyMirror()
		f.Client, m.keeper.disordered = m.spec.Name, true
		if !m.spec.Paged {
			f.Illegal = fault.IllegalReplay
		}
	}
	s.note("fault: %+v", f)
	return s.done(s.world.script.Add(f))
}

// upheave does what needs a moment in which nobody writes.
func (s *simulation) upheave() *Failure {
	synctest.Wait()
	server := s.world.running()
	if server == nil {
		return nil
	}
	switch n := s.rnd.IntN(100); {
	case n < 35:
		s.note("compaction at version %d", s.world.revision())
		// While a cache is not ready, the server need not do it.
		_ = server.Compact(s.ctx)
	case n < 50:
		s.note("the caches are frozen")
		// One that is not ready has no state to freeze.
		_ = server.Freeze(s.ctx, configMaps)
	case n < 70:
		s.backups = append(s.backups, s.world.backup())
	case n < 85:
		s.note("the server stops")
		s.world.down()
	default:
		return s.goBack()
	}
	return nil
}

// goBack restores an older state, and sees all informers follow.
//
// A server does not tell that it went back. An informer learns it from a list,
// and only if the server has not come again as far as the informer had: so all
// are up to date when it happens, and a 410 makes them list. Until they have,
// there are fewer writes than were lost.
func (s *simulation) goBack() *Failure {
	if len(s.backups) == 0 {
		return nil
	}
	b := s.backups[s.rnd.IntN(len(s.backups))]
	before := s.world.revision()
	if b.Revision() >= before {
		return nil
	}
	if f := s.settle(); f != nil {
		return f
	}
	before = s.world.revision()
	s.note("the server goes back from version %d to %d", before, b.Revision())
	if err := s.world.restore(b); err != nil {
		return s.broken(err)
	}
	for _, m := range s.mirrors {
		expired := fault.Fault{Verb: "watch", Client: m.spec.Name, Times: 1, Cut: fault.CutError, Code: 410}
		if err := s.world.script.Add(expired); err != nil {
			return s.broken(err)
		}
	}
	// A later state than the one gone back to is of no epoch that is left.
	var left []backup
	for _, other := range s.backups {
		if other.Revision() <= b.Revision() {
			left = append(left, other)
		}
	}
	s.backups = left
	deadline := time.Now().Add(patience)
	for !s.areBack(before) {
		if time.Now().After(deadline) {
			return &Failure{Check: checkBack, What: s.explain()}
		}
		// A burst makes at most three times two changes.
		if s.world.revision()+6 < before && s.rnd.IntN(2) == 0 {
			s.writers.burst(s.ctx, s.rnd, 1, 0)
		}
		time.Sleep(seconds(s.rnd, 20))
		if f := s.check(); f != nil {
			return f
		}
	}
	return nil
}

// areBack reports whether every informer has left the versions of before.
func (s *simulation) areBack(before uint64) bool {
	for _, m := range s.mirrors {
		if v, err := strconv.ParseUint(m.version(), 10, 64); err != nil || v >= before {
			return false
		}
	}
	return true
}

func (s *simulation) explain() string {
	var out string
	for _, m := range s.mirrors {
		out += m.explain() + "; "
	}
	return out
}

// settle mends all, starts all, and waits until everybody has what the server
// has.
func (s *simulation) settle() *Failure {
	s.note("everything is mended")
	if err := s.world.mend(); err != nil {
		return s.broken(err)
	}
	for _, m := range s.mirrors {
		m.start(s.ctx)
	}
	deadline := time.Now().Add(patience)
	for {
		if f := s.check(); f != nil {
			return f
		}
		late := s.late()
		if late == nil {
			return nil
		}
		if time.Now().After(deadline) {
			for _, m := range s.mirrors {
				m.record.add(Line{Do: lineEnd, Epoch: s.world.truth.now(), Version: s.world.revision()})
			}
			return late
		}
		time.Sleep(time.Minute)
	}
}

// late tells of an informer that does not have all that the server has.
func (s *simulation) late() *Failure {
	epoch, revision := s.world.truth.now(), s.world.revision()
	for _, m := range s.mirrors {
		lag := m.lag(m.view.at(epoch, revision))
		if v := m.version(); lag == "" && v != strconv.FormatUint(revision, 10) {
			lag = fmt.Sprintf("version %s instead of %d", v, revision)
		}
		if lag != "" {
			return m.failure(checkEnd, lag+" "+m.explain())
		}
	}
	return nil
}

// finish is the end of a seed: the exact list of the server is what everybody
// has.
func (s *simulation) finish() *Failure {
	if f := s.settle(); f != nil {
		return f
	}
	list, err := s.writers.clients[0].ConfigMaps("").List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return s.broken(err)
	}
	for _, m := range s.mirrors {
		want := make(map[types.NamespacedName]State)
		for i := range list.Items {
			key := types.NamespacedName{Namespace: list.Items[i].Namespace, Name: list.Items[i].Name}
			if state := m.view.sees(key, stateOf(&list.Items[i])); state.there() {
				want[key] = state
			}
		}
		if lag := m.lag(want); lag != "" {
			return m.failure(checkEnd, lag)
		}
	}
	return nil
}

// end stops everything.
func (s *simulation) end() {
	for _, m := range s.mirrors {
		_ = m.stop()
	}
	s.cancel()
	s.world.down()
	s.world.following.Wait()
	s.world.transport.CloseIdleConnections()
}
