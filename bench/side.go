package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"heliograph.example/indexer"
	"heliograph.example/informer"
	"heliograph.example/reflector"
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
		if err := done(ctx, w); err != nil {
			return err
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
	return obj.(metav1.Object).GetResourceVersion(), true
}

func (t *theirs) indexed(index, value string) (int, error) {
	keys, err := t.informer.GetIndexer().IndexKeys(index, value)
	return len(keys), err
}

// ours is an informer of Heliograph.
type ours[T any] struct {
	informer *informer.Informer[T]
}

func newOurs[T any](i *informer.Informer[T], counters []*counter) (*ours[T], error) {
	for n, c := range counters {
		count := func(_ context.Context, change informer.Change[T]) {
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
		if _, err := i.Handle(informer.HandlerFunc[T](count), informer.HandlerOptions[T]{Name: name}); err != nil {
			return nil, err
		}
	}
	return &ours[T]{i}, nil
}

func (o *ours[T]) run(ctx context.Context) error  { return o.informer.Run(ctx) }
func (o *ours[T]) wait(ctx context.Context) error { return o.informer.Wait(ctx) }
func (o *ours[T]) len() int                       { return o.informer.Store().Len() }

func (o *ours[T]) version(key types.NamespacedName) (string, bool) {
	e, ok := o.informer.Store().Entry(key)
	return e.Version, ok
}

func (o *ours[T]) indexed(index, value string) (int, error) {
	keys, err := o.informer.Store().IndexKeys(index, value)
	return len(keys), err
}

// follow adds a handler of pods that is given the newest state of each change
// but deletes, and returns what waits until it knows all that is there.
func follow(s side, told func(p *corev1.Pod)) (synced func(ctx context.Context) error, err error) {
	switch s := s.(type) {
	case *theirs:
		r, err := s.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { told(obj.(*corev1.Pod)) },
			UpdateFunc: func(_, obj any) { told(obj.(*corev1.Pod)) },
		})
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) error { return done(ctx, r.HasSyncedChecker()) }, nil
	case *ours[*corev1.Pod]:
		r, err := s.informer.Handle(informer.HandlerFunc[*corev1.Pod](func(_ context.Context, c informer.Change[*corev1.Pod]) {
			if c.Type != informer.Deleted {
				told(c.New)
			}
		}), informer.HandlerOptions[*corev1.Pod]{Name: "follower"})
		if err != nil {
			return nil, err
		}
		return r.Wait, nil
	}
	return nil, fmt.Errorf("a %T has no pods", s)
}

// done waits for one of client-go's checkers.
func done(ctx context.Context, c cache.DoneChecker) error {
	select {
	case <-c.Done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for %s: %w", c.Name(), ctx.Err())
	}
}

// newListWatchSide makes an informer of either maker over a ListerWatcher.
func newListWatchSide(maker string, lw cache.ListerWatcher, d *delivery) (side, error) {
	if maker == clientGo {
		return newTheirs(cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, theirIndexers()), d.counters)
	}
	source, err := reflector.FromListerWatcher[*corev1.Pod](lw)
	if err != nil {
		return nil, err
	}
	i, err := informer.New(source, informer.Options[*corev1.Pod]{Name: "pods", Indexes: ourIndexes()})
	if err != nil {
		return nil, err
	}
	return newOurs(i, d.counters)
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

// checkStore fails unless s holds exactly the first n objects of a set, the i-th
// with the version that want returns, and lists them in its indexes.
func checkStore(s side, set dataset, n int, want func(i int) string) error {
	if got := s.len(); got != n {
		return fmt.Errorf("the store holds %d objects, want %d", got, n)
	}
	type place struct{ index, value string }
	listed := make(map[place]int)
	for i := range n {
		obj := set.object(i)
		key := keyOf(obj)
		if got, ok := s.version(key); !ok || got != want(i) {
			return fmt.Errorf("%v is stored at version %q, want %q", key, got, want(i))
		}
		for index, value := range set.values {
			listed[place{index, value(obj)}]++
		}
	}
	var errs []error
	for at, count := range listed {
		got, err := s.indexed(at.index, at.value)
		if err == nil && got != count {
			err = fmt.Errorf("index %s lists %d objects under %q, want %d", at.index, got, at.value, count)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// initialVersion is the version of the i-th object of every data set.
func initialVersion(i int) string { return strconv.Itoa(i + 1) }
