package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/informer"
)

func TestAContextThatHasEndedStartsNothing(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	bubble(t, "where all is synced", func(t *testing.T) {
		pods := newInformer(t, newServer(newPod("a", "")))
		start(t, pods)
		synctest.Wait()
		var s seen
		c := newController(t, s.reconcile, Options{})
		mustWatch(t, c, pods, Self)
		add(t, c, "by hand")
		if err := c.Run(ended); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
		s.expect(t)
		stop := run(t, c) // and it can be run again
		s.expect(t, "a")
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "and says what was missing where not", func(t *testing.T) {
		pods := newInformer(t, newServer())
		c := newController(t, succeed, Options{})
		mustWatch(t, c, pods, Self)
		if err := c.Run(ended); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "pods") {
			t.Errorf("Run: %v", err)
		}
		if s := c.Status(); s.Phase != Stopped {
			t.Errorf("%+v", s)
		}
	})
}

// TestAnOnErrorThatExitsLosesNoWorker has OnError do what a FailNow in it does.
func TestAnOnErrorThatExitsLosesNoWorker(t *testing.T) {
	for name, fail := range map[string]func() error{
		"of an error":           func() error { return errFailed },
		"of a panic":            func() error { panic("boom") },
		"of one that has ended": func() error { runtime.Goexit(); return nil },
	} {
		bubble(t, name, func(t *testing.T) {
			var calls, told atomic.Int32
			c := newController(t, func(_ context.Context, key types.NamespacedName) (Result, error) {
				if key.Name == "bad" && calls.Add(1) < 3 {
					return Result{}, fail()
				}
				return Result{}, nil
			}, Options{Workers: 1, OnError: func(context.Context, types.NamespacedName, error) { told.Add(1); runtime.Goexit() }})
			stop := run(t, c)
			add(t, c, "bad", "good")
			time.Sleep(time.Hour)
			synctest.Wait()
			s := c.Status()
			if calls.Load() != 3 || told.Load() < 2 || len(s.Reconciling) > 0 || s.Queue.Running > 0 || s.Queue.Ready > 0 {
				t.Errorf("%d calls, told %d times, %+v", calls.Load(), told.Load(), s)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// unhashable is an informer that cannot be the key of a map.
type unhashable struct {
	*informer.Informer[*corev1.Pod]
	more []string
}

func TestAnInformerThatCannotBeToldFromOthersIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, Options{})
		inf := unhashable{w.pods, nil}
		w.expect(t, 0, func(ctx context.Context) {
			never := func() (*corev1.Pod, error) { t.Error("written all the same"); return nil, nil }
			for name, err := range map[string]error{
				"write":  second(Write(ctx, inf, never)),
				"delete": Delete(ctx, inf, newPod("a", ""), func() error { return second(never()) }),
				"report": Wrote(ctx, inf, newPod("a", "")),
			} {
				if !errors.Is(err, errInvalid) || !strings.Contains(err.Error(), "pods") {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	})
}

func TestANilPredicateInsideAnotherIsReported(t *testing.T) {
	for name, where := range map[string]Predicate[*corev1.Pod]{
		"and": And[*corev1.Pod](nil), "or": Or[*corev1.Pod](nil), "not": Not[*corev1.Pod](nil),
		"field": FieldChanged[*corev1.Pod, int](nil),
	} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer(newPod("a", ""))
			pods := newInformer(t, srv)
			var s seen
			var r recorder
			c := newController(t, s.reconcile, Options{OnError: r.onError})
			if err := WatchWith(c, pods, Self, WatchOptions[*corev1.Pod]{Where: where}); err != nil {
				t.Fatal(err)
			}
			start(t, pods)
			stop := run(t, c)
			s.expect(t, "a")
			srv.put(newPod("a", "x"))
			s.expect(t, "a")
			if told := r.all(); len(told) != 1 || told[0].key != key("a") || c.Status().MapPanics != 1 {
				t.Errorf("told %v", told)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAHugeKeyMakesNoHugeError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		huge := types.NamespacedName{Namespace: strings.Repeat("n", 1<<20), Name: strings.Repeat("é", 1<<20)}
		var r recorder
		release := make(chan struct{})
		var calls int
		c := newController(t, func(context.Context, types.NamespacedName) (Result, error) {
			if calls++; calls == 1 {
				panic("boom")
			}
			<-release
			return Result{}, nil
		}, Options{OnError: r.onError, StopTimeout: time.Second})
		if err := c.Add(huge); err != nil {
			t.Fatal(err)
		}
		stop := run(t, c)
		time.Sleep(time.Hour)
		errs := []error{
			&ReceiptError{Key: huge, What: "it", Timeout: time.Second}, c.Healthy(time.Minute), stop(), c.Add(types.NamespacedName{Name: huge.Name}),
		}
		close(release)
		synctest.Wait()
		for _, told := range r.all() {
			errs = append(errs, told.err)
		}
		if errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil }); len(errs) != 4 {
			t.Errorf("%d errors", len(errs))
		}
		for _, err := range errs {
			if len(err.Error()) > 2000 {
				t.Errorf("%d bytes: %.100v", len(err.Error()), err)
			}
		}
		if msg := fmt.Sprint(errs[0]); !strings.HasPrefix(msg, "nnn") {
			t.Errorf("%.100s", msg)
		}
	})
}
