package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/workqueue"
)

func TestWhatAReconcileReturns(t *testing.T) {
	// outcomes plays what a reconcile of "a" returns, time after time, and
	// records when it was called.
	outcomes := func(t *testing.T, opts Options, plays ...func() (Result, error)) (c *Controller, times *[]time.Duration, stop func() error) {
		start := time.Now()
		times = new([]time.Duration)
		c = newController(t, func(context.Context, types.NamespacedName) (Result, error) {
			*times = append(*times, time.Since(start))
			if n := len(*times); n <= len(plays) {
				return plays[n-1]()
			}
			return Result{}, nil
		}, opts)
		add(t, c, "a")
		stop = run(t, c)
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		return c, times, stop
	}
	result := func(r Result, err error) func() (Result, error) {
		return func() (Result, error) { return r, err }
	}
	backoff := workqueue.Backoff{Base: time.Minute, Max: 4 * time.Minute}

	bubble(t, "nothing: the key rests", func(t *testing.T) {
		c, times, stop := outcomes(t, Options{})
		if want := []time.Duration{0}; !slices.Equal(*times, want) {
			t.Errorf("called at %v, want %v", *times, want)
		}
		if s := c.Status(); s.Reconciles != 1 || s.Errors != 0 || s.LastError != nil {
			t.Errorf("%+v", s)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "a wish: it comes after that time", func(t *testing.T) {
		_, times, stop := outcomes(t, Options{}, result(Result{RequeueAfter: time.Hour}, nil), result(Result{RequeueAfter: -1}, nil))
		if want := []time.Duration{0, time.Hour, time.Hour}; !slices.Equal(*times, want) {
			t.Errorf("called at %v, want %v", *times, want)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "errors: it comes after pauses that grow, and are forgotten by success", func(t *testing.T) {
		var r recorder
		fail := result(Result{}, errFailed)
		c, times, stop := outcomes(t, Options{Backoff: backoff, OnError: r.onError},
			fail, fail, fail, fail, result(Result{RequeueAfter: time.Hour}, nil), fail)
		if len(*times) != 7 {
			t.Fatalf("called at %v", *times)
		}
		for i, ceiling := range []time.Duration{1, 2, 4, 4, 60, 1} {
			ceiling *= time.Minute
			if pause := (*times)[i+1] - (*times)[i]; pause < ceiling/2 || pause > ceiling {
				t.Errorf("pause %d: %v, want up to %v", i, pause, ceiling)
			}
		}
		s := c.Status()
		if s.Reconciles != 7 || s.Errors != 5 || s.Panics != 0 || s.Permanent != 0 || s.LastError != errFailed || s.LastErrorKey != key("a") {
			t.Errorf("%+v", s)
		}
		if told := r.all(); len(told) != 5 || told[0].err != errFailed || told[0].key != key("a") {
			t.Errorf("told: %v", told)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "an error with a wish: the wish is the pause", func(t *testing.T) {
		_, times, stop := outcomes(t, Options{}, result(Result{RequeueAfter: time.Hour}, errFailed))
		if want := []time.Duration{0, time.Hour}; !slices.Equal(*times, want) {
			t.Errorf("called at %v, want %v", *times, want)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "a permanent error: it is told and not tried again", func(t *testing.T) {
		var r recorder
		permanent := fmt.Errorf("spec.size: %w", Permanent(errFailed))
		c, times, stop := outcomes(t, Options{OnError: r.onError}, result(Result{RequeueAfter: time.Hour}, permanent))
		if len(*times) != 1 {
			t.Errorf("called at %v", *times)
		}
		if s := c.Status(); s.Reconciles != 1 || s.Errors != 1 || s.Permanent != 1 {
			t.Errorf("%+v", s)
		}
		if told := r.all(); len(told) != 1 || told[0].err != permanent {
			t.Errorf("told: %v", told)
		}
		add(t, c, "a")
		synctest.Wait()
		if len(*times) != 2 {
			t.Errorf("called at %v after it was added", *times)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "a panic: it is told and tried again, whatever its value", func(t *testing.T) {
		var r recorder
		c, times, stop := outcomes(t, Options{OnError: r.onError, Backoff: backoff},
			func() (Result, error) { panic("boom") },
			func() (Result, error) { panic(Permanent(errFailed)) })
		if len(*times) != 3 {
			t.Errorf("called at %v", *times)
		}
		if s := c.Status(); s.Reconciles != 3 || s.Errors != 2 || s.Panics != 2 || s.Permanent != 0 {
			t.Errorf("%+v", s)
		}
		told := r.all()
		if len(told) != 2 {
			t.Fatalf("told: %v", told)
		}
		p, ok := told[0].err.(*PanicError)
		if !ok || p.Key != key("a") || p.Value != "boom" || !strings.Contains(string(p.Stack), "worker_test.go") {
			t.Errorf("told: %v", told[0].err)
		}
		if p.Error() != "panic on default/a: boom" || !errors.Is(told[1].err, errFailed) {
			t.Errorf("told: %v", told)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "never: another worker takes the place of one that exits", func(t *testing.T) {
		var r recorder
		exit := func() (Result, error) { runtime.Goexit(); return Result{}, nil }
		c, times, stop := outcomes(t, Options{Workers: 1, OnError: r.onError}, exit, exit)
		if len(*times) != 3 {
			t.Errorf("called at %v", *times)
		}
		if s := c.Status(); s.Reconciles != 3 || s.Errors != 2 {
			t.Errorf("%+v", s)
		}
		if told := r.all(); len(told) != 2 || !errors.Is(told[0].err, ErrExited) {
			t.Errorf("told: %v", told)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "an error, and OnError panics: the worker goes on", func(t *testing.T) {
		opts := Options{Workers: 1, OnError: func(context.Context, types.NamespacedName, error) { panic("OnError") }}
		_, times, stop := outcomes(t, opts, result(Result{}, errFailed))
		if len(*times) != 2 {
			t.Errorf("called at %v", *times)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestPermanentKeepsTheError(t *testing.T) {
	if err := Permanent(nil); err != nil {
		t.Errorf("Permanent(nil): %v", err)
	}
	err := Permanent(errFailed)
	if !errors.Is(err, ErrPermanent) || !errors.Is(err, errFailed) || err.Error() != "failed" {
		t.Errorf("%v", err)
	}
	if errors.Is(errFailed, ErrPermanent) {
		t.Error("every error is permanent")
	}
}
