package simulation

import (
	"net/http"
	"slices"
	"strconv"
	"testing/synctest"
	"time"

	"heliograph.example/apiserver/fault"
)

// anyMirror is one of the informers.
func (s *simulation) anyMirror() *mirror { return s.mirrors[s.rnd.IntN(len(s.mirrors))] }

// disturb does what may happen at any time.
func (s *simulation) disturb() *Failure {
	server := s.world.running()
	switch n := s.rnd.IntN(100); {
	case n < 50 || server == nil && n < 75:
		return s.breakRequests()
	case n < 55:
		m := s.anyMirror()
		on := !m.poisoned.Load()
		s.note("%s is poisoned: %v", m.spec.Name, on)
		m.poison(on)
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
	case n < 77:
		return s.replace(s.rnd.IntN(len(s.mirrors)))
	case n < 84:
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

// replace puts another informer in the place of one, as a program that starts
// anew does: it knows nothing but the version that it must not fall behind.
func (s *simulation) replace(i int) *Failure {
	old := s.mirrors[i]
	s.note("%s is replaced", old.spec.Name)
	if f := old.stop(); f != nil {
		return f
	}
	synctest.Wait()
	if f := old.check(); f != nil {
		return f
	}
	old.release()
	spec := s.mirrorSpec(i)
	spec.Namespace, spec.Colour, spec.Minimum = old.spec.Namespace, old.spec.Colour, old.version()
	s.tally.Faults++
	if err := s.bear(i, spec); err != nil {
		return s.broken(err)
	}
	if old.gaps.isAllowed() {
		// What the script has in store for the name strikes this one.
		s.mirrors[i].gaps.allow()
	}
	s.mirrors[i].start(s.ctx)
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
		return s.disorder(f)
	}
	s.note("fault: %+v", f)
	return s.done(s.world.script.Add(f))
}

// disorder adds a fault that swaps two frames, of a streaming list too. One that is
// for streaming lists only holds the last of the objects back behind the end of the
// list, if nobody writes before that, and there is a list soon.
func (s *simulation) disorder(f fault.Fault) *Failure {
	m := s.anyMirror()
	f.Client = m.spec.Name
	faults := []fault.Fault{f}
	m.gaps.allow()
	if f.Streaming {
		f.AfterEvents = max(0, len(m.view.at(s.world.truth.now(), s.world.revision()))-1)
		faults = []fault.Fault{f, {Verb: "watch", Client: f.Client, Times: 1, Cut: fault.CutError, Code: http.StatusGone}}
	}
	s.note("faults: %+v", faults)
	return s.done(s.world.script.Add(faults...))
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
// and only if the server has not come again as far as the informer had: so all are
// up to date when it happens, and until they have followed there are fewer writes
// than were lost. A 410 makes them list, or, where the server was started anew,
// their own doubt about a watch that is silent.
func (s *simulation) goBack() *Failure {
	if len(s.backups) == 0 {
		return nil
	}
	b := s.backups[s.rnd.IntN(len(s.backups))]
	if b.Revision() >= s.world.revision() {
		return nil
	}
	if f := s.settle(); f != nil {
		return f
	}
	before := s.world.revision()
	s.note("the server goes back from version %d to %d", before, b.Revision())
	if err := s.restore(b); err != nil {
		return s.broken(err)
	}
	// A later state than the one gone back to is of no epoch that is left.
	s.backups = slices.DeleteFunc(s.backups, func(other backup) bool { return other.Revision() > b.Revision() })
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

// restore puts a backup into the server that runs, or into another.
func (s *simulation) restore(b backup) error {
	if s.rnd.IntN(2) == 0 {
		return s.world.restart(b, seconds(s.rnd, 60))
	}
	if err := s.world.restore(b); err != nil {
		return err
	}
	for _, m := range s.mirrors {
		expired := fault.Fault{Verb: "watch", Client: m.spec.Name, Times: 1, Cut: fault.CutError, Code: http.StatusGone}
		if err := s.world.script.Add(expired); err != nil {
			return err
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
