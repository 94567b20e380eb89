package informer

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestARestartGoesOnWhereTheLastRunEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("a", "1")
		i := stopped(t, w, Options[*corev1.ConfigMap]{})
		r := newRecorder()
		handle(t, i, r, HandlerOptions[*corev1.ConfigMap]{})
		stop := run(t, i)
		if err := i.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		stop()
		w.set("a", "2")
		w.set("b", "1")
		requests := w.lists
		run(t, i)
		expectTold(t, r, "Added a=1 initial", "Updated a=2", "Added b=1")
		if w.lists != requests {
			t.Error("the restart listed although the history was there")
		}
	})
}

func TestChangesPendingAtAStopAreToldInTheNextRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		i := stopped(t, w, Options[*corev1.ConfigMap]{})
		r := newRecorder()
		r.block = make(chan struct{})
		handle(t, i, r, HandlerOptions[*corev1.ConfigMap]{})
		stop := run(t, i)
		synctest.Wait()
		for n := range 5 {
			w.set("a", fmt.Sprint(n))
		}
		synctest.Wait()
		stop()
		close(r.block)
		run(t, i)
		synctest.Wait()
		if got := r.log(); len(got) != 5 {
			t.Errorf("told %q", got)
		}
		r.check(t, w.state())
	})
}

func TestWaitExplainsWhatStandsInTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.refuse = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no list for you"))
		i := stopped(t, w, Options[*corev1.ConfigMap]{})
		stop := run(t, i)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		err := i.Wait(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !apierrors.IsForbidden(err) {
			t.Errorf("Wait: %v", err)
		}
		for _, part := range []string{"configmaps", "forbidden", "no list for you", "tries"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q does not say %q", err, part)
			}
		}
		stop()
		if err := i.Wait(t.Context()); !errors.Is(err, ErrStopped) {
			t.Errorf("Wait after the stop: %v", err)
		}
	})
}

func TestWaitCoversTheHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("a", "1")
		w.set("b", "1")
		i := stopped(t, w, Options[*corev1.ConfigMap]{})
		calls := 0
		handle(t, i, HandlerFunc[*corev1.ConfigMap](func(context.Context, Change[*corev1.ConfigMap]) {
			time.Sleep(time.Hour)
			calls++
		}), HandlerOptions[*corev1.ConfigMap]{Name: "sleepy"})
		run(t, i)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := i.Wait(ctx); err == nil || !strings.Contains(err.Error(), "sleepy") {
			t.Errorf("Wait: %v", err)
		}
		if err := i.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if calls != 2 {
			t.Errorf("Wait returned after %d of 2 calls", calls)
		}
	})
}

func TestOnlyOneRunAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := running(t, newWorld(), Options[*corev1.ConfigMap]{})
		if err := i.Run(t.Context()); !errors.Is(err, ErrRunning) {
			t.Errorf("second Run: %v", err)
		}
	})
}

func TestWaitDoesNotMindARemovedHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		i := stopped(t, w, Options[*corev1.ConfigMap]{})
		reg := handle(t, i, newRecorder(), HandlerOptions[*corev1.ConfigMap]{})
		done := make(chan error)
		go func() { done <- i.Wait(t.Context()) }()
		synctest.Wait()
		reg.Remove()
		run(t, i)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestWaitDoesNotBlameWhatWasMended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("a", "1")
		w.refuse = apierrors.NewServiceUnavailable("down")
		i := stopped(t, w, Options[*corev1.ConfigMap]{})
		r := newRecorder()
		r.block = make(chan struct{})
		handle(t, i, r, HandlerOptions[*corev1.ConfigMap]{Name: "slow"})
		run(t, i)
		time.Sleep(time.Second)
		w.mu.Lock()
		w.refuse = nil
		w.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := i.Wait(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), "slow") {
			t.Errorf("Wait: %v", err)
		}
	})
}

func TestWaitAfterAStopTellsTheLastError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.refuse = apierrors.NewServiceUnavailable("down for now")
		i := stopped(t, w, Options[*corev1.ConfigMap]{})
		stop := run(t, i)
		time.Sleep(time.Minute)
		stop()
		err := i.Wait(t.Context())
		if !errors.Is(err, ErrStopped) || !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), "down for now") {
			t.Errorf("Wait: %v", err)
		}
	})
}

func TestATransformThatEndsItsGoroutineEndsTheRunAndTheGoroutineThatCalledIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("a", "1")
		i := stopped(t, w, Options[*corev1.ConfigMap]{Transform: func(m *corev1.ConfigMap) (*corev1.ConfigMap, error) {
			runtime.Goexit()
			return m, nil
		}})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			err := i.Run(t.Context())
			t.Errorf("Run has returned: %v", err) // its goroutine has ended, as the transform asked
		}()
		<-ended
		if err := i.Wait(t.Context()); !errors.Is(err, ErrStopped) || !errors.Is(err, errGoexit) {
			t.Errorf("Wait: %v", err)
		}
	})
}
