package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"heliograph.example/indexer"
	"heliograph.example/informer"
)

// side is an informer of either maker, with its handlers.
type side interface {
	// run runs the informer until ctx ends.
	run(ctx context.Context) error
	// wait waits until the store and all handlers are synced.
	wait(ctx context.Context) error
	// len and version look into the store.
	len() int
	version(key types.NamespacedName) (string, bool)
	// indexed is the number of objects that an index lists under a value.
	indexed(index, value string) (int, error)
}

// The indexes of both sides.
const (
	indexNode  = "node"
	indexOwner = "owner"
)

func byNode(p *corev1.Pod, values []string) []string { return append(values, p.Spec.NodeName) }

func byOwner(p *corev1.Pod, values []string) []string {
	if c := metav1.GetControllerOfNoCopy(p); c != nil {
		return append(values, string(c.UID))
	}
	return values
}

// theirIndexers are namespace, node and owner for client-go.
func theirIndexers() cache.Indexers {
	return cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
		indexNode:            func(obj any) ([]string, error) { return byNode(obj.(*corev1.Pod), nil), nil },
		indexOwner:           func(obj any) ([]string, error) { return byOwner(obj.(*corev1.Pod), nil), nil },
	}
}

// ourIndexes are the same for Heliograph.
func ourIndexes() indexer.Indexes[*corev1.Pod] {
	return indexer.Indexes[*corev1.Pod]{
		indexer.NamespaceIndex: indexer.ByNamespace[*corev1.Pod](),
		indexNode: {Values: func(p *corev1.Pod, values []string) ([]string, error) {
			return byNode(p, values), nil
		}},
		indexOwner: {Values: func(p *corev1.Pod, values []string) ([]string, error) {
			return byOwner(p, values), nil
		}},
	}
}

// theirs is an informer of client-go.
type theirs struct {
	informer      cache.SharedIndexInformer
	registrations []cache.ResourceEventHandlerRegistration
}

func newTheirs(i cache.SharedIndexInformer, counters []*counter) (*theirs, error) {
	t := &theirs{informer: i}
	for _, c := range counters {
		r, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { c.add() },
			UpdateFunc: func(_, _ any) { c.update() },
			DeleteFunc: func(any) { c.delete() },
		})
		if err != nil {
			return nil, err
		}
		t.registrations = append(t.registrations, r)
	}
	return t, nil
}

func (t *theirs) run(ctx context.Context) error {
	t.informer.RunWithContext(ctx)
	return nil
}

func (t *theirs) wait(ctx context.Context) error {
	waits := []cache.DoneChecker{t.informer.HasSyncedChecker()}
	for _, r := range t.registrations {
		waits = append(waits, r.HasSyncedChecker())
	}
	for _, w := range waits {
		select {
		case <-w.Done():
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", w.Name(), ctx.Err())
		}
	}
	return nil
}

func (t *theirs) len() int { return len(t.informer.GetIndexer().ListKeys()) }

func (t *theirs) version(key types.NamespacedName) (string, bool) {
	obj, ok, err := t.informer.GetIndexer().GetByKey(key.String())
	if err != nil || !ok {
		return "", false
	}
	return obj.(*corev1.Pod).ResourceVersion, true
}

func (t *theirs) indexed(index, value string) (int, error) {
	keys, err := t.informer.GetIndexer().IndexKeys(index, value)
	return len(keys), err
}

// ours is an informer of Heliograph.
type ours struct {
	informer *informer.Informer[*corev1.Pod]
}

func newOurs(i *informer.Informer[*corev1.Pod], counters []*counter) (*ours, error) {
	for n, c := range counters {
		count := func(_ context.Context, change informer.Change[*corev1.Pod]) {
			switch change.Type {
			case informer.Added:
				c.add()
			case informer.Updated:
				c.update()
			case informer.Deleted:
				c.delete()
			}
		}
		name := fmt.Sprintf("counter %d", n)
		if _, err := i.Handle(informer.HandlerFunc[*corev1.Pod](count), informer.HandlerOptions[*corev1.Pod]{Name: name}); err != nil {
			return nil, err
		}
	}
	return &ours{i}, nil
}

func (o *ours) run(ctx context.Context) error  { return o.informer.Run(ctx) }
func (o *ours) wait(ctx context.Context) error { return o.informer.Wait(ctx) }
func (o *ours) len() int                       { return o.informer.Store().Len() }

func (o *ours) version(key types.NamespacedName) (string, bool) {
	e, ok := o.informer.Store().Entry(key)
	return e.Version, ok
}

func (o *ours) indexed(index, value string) (int, error) {
	keys, err := o.informer.Store().IndexKeys(index, value)
	return len(keys), err
}

// start runs s and returns a function that ends it and waits for that.
func start(ctx context.Context, s side) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

// checkStore fails unless s holds exactly n pods, the i-th with the version that
// want returns, and lists them in its indexes.
func checkStore(s side, n int, want func(i int) string) error {
	if got := s.len(); got != n {
		return fmt.Errorf("the store holds %d objects, want %d", got, n)
	}
	var errs []error
	indexes := map[string]map[string]int{cache.NamespaceIndex: {}, indexNode: {}, indexOwner: {}}
	for i := range n {
		p := makePod(i)
		key := types.NamespacedName{Namespace: p.Namespace, Name: p.Name}
		if got, ok := s.version(key); !ok || got != want(i) {
			return fmt.Errorf("%v is stored at version %q, want %q", key, got, want(i))
		}
		indexes[cache.NamespaceIndex][p.Namespace]++
		indexes[indexNode][byNode(p, nil)[0]]++
		indexes[indexOwner][byOwner(p, nil)[0]]++
	}
	for index, values := range indexes {
		for value, count := range values {
			got, err := s.indexed(index, value)
			if err == nil && got != count {
				err = fmt.Errorf("index %s lists %d objects under %q, want %d", index, got, value, count)
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
