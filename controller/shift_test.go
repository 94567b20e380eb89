package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"heliograph.example/workqueue"
)

// fakeRegistration is a handler's place at an informer that does what the test
// wants.
type fakeRegistration struct {
	synced  error
	removed bool
	done    chan struct{}
}

func (r *fakeRegistration) Wait(context.Context) error { return r.synced }
func (r *fakeRegistration) Stopped(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
func (r *fakeRegistration) Remove()               { r.removed = true; close(r.done) }
func (r *fakeRegistration) Done() <-chan struct{} { return r.done }

func TestARunThatFailsLeavesNothingBehind(t *testing.T) {
	for name, fail := range map[string]struct{ sync, register error }{
		"when an informer refuses": {register: errFailed},
		"when an informer stops":   {sync: errFailed},
	} {
		bubble(t, name, func(t *testing.T) {
			c := newController(t, succeed, Options{})
			good := &fakeRegistration{done: make(chan struct{})}
			bad := &fakeRegistration{done: make(chan struct{}), synced: fail.sync}
			for i, r := range []*fakeRegistration{good, bad} {
				err := c.watch(&watch{name: fmt.Sprint(i), start: func(*shift) (registration, error) {
					if r == bad && fail.register != nil {
						return nil, fail.register
					}
					return r, nil
				}})
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Run(t.Context()); !errors.Is(err, errFailed) {
				t.Errorf("Run: %v", err)
			}
			if !good.removed || bad.removed != (fail.register == nil) {
				t.Errorf("removed: %v, %v", good.removed, bad.removed)
			}
			if s := c.Status(); s.Phase != Stopped {
				t.Errorf("%+v", s)
			}
		})
	}
	bubble(t, "and a watch that is refused later is an error at once", func(t *testing.T) {
		c := newController(t, succeed, Options{})
		stop := run(t, c)
		err := c.watch(&watch{start: func(*shift) (registration, error) { return nil, errFailed }})
		if !errors.Is(err, errFailed) {
			t.Errorf("watch: %v", err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		stop = run(t, c)
		if s := c.Status(); s.Phase != Running {
			t.Errorf("%+v", s)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// slowRegistration is a handler that takes a minute to tell what is there, and
// another to end.
type slowRegistration struct{ done chan struct{} }

func (r *slowRegistration) Wait(ctx context.Context) error {
	select {
	case <-time.After(time.Minute):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
func (r *slowRegistration) Stopped(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
func (r *slowRegistration) Remove()               { time.AfterFunc(time.Minute, func() { close(r.done) }) }
func (r *slowRegistration) Done() <-chan struct{} { return r.done }

func TestTheStatusFollowsARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController(t, succeed, Options{})
		started := 0
		slow := func(name string) {
			err := c.watch(&watch{name: name, start: func(*shift) (registration, error) {
				started++
				return &slowRegistration{done: make(chan struct{})}, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
		expect := func(phase Phase, age time.Duration, waitingFor ...string) {
			t.Helper()
			synctest.Wait()
			s := c.Status()
			if s.Phase != phase || time.Since(s.Since) != age || !slices.Equal(s.WaitingFor, waitingFor) {
				t.Errorf("%s since %v, waiting for %q; want %s since %v, %q",
					s.Phase, time.Since(s.Since), s.WaitingFor, phase, age, waitingFor)
			}
		}
		slow("pods")
		slow("nodes")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		expect(Syncing, 0, "pods", "nodes")
		slow("a late one")
		if started != 3 {
			t.Errorf("%d watches started, want 3", started)
		}
		time.Sleep(time.Minute)
		expect(Syncing, time.Minute, "nodes")
		time.Sleep(time.Minute)
		expect(Running, 0)
		cancel()
		time.Sleep(time.Second)
		expect(Stopping, time.Second)
		if err := c.Add(key("a")); !errors.Is(err, workqueue.ErrClosed) {
			t.Errorf("Add while the run ends: %v", err)
		}
		if err := c.Run(t.Context()); !errors.Is(err, ErrRunning) {
			t.Errorf("Run while the run ends: %v", err)
		}
		slow("too late for this run")
		if err := <-ended; err != nil {
			t.Error(err)
		}
		expect(Stopped, 0)
		if started != 3 {
			t.Errorf("%d watches started, want 3", started)
		}
		add(t, c, "a")
	})
}
