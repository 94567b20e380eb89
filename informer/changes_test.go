package informer

import (
	"fmt"
	"iter"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
)

func TestASuspendedLoopCostsAtMostOnePendingChangePerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("a", "first")
		// A loop that looks at objects falls behind the writer, and the queue folds.
		i := running(t, w, Options[*corev1.ConfigMap]{Mutations: IgnoreMutations})
		next, stop := iter.Pull(i.Changes(t.Context()))
		defer stop()
		if c, ok := next(); !ok || describe(c) != "Added a=first initial" {
			t.Errorf("first change: %s, %v", describe(c), ok)
		}
		for n := range 2 * DefaultBudget {
			w.set("a", fmt.Sprint(n))
		}
		w.set("a", "last")
		synctest.Wait()
		if h := i.Status().Handlers[0]; h.Pending > 2 || !h.Folding {
			t.Errorf("status %+v, want the change in hand and one that waits", h)
		}
		if c, ok := next(); !ok || describe(c) != "Updated a=last" || c.Old.Data["v"] != "first" {
			t.Errorf("second change: %s from %v, %v", describe(c), c.Old, ok)
		}
	})
}

func TestALoopThatPanicsLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("a", "1")
		i := running(t, w, Options[*corev1.ConfigMap]{})
		func() {
			defer func() {
				if v := recover(); v != "enough" {
					t.Errorf("recovered %v", v)
				}
			}()
			for range i.Changes(t.Context()) {
				panic("enough")
			}
		}()
		if n := len(i.Status().Handlers); n != 0 {
			t.Errorf("%d listeners are left", n)
		}
	})
}
