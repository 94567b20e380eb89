package informer

import (
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"heliograph.example/reflector"
)

func TestSubscribersFollowTheReaderUntilTheyCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := stopped(t, newWorld(), Options[*corev1.ConfigMap]{})
		var states []reflector.State
		cancel := i.Subscribe(func(s reflector.Status) { states = append(states, s.State) })
		stop := run(t, i)
		if err := i.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the store has the state before the reader goes on to watch
		stop()
		n := len(states)
		if n < 3 || states[0] != reflector.Starting || !slices.Contains(states, reflector.Watching) || states[n-1] != reflector.Stopped {
			t.Errorf("states: %v", states)
		}
		cancel()
		stop = run(t, i)
		synctest.Wait()
		stop()
		if len(states) != n {
			t.Errorf("told after cancel: %v", states[n:])
		}
	})
}
