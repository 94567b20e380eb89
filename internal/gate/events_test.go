package gate

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/deltafifo"
	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// batch is how many events come at a time.
const batch = 64

// readySource is a source of decoded pods that hands over batches of events.
type readySource struct {
	pods    []*corev1.Pod
	batches chan []reflector.Event[*corev1.Pod]
}

func item(p *corev1.Pod) reflector.Item[*corev1.Pod] {
	return reflector.Item[*corev1.Pod]{Key: keyOf(p), UID: p.UID, Version: p.ResourceVersion, Object: p}
}

// Streamless says that the collection is listed.
func (s *readySource) Streamless() bool { return true }

func (s *readySource) List(_ context.Context, _ metav1.ListOptions, each func(reflector.Item[*corev1.Pod]) error) (reflector.Page, error) {
	for _, p := range s.pods {
		if err := each(item(p)); err != nil {
			return reflector.Page{}, err
		}
	}
	return reflector.Page{Version: fmt.Sprint(len(s.pods))}, nil
}

func (s *readySource) Watch(ctx context.Context, _ metav1.ListOptions) (reflector.Stream[*corev1.Pod], error) {
	ctx, cancel := context.WithCancel(ctx)
	return &readyStream{s, ctx, cancel}, nil
}

type readyStream struct {
	source *readySource
	ctx    context.Context
	cancel context.CancelFunc
}

func (s *readyStream) Next() ([]reflector.Event[*corev1.Pod], error) {
	select {
	case b := <-s.source.batches:
		return b, nil
	case <-s.ctx.Done():
		return nil, io.EOF
	}
}

func (s *readyStream) Stop() { s.cancel() }

// measureEvents looks at what an event costs from the source to the handlers.
func measureEvents(t *testing.T, out figures) {
	for _, handlers := range []int{1, 5} {
		mallocs, bytes := passEvents(t, handlers)
		out[fmt.Sprintf("allocations of an event, ready in batches of %d, handlers: %d", batch, handlers)] = mallocs
		out[fmt.Sprintf("bytes allocated for an event, ready in batches of %d, handlers: %d", batch, handlers)] = bytes
	}
}

func passEvents(t *testing.T, handlers int) (mallocs, bytes float64) {
	t.Helper()
	const rounds = 1000
	s := &readySource{batches: make(chan []reflector.Event[*corev1.Pod])}
	for i := range objects {
		s.pods = append(s.pods, pod(i, i+1))
	}
	// Two objects for each pod, in turn: an object that is sent was forgotten by
	// everybody, but for its version.
	spares := make([]corev1.Pod, 4*objects)
	versions := make([]string, 2*rounds*batch)
	for n := range versions {
		versions[n] = fmt.Sprint(1_000_000 + n)
	}
	i, err := informer.New(s, informer.Options[*corev1.Pod]{Indexes: indexes()})
	if err != nil {
		t.Fatal(err)
	}
	var told atomic.Int64
	arrived := make(chan struct{}, 1)
	for range handlers {
		count := informer.HandlerFunc[*corev1.Pod](func(_ context.Context, c informer.Change[*corev1.Pod]) {
			if c.Type == informer.Updated && told.Add(1)%int64(batch*handlers) == 0 {
				arrived <- struct{}{}
			}
		})
		if _, err := i.Handle(count, informer.HandlerOptions[*corev1.Pod]{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- i.Run(ctx) }()
	if err := i.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	events := make([]reflector.Event[*corev1.Pod], batch)
	n := 0
	pass := func() {
		for range rounds {
			for at := range events {
				p := &spares[n%len(spares)]
				*p = *s.pods[n%objects]
				p.ResourceVersion = versions[n]
				events[at] = reflector.Event[*corev1.Pod]{Type: deltafifo.Updated, Item: item(p)}
				n++
			}
			s.batches <- events
			<-arrived
		}
	}
	pass()
	beginMallocs, beginBytes := allocated()
	pass()
	endMallocs, endBytes := allocated()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return (endMallocs - beginMallocs) / (rounds * batch), (endBytes - beginBytes) / (rounds * batch)
}
