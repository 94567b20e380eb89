package gate

import (
	"context"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"heliograph.example/indexer"
	"heliograph.example/informer"
)

// measureSync looks at what an object costs that is read and held.
func measureSync(t *testing.T, out figures) {
	typed := func(shape informer.Shape) informer.Options[*corev1.Pod] {
		return informer.Options[*corev1.Pod]{Shape: shape, Indexes: indexes()}
	}
	proto := newServer(t, protobufMedia, objects)
	syncOne(t, out, "typed from protobuf", proto, typed(informer.Shape{}))
	syncOne(t, out, "typed from protobuf, without managedFields", proto, typed(informer.Shape{DropManagedFields: true}))
	syncOne(t, out, "typed from protobuf, some fields", proto, typed(informer.Shape{
		Fields: []string{"metadata.labels", "spec.nodeName", "status.phase", "status.podIP"}}))
	asJSON := newServer(t, jsonMedia, objects)
	syncOne(t, out, "typed from JSON", asJSON, typed(informer.Shape{}))
	untyped := informer.Options[*unstructured.Unstructured]{Scope: informer.Scope{Kind: corev1.SchemeGroupVersion.WithKind("Pod")}}
	syncOne(t, out, "unstructured from JSON", asJSON, untyped)
	untyped.Shape.DropManagedFields = true
	syncOne(t, out, "unstructured from JSON, without managedFields", asJSON, untyped)
}

func indexes() indexer.Indexes[*corev1.Pod] {
	return indexer.Indexes[*corev1.Pod]{
		indexer.NamespaceIndex: indexer.ByNamespace[*corev1.Pod](),
		"node": {Values: func(p *corev1.Pod, values []string) ([]string, error) {
			return append(values, p.Spec.NodeName), nil
		}},
	}
}

func syncOne[T informer.Object](t *testing.T, out figures, what string, s *server, opts informer.Options[T]) {
	t.Helper()
	before := liveHeap()
	mallocs, _ := allocated()
	i, stop := run(t, s, opts)
	after, _ := allocated()
	held := liveHeap()
	if got := i.Store().Len(); got != objects {
		t.Errorf("%s: %d objects, want %d", what, got, objects)
	}
	stop()
	out["allocations of an object, "+what] = (after - mallocs) / objects
	out["bytes of an object, "+what] = (held - before) / objects
}

// run starts an informer with one handler and waits until both are synced.
func run[T informer.Object](t *testing.T, s *server, opts informer.Options[T]) (_ *informer.Informer[T], stop func()) {
	t.Helper()
	factory, err := informer.NewFactory(s.config(), informer.FactoryOptions{})
	if err != nil {
		t.Fatal(err)
	}
	i, err := informer.For(t.Context(), factory, opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Handle(informer.HandlerFunc[T](func(context.Context, informer.Change[T]) {}), informer.HandlerOptions[T]{}); err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context())
	if err := factory.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return i, factory.Stop
}

// eventCount is how many events are measured, and as many warm up.
const eventCount = 4 * objects

// measureWatch looks at what an event costs from the socket to the handler.
func measureWatch(t *testing.T, out figures) {
	s := newServer(t, protobufMedia, objects)
	s.later = &feed{parts: make(chan []byte)}
	var events [2][][]byte
	for n := range 2 * eventCount {
		events[n/eventCount] = append(events[n/eventCount], encode(t, protobufMedia, "MODIFIED", pod(n%objects, 1_000_000+n)))
	}
	i, stop := run(t, s, informer.Options[*corev1.Pod]{Indexes: indexes()})
	defer stop()
	var told atomic.Int64
	arrived := make(chan struct{}, 1)
	reg, err := i.Handle(informer.Funcs[*corev1.Pod]{Updated: func(context.Context, *corev1.Pod, *corev1.Pod) {
		if told.Add(1)%batch == 0 {
			arrived <- struct{}{}
		}
	}}, informer.HandlerOptions[*corev1.Pod]{})
	if err != nil {
		t.Fatal(err)
	}
	if err := reg.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	var mallocs, bytes [2]float64
	for round, all := range events {
		beginMallocs, beginBytes := allocated()
		for n, frame := range all {
			s.later.parts <- frame
			if (n+1)%batch == 0 {
				<-arrived
			}
		}
		endMallocs, endBytes := allocated()
		mallocs[round], bytes[round] = endMallocs-beginMallocs, endBytes-beginBytes
	}
	out["allocations of an event, protobuf from the socket to the handler"] = mallocs[1] / eventCount
	out["bytes allocated for an event, protobuf from the socket to the handler"] = bytes[1] / eventCount
}
