package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"heliograph.example/informer"
	"heliograph.example/workqueue"
)

// Informer is what [Watch] needs of an informer: an *informer.Informer has it.
type Informer[T any] interface {
	Handle(h informer.Handler[T], opts informer.HandlerOptions[T]) (*informer.Registration, error)
}

// WatchOptions say which changes of an informer matter to a controller. The zero
// value is that of [Watch]: all of them.
type WatchOptions[T any] struct {
	// Where, if not nil, is asked whether an update is worth a reconcile. What
	// is added or deleted, and an object that has taken the place of another
	// of its name, always is, and so is a resync.
	Where Predicate[T]
	// SkipOwn leaves out a key for an update that its own reconcile has written with
	// [WriteOver], if nobody else has a part in it. Other keys that the map names for
	// the object are reconciled, and so is the key for whatever else happens. T must
	// be a pointer to an object with metadata, or nothing is left out.
	SkipOwn bool
	// Strict asks Where about every change, also about those that would always
	// pass.
	Strict bool
	// Resync is the period after which every object is mapped again although
	// it has not changed. 0 means never; less than a second is an error.
	Resync time.Duration
}

// Watch makes a controller reconcile the keys that keys names for the objects of
// an informer, whenever one of them appears, changes or goes. For one informer it
// can be called several times, with different maps.
//
// The handler is registered when [Controller.Run] starts and removed when it
// ends, so a controller that does not run costs nothing. While the controller
// runs, Watch registers at once and does not wait for the informer. A nil
// controller, informer or map is an error.
//
// Keys of objects that were there at the start of a run, and those of resyncs, have
// priority [workqueue.Low]: what changes goes first.
func Watch[T any](c *Controller, inf Informer[T], keys Map[T]) error {
	return WatchWith(c, inf, keys, WatchOptions[T]{})
}

// WatchWith is [Watch] with options.
func WatchWith[T any](c *Controller, inf Informer[T], keys Map[T], opts WatchOptions[T]) error {
	switch {
	case c == nil:
		return fmt.Errorf("controller: watch: %w: the controller is nil", errInvalid)
	case isNil(inf):
		return fmt.Errorf("controller %s: watch: %w: the informer is nil", c.name, errInvalid)
	case keys == nil:
		return fmt.Errorf("controller %s: watch: %w: the map is nil", c.name, errInvalid)
	case opts.Strict && opts.Where == nil:
		return fmt.Errorf("controller %s: watch: %w: strict about no predicate", c.name, errInvalid)
	case opts.Resync != 0 && opts.Resync < time.Second:
		return fmt.Errorf("controller %s: watch: %w: resync every %v: less than a second", c.name, errInvalid, opts.Resync)
	}
	return c.watch(&watch{
		name: nameOf(inf),
		start: func(run *shift) (registration, error) {
			s := &selector[T]{Controller: c, queue: run.queue, own: &run.own, keys: keys, opts: opts}
			return inf.Handle(s, informer.HandlerOptions[T]{Name: "controller " + c.name, Resync: opts.Resync})
		},
	})
}

// watch is one call of Watch.
type watch struct {
	name  string
	start func(run *shift) (registration, error)
}

// registration is what a controller needs of an *informer.Registration.
type registration interface {
	Wait(ctx context.Context) error
	Stopped(ctx context.Context) error
	Remove()
	Done() <-chan struct{}
}

// watch remembers a watch, and starts it if the controller runs.
func (c *Controller) watch(w *watch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == Syncing || c.phase == Standby || c.phase == Running {
		if err := c.shift.watch(w); err != nil {
			return fmt.Errorf("controller %s: watch: %w", c.name, err)
		}
		if c.phase != Syncing {
			c.shift.guard(c.shift.watches[len(c.shift.watches)-1])
		}
	}
	c.watches = append(c.watches, w)
	return nil
}

// selector is the handler of a watch: it adds the keys of each change that matters
// to a queue.
type selector[T any] struct {
	*Controller
	queue *queue
	own   *own
	keys  Map[T]
	opts  WatchOptions[T]
}

