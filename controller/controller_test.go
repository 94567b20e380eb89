package controller

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/workqueue"
)

var errFailed = errors.New("failed")

// key is a key in the namespace of the tests.
func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: name}
}

// told is an error that OnError was told of.
type told struct {
	key types.NamespacedName
	err error
}

// recorder collects what OnError is told.
type recorder struct {
	mu   sync.Mutex
	told []told
}

func (r *recorder) onError(_ context.Context, key types.NamespacedName, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, told{key, err})
}

func (r *recorder) all() []told {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.told)
}

func newController(t *testing.T, reconcile Reconciler, opts Options) *Controller {
	t.Helper()
	if opts.Workers == 0 {
		opts.Workers = 2
	}
	c, err := New("test", reconcile, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func add(t *testing.T, c *Controller, names ...string) {
	t.Helper()
	for _, name := range names {
		if err := c.Add(key(name)); err != nil {
			t.Fatal(err)
		}
	}
}

// run runs a controller until stop is called, which returns what Run did.
func run(t *testing.T, c *Controller) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	synctest.Wait()
	return func() error {
		cancel()
		return <-ended
	}
}

// bubble runs a test in a bubble.
func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func succeed(context.Context, types.NamespacedName) (Result, error) { return Result{}, nil }

func TestBadArgumentsAreErrors(t *testing.T) {
	for name, make := range map[string]func() (*Controller, error){
		"no name":       func() (*Controller, error) { return New("", succeed, Options{Workers: 1}) },
		"no reconciler": func() (*Controller, error) { return New("test", nil, Options{Workers: 1}) },
		"a leadership that is nil": func() (*Controller, error) {
			return New("test", succeed, Options{Workers: 1, Leadership: (*throne)(nil)})
		},
		"no workers":       func() (*Controller, error) { return New("test", succeed, Options{}) },
		"negative workers": func() (*Controller, error) { return New("test", succeed, Options{Workers: -1}) },
		"bad back-off": func() (*Controller, error) {
			return New("test", succeed, Options{Workers: 1, Backoff: workqueue.Backoff{Base: -1}})
		},
		"bad rate": func() (*Controller, error) { return New("test", succeed, Options{Workers: 1, Rate: -1}) },
	} {
		t.Run(name, func(t *testing.T) {
			if c, err := make(); err == nil || c != nil {
				t.Errorf("New: %v, %v", c, err)
			}
		})
	}
	t.Run("no context", func(t *testing.T) {
		var missing context.Context
		if err := newController(t, succeed, Options{}).Run(missing); err == nil {
			t.Error("no error")
		}
	})
}

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
		if !ok || p.Key != key("a") || p.Value != "boom" || !strings.Contains(string(p.Stack), "controller_test.go") {
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

func TestWorkersShareTheKeysAndNeverOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 5
		var busy, most atomic.Int32
		var held sync.Map
		c := newController(t, func(_ context.Context, key types.NamespacedName) (Result, error) {
			if _, taken := held.LoadOrStore(key, true); taken {
				t.Errorf("two workers on %v", key)
			}
			most.Store(max(most.Load(), busy.Add(1)))
			time.Sleep(time.Second)
			busy.Add(-1)
			held.Delete(key)
			return Result{}, nil
		}, Options{Workers: workers})
		stop := run(t, c)
		start := time.Now()
		for i := range 20 {
			add(t, c, fmt.Sprint(i))
		}
		synctest.Wait()
		for i := range 20 {
			add(t, c, fmt.Sprint(i)) // those that run, run again
		}
		for c.Status().Reconciles < 25 {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if took := time.Since(start); most.Load() != workers || took != 5*time.Second {
			t.Errorf("%d workers at once, %v, want %d and 5s", most.Load(), took, workers)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		if s := c.Status(); s.Reconciles != 25 {
			t.Errorf("%d reconciles, want 25", s.Reconciles)
		}
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	bubble(t, "after the reconciles under way, whose context ends too", func(t *testing.T) {
		var r recorder
		var ended bool
		c := newController(t, func(ctx context.Context, _ types.NamespacedName) (Result, error) {
			<-ctx.Done()
			time.Sleep(time.Minute)
			ended = true
			return Result{}, fmt.Errorf("get: %w", ctx.Err())
		}, Options{Workers: 1, OnError: r.onError})
		add(t, c, "a", "b")
		stop := run(t, c)
		start := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if !ended || time.Since(start) != time.Minute {
			t.Errorf("ended: %v, after %v", ended, time.Since(start))
		}
		if told := r.all(); len(told) != 0 {
			t.Errorf("told of the stop: %v", told)
		}
		if s := c.Status(); s.Phase != Stopped || s.Reconciles != 1 || s.Errors != 0 || s.Queue.Ready != 0 {
			t.Errorf("%+v", s)
		}
	})
	bubble(t, "but not twice at once", func(t *testing.T) {
		c := newController(t, succeed, Options{})
		stop := run(t, c)
		if err := c.Run(t.Context()); !errors.Is(err, ErrRunning) || err.Error() != "controller test: already running" {
			t.Errorf("Run: %v", err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "and can start again", func(t *testing.T) {
		c := newController(t, succeed, Options{})
		for i := range 3 {
			add(t, c, "a")
			stop := run(t, c)
			if s := c.Status(); s.Phase != Running || s.Reconciles != uint64(i+1) {
				t.Errorf("%+v", s)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestRateLimitsReconciles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController(t, succeed, Options{Workers: 4, Rate: 1, Burst: 2})
		for i := range 10 {
			add(t, c, fmt.Sprint(i))
		}
		stop := run(t, c)
		for second := range 5 {
			if n := c.Status().Reconciles; n != uint64(second+2) {
				t.Errorf("%d reconciles after %d s", n, second)
			}
			time.Sleep(time.Second + time.Microsecond)
			synctest.Wait()
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAddAfterAndWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController(t, succeed, Options{})
		if err := c.AddAfter(key("a"), time.Hour); err != nil {
			t.Fatal(err)
		}
		stop := run(t, c)
		r, ok := c.Why(key("a"))
		if !ok || r.Place != workqueue.Delayed || time.Until(r.Due) != time.Hour {
			t.Errorf("Why: %v, %v", r, ok)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := c.Status().Reconciles; n != 1 {
			t.Errorf("%d reconciles, want 1", n)
		}
		if r, ok := c.Why(key("a")); ok {
			t.Errorf("Why: %v", r)
		}
		if err := c.AddAfter(key("a"), math.MaxInt64); err != nil {
			t.Error(err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
