package informer

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
)

func TestChangesIsALoopOverWhatIsThereAndEachChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("a", "1")
		i := stopped(t, w, Options[*corev1.ConfigMap]{})
		var got []string
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for c := range i.Changes(t.Context()) {
				got = append(got, describe(c))
			}
		}()
		stop := run(t, i)
		synctest.Wait()
		w.set("a", "2")
		synctest.Wait()
		stop()
		<-ended
		if want := []string{"Added a=1 initial", "Updated a=2"}; !slices.Equal(got, want) {
			t.Errorf("the loop saw %q, want %q", got, want)
		}
		if n := len(i.Status().Handlers); n != 0 {
			t.Errorf("the loop left %d listeners", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for c := range i.Changes(ctx) {
			t.Errorf("%s after the context's end", describe(c))
		}
	})
}

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