// Handle adds the keys of a change, each once: a quick worker could else be done
// with a key before it is added for the second state of the change, and do the same
// work again.
func (s *selector[T]) Handle(ctx context.Context, change informer.Change[T]) {
	if !s.matters(ctx, change) {
		return
	}
	var before, after []types.NamespacedName
	if change.Type != informer.Added && !change.Resync {
		before = s.mapped(ctx, change.Key, change.Old)
	}
	if !change.FinalStateUnknown {
		after = s.mapped(ctx, change.Key, change.New)
	}
	how := howToAdd(change)
	skips := s.skips(change)
	for _, key := range union(before, after) {
		if skips == nil || !skips(key, func() { s.add(ctx, key, how) }) {
			s.add(ctx, key, how)
		}
	}
}

// howToAdd is how the keys of a change are added.
func howToAdd[T any](change informer.Change[T]) workqueue.AddOptions {
	if change.Initial || change.Resync {
		return workqueue.AddOptions{Priority: workqueue.Low, KeepBackoff: change.Resync}
	}
	return workqueue.AddOptions{}
}

// add adds a key. A queue is closed when its run ends, and the next run is told of every
// object.
func (s *selector[T]) add(ctx context.Context, key types.NamespacedName, how workqueue.AddOptions) {
	if err := s.queue.AddWith(key, how); err != nil && !errors.Is(err, workqueue.ErrClosed) {
		s.unmapped(ctx, key, err)
	}
}

// skips returns how keys are left out that have caused the change, nil if none is.
func (s *selector[T]) skips(change informer.Change[T]) func(key types.NamespacedName, add func()) bool {
	if !s.opts.SkipOwn {
		return nil
	}
	if uid, from, to, ok := ownsUpdate(change); ok {
		return func(key types.NamespacedName, add func()) bool { return s.own.skip(uid, from, to, key, add) }
	}
	if old, ok := any(change.Old).(metav1.Object); ok && change.Type == informer.Deleted && !isNil(old) {
		s.own.forget(old.GetUID())
	}
	return nil
}

// matters asks the predicate, where it is to be asked.
func (s *selector[T]) matters(ctx context.Context, change informer.Change[T]) (matters bool) {
	if s.opts.Where == nil || !s.opts.Strict && !isUpdate(change) {
		return true
	}
	matters = true // if the predicate panics
	defer s.recover(ctx, change.Key)
	return s.opts.Where(change)
}

// mapped calls the map.
func (s *selector[T]) mapped(ctx context.Context, key types.NamespacedName, obj T) []types.NamespacedName {
	defer s.recover(ctx, key)
	return s.keys(obj)
}

// recover is deferred, to report a panic of a user's function for an object.
func (s *selector[T]) recover(ctx context.Context, key types.NamespacedName) {
	if v := recover(); v != nil {
		s.unmapped(ctx, key, &PanicError{Key: key, Value: v, Stack: debug.Stack()})
	}
}

// unmapped reports that a change could not be turned into a key of the queue.
func (s *selector[T]) unmapped(ctx context.Context, key types.NamespacedName, err error) {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("controller", s.name, "key", key))
	s.counts.unmapped(key, err)
	s.report(ctx, key, err)
}

// union returns what is in a or in b, each once.
func union(a, b []types.NamespacedName) []types.NamespacedName {
	if len(b) <= 1 && (len(a) == 0 || slices.Equal(a, b)) {
		return b
	}
	seen := make(map[types.NamespacedName]bool, len(a)+len(b))
	out := make([]types.NamespacedName, 0, len(a)+len(b))
	for _, key := range slices.Concat(a, b) {
		if !seen[key] {
			seen[key] = true
			out = append(out, key)
		}
	}
	return out
}

// nameOf is the name of an informer if it has one, or else its type.
func nameOf(inf any) string {
	if named, ok := inf.(interface{ Name() string }); ok {
		return named.Name()
	}
	return fmt.Sprintf("%T", inf)
}

// isNil reports whether an interface holds nothing or a nil pointer.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}
