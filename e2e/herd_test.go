package e2e

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// herd is the number of informers that lose the server at the same time.
const herd = 24

func TestARestartOfTheServerBringsNoStorm(t *testing.T) {
	const namespace = "herd"
	c := client(t, protobufConfig())
	makeNamespace(t, c, namespace)
	fill(t, c, namespace, configMaps, 200)
	l := newLine(t, protobufConfig())
	whole := mapsIn(t, l.factory, namespace, reflector.Options[*corev1.ConfigMap]{})
	subjects := []*informer.Informer[*corev1.ConfigMap]{whole.informer}
	for n := range herd - 1 {
		i, err := informer.For(t.Context(), l.factory, informer.Options[*corev1.ConfigMap]{
			Scope: informer.Scope{Namespace: namespace, FieldSelector: fmt.Sprintf("metadata.name!=absent-%d", n)},
		})
		if err != nil {
			t.Fatal(err)
		}
		subjects = append(subjects, i)
	}
	l.start(t)
	before, connected := count(t, l.agent, configMaps.plural), l.proxy.Accepted()

	// The writers go on all the time.
	w := newChurn(c, namespace, []subject{whole}, 307, 800)
	w.patient = true
	now, wrote := make(chan struct{}), w.wrote
	w.wrote = func(n int) error {
		if n == 200 {
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
	away := time.Now()
	if err := cluster.KillServer(); err != nil {
		t.Fatal(err)
	}
	startServer(t)
	if <-written; writing != nil {
		t.Fatal(writing)
	}
	version := finish(t, c, namespace, []subject{whole})[configMaps.plural]
	ctx, cancel := context.WithTimeout(t.Context(), syncLimit)
	defer cancel()
	fallbacks := 0
	for _, i := range subjects {
		if err := i.WaitForVersion(ctx, version); err != nil {
			t.Fatal(err)
		}
		if i.Store().Len() != whole.informer.Store().Len() {
			t.Errorf("%s holds %d objects, %s %d", i.Name(), i.Store().Len(), whole.informer.Name(), whole.informer.Store().Len())
		}
		if i.Status().Reader.Fallback != "" {
			fallbacks++
		}
	}
	proved(t, whole)
	// Each pause is at least twice as long as the one before, so the time that
	// has passed bounds the tries of an informer while the server is away. After
	// that it lists once, and where the server is not ready yet, once more.
	tries := int(math.Log2(time.Since(away).Seconds()/firstPause.Seconds()+1)) + 2
	after, dialed := count(t, l.agent, configMaps.plural), l.proxy.Accepted()-connected
	t.Logf("%d informers: %v before, %v at the end, %d connections, %d read in pages now", herd, before, after, dialed, fallbacks)
	if before.streams != herd || before.all() != herd {
		t.Errorf("before the restart the server was asked for %v, want %d streaming lists", before, herd)
	}
	if asked := after.all() - before.all(); asked < herd {
		t.Errorf("after the restart %d informers have asked %d times only", herd, asked)
	}
	if asked := after.all() - before.all(); asked > 6*herd {
		t.Errorf("after the restart %d informers have asked %d times", herd, asked)
	}
	if dialed > herd*tries {
		t.Errorf("%d informers have opened %d connections, want at most %d tries of each", herd, dialed, tries)
	}
}

// startServer starts the server again.
func startServer(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readyLimit)
	defer cancel()
	if err := cluster.StartServer(ctx); err != nil {
		t.Fatal(err)
	}
}
