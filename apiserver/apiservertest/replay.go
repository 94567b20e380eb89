package apiservertest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A write of a history that a fault refuses is tried again.
const (
	replayTries = 20
	replayPause = 100 * time.Millisecond
)

// Replay runs the history against a server, step by step, and returns after the
// last one. The same history does the same to the server whenever it runs; what
// clients make of it depends on how their requests fall between the steps, which
// in a bubble of testing/synctest is nearly always the same, too. If the test
// fails, the history is logged.
//
// A step that cannot be done ends the test: a write that is refused for what is
// in it, or 20 times for any other reason.
func (h History) Replay(t testing.TB, s *Server) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the history, for apiservertest.ParseHistory:\n%s", h)
		}
	})
	w, err := newWriter(s.ownConfig())
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range h.Steps {
		err := step.check()
		if err == nil {
			err = pause(t.Context(), step.After.Duration)
		}
		if err == nil {
			err = step.run(t.Context(), s, w)
		}
		if err != nil {
			t.Fatalf("step %d of the history, %s: %v", i+1, step.Do, err)
		}
	}
}

// run does what the step says.
func (s Step) run(ctx context.Context, server *Server, w *writer) error {
	switch s.Do {
	case Write:
		return insist(ctx, func() error {
			err := w.merge(ctx, s.Object)
			if apierrors.IsNotFound(err) {
				_, err = w.create(ctx, s.Object)
			}
			return err
		})
	case Delete:
		return insist(ctx, func() error { return w.remove(ctx, s.Object) })
	case Drop:
		r, err := w.find(s.Object.GroupVersionKind())
		if err != nil {
			return err
		}
		server.DropWatches(r.GroupResource())
	case Compact:
		return server.Compact(ctx)
	case Break:
		return server.Faults.Add(*s.Fault)
	case Mend:
		server.Faults.Clear()
	}
	return nil
}

// insist tries a write until it succeeds, is refused for good, or has been tried
// often enough. One whose answer was lost may find that it was done.
func insist(ctx context.Context, write func() error) error {
	var err error
	for range replayTries {
		err = write()
		if err == nil || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
			return err
		}
		if perr := pause(ctx, replayPause); perr != nil {
			return errors.Join(err, perr)
		}
	}
	return fmt.Errorf("tried %d times: %w", replayTries, err)
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
