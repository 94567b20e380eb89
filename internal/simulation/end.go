package simulation

import (
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (s *simulation) explain() string {
	var out string
	for _, m := range s.mirrors {
		out += m.status().Explain() + "; "
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
		m.poison(false)
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
		if n := m.status().Broken; lag == "" && n > 0 {
			lag = fmt.Sprintf("%d objects are marked as broken", n)
		}
		if lag != "" {
			return m.failure(checkEnd, lag+" "+m.status().Explain())
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
		m.release()
	}
	s.cancel()
	s.world.down()
	s.world.following.Wait()
	s.world.transport.CloseIdleConnections()
}
