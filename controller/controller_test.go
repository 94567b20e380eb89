package controller

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
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
		"no number as rate": func() (*Controller, error) {
			return New("test", succeed, Options{Workers: 1, Rate: rate.Limit(math.NaN())})
		},
		"a burst of no rate": func() (*Controller, error) { return New("test", succeed, Options{Workers: 1, Burst: 1}) },
		"a weight of zero": func() (*Controller, error) {
			return New("test", succeed, Options{Workers: 1, Tenant: ByNamespace, Weights: map[string]int{"a": 0}})
		},
		"weights of no tenants": func() (*Controller, error) {
			return New("test", succeed, Options{Workers: 1, Weights: map[string]int{"a": 1}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := make()
			if !errors.Is(err, errInvalid) && !errors.Is(err, workqueue.ErrInvalid) || c != nil {
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
