package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"heliograph.example/informer"
)

func TestAReconcileHasItsTime(t *testing.T) {
	bubble(t, "and its context ends after it, with the reason", func(t *testing.T) {
		var r recorder
		var cause error
		c := newController(t, func(ctx context.Context, _ types.NamespacedName) (Result, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return Result{RequeueAfter: time.Hour}, fmt.Errorf("get: %w", ctx.Err())
		}, Options{Timeout: time.Minute, OnError: r.onError})
		add(t, c, "a")
		stop := run(t, c)
		time.Sleep(time.Minute)
		synctest.Wait()
		if !errors.Is(cause, ErrTimeout) {
			t.Errorf("cause: %v", cause)
		}
		want := "the reconcile has timed out after 1m0s: get: context deadline exceeded"
		if told := r.all(); len(told) != 1 || !errors.Is(told[0].err, ErrTimeout) || told[0].err.Error() != want {
			t.Errorf("told: %v", told)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "and a panic after it is a panic", func(t *testing.T) {
		var r recorder
		c := newController(t, func(ctx context.Context, _ types.NamespacedName) (Result, error) {
			<-ctx.Done()
			panic(ctx.Err())
		}, Options{Timeout: time.Minute, OnError: r.onError})
		add(t, c, "a")
		stop := run(t, c)
		time.Sleep(time.Minute)
		synctest.Wait()
		if told := r.all(); len(told) != 1 || !isPanic(told[0].err) || c.Status().Panics != 1 {
			t.Errorf("told %v, %d panics", told, c.Status().Panics)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "and one that heeds nothing is seen, and holds up no other", func(t *testing.T) {
		release := make(chan struct{})
		c := newController(t, func(_ context.Context, key types.NamespacedName) (Result, error) {
			if key.Name == "stuck" {
				<-release
			}
			return Result{}, nil
		}, Options{Timeout: time.Minute})
		start := time.Now()
		add(t, c, "stuck")
		stop := run(t, c)
		time.Sleep(time.Hour)
		add(t, c, "a", "b", "c")
		synctest.Wait()
		s := c.Status()
		if want := []Reconciling{{key("stuck"), start}}; !slices.Equal(s.Reconciling, want) || s.Reconciles != 3 {
			t.Errorf("reconciling %v, %d reconciles", s.Reconciling, s.Reconciles)
		}
		close(release)
		synctest.Wait()
		if s := c.Status(); len(s.Reconciling) != 0 {
			t.Errorf("reconciling %v", s.Reconciling)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAnErrorCanNameTheTimeOfItsRetry(t *testing.T) {
	if err := RetryAfter(nil, time.Hour); err != nil {
		t.Errorf("RetryAfter(nil): %v", err)
	}
	for name, tt := range map[string]struct {
		result Result
		err    error
		want   time.Duration
	}{
		"wrapped":       {Result{}, fmt.Errorf("get: %w", RetryAfter(errFailed, time.Hour)), time.Hour},
		"at once":       {Result{}, RetryAfter(errFailed, -1), 0},
		"with a result": {Result{RequeueAfter: time.Minute}, RetryAfter(errFailed, time.Hour), time.Minute},
	} {
		bubble(t, name, func(t *testing.T) {
			start, last := time.Now(), time.Duration(0)
			calls := 0
			c := newController(t, func(context.Context, types.NamespacedName) (Result, error) {
				if calls++; calls == 1 {
					return tt.result, tt.err
				}
				last = time.Since(start)
				return Result{}, nil
			}, Options{})
			add(t, c, "a")
			stop := run(t, c)
			time.Sleep(24 * time.Hour)
			synctest.Wait()
			if calls != 2 || last != tt.want {
				t.Errorf("%d calls, the last after %v, want %v", calls, last, tt.want)
			}
			if s := c.Status(); !errors.Is(s.LastError, errFailed) || !strings.HasSuffix(s.LastError.Error(), "failed") {
				t.Errorf("last error: %v", s.LastError)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhatIsGivenUpStaysInSight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outcome := map[string]error{"a": Permanent(errFailed), "b": Permanent(errFailed), "c": nil}
		c := newController(t, func(_ context.Context, key types.NamespacedName) (Result, error) {
			return Result{}, outcome[key.Name]
		}, Options{Workers: 1, OnError: func(context.Context, types.NamespacedName, error) {}})
		expect := func(names ...string) {
			t.Helper()
			synctest.Wait()
			var got []string
			s := c.Status()
			for _, f := range s.GivenUp {
				got = append(got, f.Key.Name)
			}
			if !slices.Equal(got, names) || s.GivenUpKeys != len(names) {
				t.Errorf("given up: %q, %d; want %q", got, s.GivenUpKeys, names)
			}
		}
		began := time.Now()
		stop := run(t, c)
		add(t, c, "b", "c")
		synctest.Wait()
		time.Sleep(time.Minute)
		add(t, c, "a")
		expect("b", "a")
		time.Sleep(time.Minute)
		add(t, c, "b") // it fails with the same again
		expect("b", "a")
		if since := c.Status().GivenUp[0].Since; !since.Equal(began) {
			t.Errorf("b is given up since %v, want %v", since, began)
		}
		time.Sleep(time.Minute)
		outcome["b"] = nil
		add(t, c, "b")
		expect("a")
		for i := range maxFailures {
			name := fmt.Sprint("many", i)
			outcome[name] = Permanent(errFailed)
			add(t, c, name)
			synctest.Wait()
		}
		if s := c.Status(); len(s.GivenUp) != maxFailures || s.GivenUpKeys != maxFailures+1 {
			t.Errorf("%d listed of %d", len(s.GivenUp), s.GivenUpKeys)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		stop = run(t, c)
		expect()
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestTheLogIsToldOfAPermanentErrorOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger := ktesting.NewLogger(ktesting.NopTL{}, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(0)))
		err := Permanent(errFailed)
		c := newController(t, func(context.Context, types.NamespacedName) (Result, error) { return Result{}, err }, Options{})
		ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logger))
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		expect := func(n int) {
			t.Helper()
			add(t, c, "a")
			synctest.Wait()
			lines := logger.GetSink().(ktesting.Underlier).GetBuffer().Data()
			if len(lines) != n || len(c.Status().GivenUp) != 1 {
				t.Errorf("%d lines, want %d; given up: %v", len(lines), n, c.Status().GivenUp)
			}
		}
		for range 5 {
			expect(1)
		}
		err = Permanent(errors.New("something else"))
		for range 5 {
			expect(2)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestTheNumberOfWorkersChangesWhileTheyWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy atomic.Int32
		c := newController(t, func(context.Context, types.NamespacedName) (Result, error) {
			busy.Add(1)
			time.Sleep(time.Second)
			busy.Add(-1)
			return Result{}, nil
		}, Options{Workers: 2})
		for i := range 100 {
			add(t, c, fmt.Sprint(i))
		}
		stop := run(t, c)
		reconciles := uint64(0)
		for _, workers := range []int{2, 5, 1, 3} {
			if err := c.SetWorkers(workers); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second) // the surplus ends what it is at
			synctest.Wait()
			if n := busy.Load(); n != int32(workers) {
				t.Errorf("%d at work, want %d", n, workers)
			}
			before := c.Status().Reconciles
			time.Sleep(time.Second)
			synctest.Wait()
			reconciles = c.Status().Reconciles
			if reconciles-before != uint64(workers) || c.Status().Workers != workers {
				t.Errorf("%d reconciles in a second, want %d", reconciles-before, workers)
			}
		}
		if err := c.SetWorkers(0); !errors.Is(err, errInvalid) {
			t.Errorf("no workers: %v", err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if err := c.SetWorkers(4); err != nil { // for the next run
			t.Fatal(err)
		}
		for i := range 10 {
			add(t, c, fmt.Sprint(i))
		}
		stop = run(t, c)
		if n := busy.Load(); n != 4 {
			t.Errorf("%d at work in the next run, want 4", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAStopHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := newInformer(t, newServer(newPod("a", ""), newPod("b", "")))
		release, mapping := make(chan struct{}), make(chan struct{})
		c := newController(t, func(context.Context, types.NamespacedName) (Result, error) {
			<-release
			return Result{}, nil
		}, Options{Workers: 2, StopTimeout: time.Minute})
		mustWatch(t, c, pods, Self)
		start(t, pods)
		stop := run(t, c)
		mustWatch(t, c, pods, func(*corev1.Pod) []types.NamespacedName { <-mapping; return nil })
		synctest.Wait()
		began := time.Now()
		err := stop()
		var late *StopError
		if !errors.As(err, &late) || time.Since(began) != time.Minute {
			t.Fatalf("Run: %v after %v", err, time.Since(began))
		}
		if len(late.Reconciling) != 2 || late.Reconciling[0].Key != key("a") || !slices.Equal(late.Watches, []string{"pods"}) {
			t.Errorf("left: %+v", late)
		}
		for _, part := range []string{"1m0s after the stop", "default/a", "default/b", "watch of pods"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%q says nothing of %q", err, part)
			}
		}
		if s := c.Status(); s.Phase != Stopped || len(s.Reconciling) != 2 {
			t.Errorf("%+v", s)
		}
		if err := c.Run(t.Context()); !errors.Is(err, ErrRunning) || !errors.As(err, &late) {
			t.Errorf("Run while something is left: %v", err)
		}
		close(release)
		close(mapping)
		synctest.Wait()
		stop = run(t, c)
		if s := c.Status(); s.Phase != Running || s.Reconciles != 4 {
			t.Errorf("%+v", s)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	for name, opts := range map[string]Options{
		"negative timeout": {Workers: 1, Timeout: -1}, "negative stop timeout": {Workers: 1, StopTimeout: -1},
	} {
		if _, err := New("test", succeed, opts); !errors.Is(err, errInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnInformerThatStopsEndsTheRun(t *testing.T) {
	for name, late := range map[string]bool{"watched from the start": false, "watched later": true} {
		bubble(t, name, func(t *testing.T) {
			pods := newInformer(t, newServer(newPod("a", "")))
			c := newController(t, succeed, Options{})
			if !late {
				mustWatch(t, c, pods, Self)
			}
			ctx, cancel := context.WithCancel(t.Context())
			stopped := make(chan error, 1)
			go func() { stopped <- pods.Run(ctx) }()
			ended := make(chan error, 1)
			go func() { ended <- c.Run(t.Context()) }()
			synctest.Wait()
			if late {
				mustWatch(t, c, pods, Self)
			}
			synctest.Wait()
			cancel()
			if err := <-ended; !errors.Is(err, informer.ErrStopped) || !strings.HasPrefix(err.Error(), "controller test: pods: ") {
				t.Errorf("Run: %v", err)
			}
			if err := <-stopped; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAnInformerThatStopsTogetherWithTheControllerIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := newInformer(t, newServer(newPod("a", "")))
		c := newController(t, succeed, Options{})
		mustWatch(t, c, pods, Self)
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- pods.Run(ctx) }()
		stop := run(t, c)
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		// The informer has stopped, and whoever watches it knows, before the
		// context of the controller ends.
		synctest.Wait()
		if err := stop(); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
