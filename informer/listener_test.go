package informer

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func TestAHandlerThatRemovesItselfIsNotCalledAgain(t *testing.T) {
	for range 20 { // the fault that it looks for was one of timing
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			for n := range 100 {
				w.set(fmt.Sprint(n), "1")
			}
			i := running(t, w, Options[*corev1.ConfigMap]{})
			calls := 0
			var reg *Registration
			ready := make(chan struct{})
			reg = handle(t, i, HandlerFunc[*corev1.ConfigMap](func(ctx context.Context, c Change[*corev1.ConfigMap]) {
				<-ready
				calls++
				reg.Remove()
				if ctx.Err() == nil {
					t.Error("Remove has returned and the context of the call goes on")
				}
			}), HandlerOptions[*corev1.ConfigMap]{})
			close(ready)
			<-reg.Done()
			if calls != 1 {
				t.Errorf("called %d times", calls)
			}
		})
	}
}

func TestStatusCountsWhatAHandlerHasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for n := range 100 {
			w.set(fmt.Sprint(n), "1")
		}
		i := running(t, w, Options[*corev1.ConfigMap]{})
		r := newRecorder()
		r.block = make(chan struct{})
		reg := handle(t, i, r, HandlerOptions[*corev1.ConfigMap]{})
		synctest.Wait()
		if s := reg.Status(); s.Pending != 100 || s.Delivered != 0 {
			t.Errorf("before the first return: %+v", s)
		}
		r.block <- struct{}{}
		synctest.Wait()
		if s := reg.Status(); s.Pending != 99 || s.Delivered != 1 {
			t.Errorf("after it: %+v", s)
		}
	})
}

func TestAHandlerThatEndsItsGoroutineGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for n := range 5 {
			w.set(fmt.Sprint(n), "1")
		}
		r := newRecorder()
		first := true
		var failed []error
		i := stopped(t, w, Options[*corev1.ConfigMap]{OnObjectError: func(e *ObjectError) { failed = append(failed, e) }})
		reg := handle(t, i, HandlerFunc[*corev1.ConfigMap](func(ctx context.Context, c Change[*corev1.ConfigMap]) {
			r.Handle(ctx, c)
			if first {
				first = false
				runtime.Goexit()
			}
		}), HandlerOptions[*corev1.ConfigMap]{})
		run(t, i)
		synctest.Wait()
		r.check(t, w.state())
		if !isClosed(reg.Synced()) {
			t.Error("the handler is not synced")
		}
		if len(failed) != 1 || !strings.Contains(failed[0].Error(), "ended its goroutine") {
			t.Errorf("reported %v", failed)
		}
		reg.Remove()
		synctest.Wait()
		if !isClosed(reg.Done()) {
			t.Error("the removed handler is not done")
		}
	})
}

func TestABusyHandlerIsResyncedAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("still", "1")
		i := running(t, w, Options[*corev1.ConfigMap]{})
		resyncs := 0
		handle(t, i, HandlerFunc[*corev1.ConfigMap](func(ctx context.Context, c Change[*corev1.ConfigMap]) {
			time.Sleep(time.Second)
			if c.Resync {
				resyncs++
			}
		}), HandlerOptions[*corev1.ConfigMap]{Resync: time.Minute})
		for n := range 1200 {
			w.set("busy", fmt.Sprint(n))
			time.Sleep(time.Second / 2)
		}
		// There are two objects, and what changed before a resync is told before it.
		if resyncs < 2*2 {
			t.Errorf("told of %d objects by resyncs in ten minutes", resyncs)
		}
	})
}

func TestAFilterThatPanicsOnAnObjectDoesNotMatchIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("a", "1")
		w.set("b", "1")
		var failed []string
		i := running(t, w, Options[*corev1.ConfigMap]{OnObjectError: func(e *ObjectError) { failed = append(failed, fmt.Sprint(e.Key.Name, " ", e.Stage)) }})
		r := newRecorder()
		reg := handle(t, i, r, HandlerOptions[*corev1.ConfigMap]{Filter: func(m *corev1.ConfigMap) bool {
			if m.Data["v"] == "bad" {
				panic("cannot tell")
			}
			return true
		}})
		if err := reg.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.told = nil // what is there comes in no order
		w.set("a", "bad")
		w.set("b", "2")
		expectTold(t, r, "Deleted a=bad", "Updated b=2")
		if len(failed) != 1 || failed[0] != "a handler" {
			t.Errorf("reported %q", failed)
		}
	})
}

func TestAFilterOverFoldedChangesKeepsTheChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 300
		w := newWorld()
		i := running(t, w, Options[*corev1.ConfigMap]{})
		matches := func(value string) bool { return value != "0" }
		r := newRecorder()
		reg := handle(t, i, HandlerFunc[*corev1.ConfigMap](func(ctx context.Context, c Change[*corev1.ConfigMap]) {
			r.Handle(ctx, c)
			time.Sleep(time.Second)
		}), HandlerOptions[*corev1.ConfigMap]{Budget: 1, Filter: func(m *corev1.ConfigMap) bool { return matches(m.Data["v"]) }})
		folded := false
		for round := range 30 {
			for n := range keys {
				if (n+round)%3 == 0 {
					w.delete(fmt.Sprint(n))
				} else {
					w.set(fmt.Sprint(n), fmt.Sprint(n*round%3))
				}
			}
			time.Sleep(20 * time.Second)
			folded = folded || reg.Status().Folding
		}
		time.Sleep(time.Hour)
		want := w.state()
		for name, value := range want {
			if !matches(value) {
				delete(want, name)
			}
		}
		r.check(t, want)
		if !folded {
			t.Error("the handler was never behind")
		}
	})
}

func TestAPanicThatIsToCrashIsReportedAndGoesOn(t *testing.T) {
	var reported *ObjectError
	boom := HandlerFunc[int](func(context.Context, Change[int]) { panic("boom") })
	for name, opts := range map[string]HandlerOptions[int]{
		"handler": {Crash: true},
		"filter":  {Crash: true, Filter: func(int) bool { panic("boom") }},
	} {
		reported = nil
		l := newListener(boom, opts, func(e *ObjectError) { reported = e })
		l.ctx = t.Context()
		func() {
			defer func() {
				if v := recover(); v != "boom" || reported == nil || reported.Stage != StageHandler {
					t.Errorf("%s: panicked with %v, reported %v", name, v, reported)
				}
			}()
			l.deliverAll([]Change[int]{{Type: Added}})
		}()
	}
}
