package controller

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// throne is a leadership that the test gives and takes.
type throne struct {
	term chan Term
	err  error
}

func (l throne) Lead(ctx context.Context) (Term, error) {
	select {
	case t := <-l.term:
		return t, l.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// reign is a term that the test ends.
type reign struct {
	mu      sync.Mutex
	lost    chan struct{}
	err     error
	invalid atomic.Bool
	left    []bool
}

func newReign() *reign { return &reign{lost: make(chan struct{})} }

func (r *reign) Valid() bool           { return !r.invalid.Load() }
func (r *reign) Lost() <-chan struct{} { return r.lost }

func (r *reign) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *reign) Leave(ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, ended)
}

func (r *reign) lose(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
	close(r.lost)
}

// wantLeft checks that the term was left once, and how.
func wantLeft(t *testing.T, r *reign, ended bool) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.left) != 1 || r.left[0] != ended {
		t.Errorf("left %v, want %v once", r.left, ended)
	}
}

var errDeposed = errors.New("deposed")

func TestAControllerWaitsForTheLeadership(t *testing.T) {
	bubble(t, "with its keys in the queue", func(t *testing.T) {
		var done atomic.Int64
		l := throne{term: make(chan Term)}
		c := newController(t, func(context.Context, types.NamespacedName) (Result, error) {
			done.Add(1)
			return Result{}, nil
		}, Options{Leadership: l})
		stop := run(t, c)
		add(t, c, "a", "b")
		time.Sleep(time.Hour)
		if s := c.Status(); s.Phase != Standby || done.Load() != 0 || s.Queue.Ready != 2 {
			t.Errorf("phase %s, %d reconciles, %d keys are ready", s.Phase, done.Load(), s.Queue.Ready)
		}
		r := newReign()
		l.term <- r
		synctest.Wait()
		if s := c.Status(); s.Phase != Running || done.Load() != 2 {
			t.Errorf("phase %s, %d reconciles", s.Phase, done.Load())
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		wantLeft(t, r, true)
	})
	bubble(t, "and can be stopped meanwhile", func(t *testing.T) {
		c := newController(t, succeed, Options{Leadership: throne{}})
		if err := run(t, c)(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "and says why there will be none", func(t *testing.T) {
		for _, answer := range []struct {
			term Term
			err  error
			want error
		}{{nil, errDeposed, errDeposed}, {nil, nil, ErrNotLeading}, {(*reign)(nil), nil, ErrNotLeading}} {
			l := throne{make(chan Term, 1), answer.err}
			l.term <- answer.term
			c := newController(t, succeed, Options{Leadership: l})
			if err := c.Run(t.Context()); !errors.Is(err, answer.want) {
				t.Errorf("%v, want %v", err, answer.want)
			}
		}
	})
}

func TestAControllerThatLeadsNoLongerEnds(t *testing.T) {
	start := func(t *testing.T, reconcile Reconciler, opts Options) (*Controller, *reign, func() error) {
		r, l := newReign(), throne{term: make(chan Term, 1)}
		l.term <- r
		opts.Leadership = l
		c := newController(t, reconcile, opts)
		return c, r, run(t, c)
	}
	bubble(t, "and ends the contexts of its reconciles", func(t *testing.T) {
		var ended atomic.Int64
		c, r, stop := start(t, func(ctx context.Context, _ types.NamespacedName) (Result, error) {
			<-ctx.Done()
			ended.Add(1)
			return Result{}, ctx.Err()
		}, Options{})
		add(t, c, "a", "b", "c")
		synctest.Wait()
		r.lose(errDeposed)
		synctest.Wait()
		if s := c.Status(); s.Phase != Stopped || ended.Load() != 2 {
			t.Errorf("phase %s, %d reconciles have ended", s.Phase, ended.Load())
		}
		if err := stop(); !errors.Is(err, ErrNotLeading) || !errors.Is(err, errDeposed) {
			t.Error(err)
		}
		wantLeft(t, r, true)
	})
	bubble(t, "as soon as the clock says so", func(t *testing.T) {
		var starts atomic.Int64
		c, r, stop := start(t, func(context.Context, types.NamespacedName) (Result, error) {
			starts.Add(1)
			return Result{}, nil
		}, Options{})
		r.invalid.Store(true)
		add(t, c, "a", "b", "c")
		synctest.Wait()
		if s := c.Status(); s.Phase != Stopped || starts.Load() != 0 {
			t.Errorf("phase %s, %d reconciles have started", s.Phase, starts.Load())
		}
		if err := stop(); !errors.Is(err, ErrNotLeading) {
			t.Error(err)
		}
	})
	bubble(t, "and says so if work goes on", func(t *testing.T) {
		release := make(chan struct{})
		c, r, stop := start(t, func(context.Context, types.NamespacedName) (Result, error) {
			<-release
			return Result{}, nil
		}, Options{StopTimeout: time.Second})
		add(t, c, "a")
		synctest.Wait()
		var left *StopError
		if err := stop(); !errors.As(err, &left) {
			t.Error(err)
		}
		wantLeft(t, r, false)
		close(release)
	})
}
