package cacher_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"heliograph.example/apiserver/storage"
	"heliograph.example/apiserver/storage/storagetest"
)

var errBroken = errors.New("the backend is broken")

// gate is a backend whose watches can be held back, cut off and refused, so that
// a cache in front of it lags, loses its place or does not get ready.
type gate struct {
	*storage.Memory

	mu      sync.Mutex
	broken  bool
	held    bool
	moved   chan struct{}
	watches map[*gatedWatch]struct{}
}

func newGate() *gate {
	return &gate{Memory: storage.NewMemory(), moved: make(chan struct{}), watches: map[*gatedWatch]struct{}{}}
}

// set changes the gate and wakes who waits at it.
func (g *gate) set(broken, held bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.broken, g.held = broken, held
	close(g.moved)
	g.moved = make(chan struct{})
}

// cut ends all watches as a lost connection does.
func (g *gate) cut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for w := range g.watches {
		w.BackendWatch.Stop()
	}
}

func (g *gate) look() (broken, held bool, moved <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.broken, g.held, g.moved
}

// List fails for whole prefixes only, which is how a cache reads.
func (g *gate) List(ctx context.Context, prefix string, opts storage.RangeOptions) (storage.Range, error) {
	if broken, _, _ := g.look(); broken {
		return storage.Range{}, errBroken
	}
	return g.Memory.List(ctx, prefix, opts)
}

func (g *gate) Watch(ctx context.Context, prefix string, after uint64) (storage.BackendWatch, error) {
	if broken, _, _ := g.look(); broken {
		return nil, errBroken
	}
	inner, err := g.Memory.Watch(ctx, prefix, after)
	if err != nil {
		return nil, err
	}
	w := &gatedWatch{BackendWatch: inner, gate: g, ctx: ctx}
	g.mu.Lock()
	g.watches[w] = struct{}{}
	g.mu.Unlock()
	return w, nil
}

type gatedWatch struct {
	storage.BackendWatch
	gate *gate
	ctx  context.Context
}

func (w *gatedWatch) Next() (storage.Batch, error) {
	b, err := w.BackendWatch.Next()
	for err == nil {
		_, held, moved := w.gate.look()
		if !held {
			break
		}
		select {
		case <-moved:
		case <-w.ctx.Done():
			return storage.Batch{}, w.ctx.Err()
		}
	}
	return b, err
}

// newStore makes a store of config maps.
func newStore(t *testing.T, backend storage.Backend) *storage.Store {
	t.Helper()
	store, err := storage.NewStore(backend, storagetest.Options())
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func create(t *testing.T, s storage.Interface, name string) *corev1.ConfigMap {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"v": "0"}}}
	out, err := s.Create(t.Context(), storage.ParseKey("ns/"+name), cm)
	if err != nil {
		t.Fatal(err)
	}
	return out.(*corev1.ConfigMap)
}

// label gives the label v another value.
func label(t *testing.T, s storage.Interface, name, value string) *corev1.ConfigMap {
	t.Helper()
	out, err := s.Update(t.Context(), storage.ParseKey("ns/"+name), func(current runtime.Object) (runtime.Object, bool, error) {
		cm := current.DeepCopyObject().(*corev1.ConfigMap)
		cm.Labels = map[string]string{"v": value}
		return cm, false, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.(*corev1.ConfigMap)
}

func watchOf(t *testing.T, s storage.Interface, opts storage.WatchOptions) storage.Watch {
	t.Helper()
	w, err := s.Watch(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

// drain reads n events.
func drain(t *testing.T, w storage.Watch, n int) []storage.Event {
	t.Helper()
	var all []storage.Event
	for len(all) < n {
		events, err := w.Next()
		if err != nil {
			t.Fatalf("after %d events of %d: %v", len(all), n, err)
		}
		all = append(all, events...)
	}
	return all
}
