package e2e

import (
	"context"
	"testing"

	"heliograph.example/e2e/harness"
	"heliograph.example/informer"
)

// restartWrites is the number of writes during which the server goes away, and
// restartAt the number after which it does.
const (
	restartWrites = 2000
	restartAt     = 700
)

func TestARestartOfTheServerInMidWatchIsSurvived(t *testing.T) {
	fillLoad(t)
	restarts := []struct {
		name string
		end  func() error
		seed uint64
	}{
		{"a stop", cluster.StopServer, 101},
		{"a crash", cluster.KillServer, 102},
	}
	for _, r := range restarts {
		t.Run(r.name, func(t *testing.T) {
			restart(t, r.end, r.seed)
		})
	}
}

func restart(t *testing.T, end func() error, seed uint64) {
	traffic := &harness.Traffic{}
	factory, err := informer.NewFactory(traffic.Attach(protobufConfig()), informer.FactoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	subjects := typedSubjects(t, factory, protobufConfig())
	factory.Start(t.Context())
	defer factory.Stop()
	synced(t, factory)

	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, s := range subjects {
			for _, r := range traffic.Requests(s.of().plural) {
				t.Log(r)
			}
		}
	})
	c := client(t, protobufConfig())
	w := newChurn(c, loadNamespace, subjects, seed, restartWrites)
	w.patient = true
	now, wrote := make(chan struct{}), w.wrote
	w.wrote = func(n int) error {
		if n == restartAt {
			close(now)
		}
		return wrote(n)
	}
	var writing error
	written := make(chan struct{})
	go func() {
		defer close(written)
		writing = w.run(t.Context())
	}()
	t.Cleanup(func() { <-written }) // by then the context has ended
	select {
	case <-now:
	case <-written:
		t.Fatalf("the writers ended before the restart: %v", writing)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), readyLimit)
	defer cancel()
	if err := cluster.StartServer(ctx); err != nil {
		t.Fatal(err)
	}
	if <-written; writing != nil {
		t.Fatal(writing)
	}
	finish(t, c, loadNamespace, subjects)
	settle(t, subjects)
	for _, s := range subjects {
		if err := s.agrees(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.judge(nil); err != nil {
			t.Error(err)
		}
		r := s.status().Reader
		t.Logf("%s; streaming lists %d, watches %d, pages %d, fallback %q", s.counts(), r.Streams, r.Watches, r.Pages, r.Fallback)
		if len(traffic.Requests(s.of().plural)) < 2 {
			t.Errorf("%s: the watch was never interrupted", s.of().plural)
		}
	}
}
