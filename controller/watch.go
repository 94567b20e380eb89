package controller

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"heliograph.example/informer"
)

// Informer is what [Watch] needs of an informer: an *informer.Informer has it.
type Informer[T any] interface {
	Handle(h informer.Handler[T], opts informer.HandlerOptions[T]) (*informer.Registration, error)
}

// Map says which keys to reconcile when an object appears, changes or goes. It
// is called for the old and for the new state of a change, so that it need not
// remember what an object pointed to before. It should be quick, and must not
// modify the object. If it panics, the panic is reported and counted, and the
// other state of the change is mapped all the same.
type Map[T any] func(obj T) []types.NamespacedName

// Self maps an object to its own key.
func Self[T metav1.Object](obj T) []types.NamespacedName {
	return []types.NamespacedName{keyOf(obj)}
}

// Owner maps an object to the key of its controller, if that is of the given
// group and kind, in any version: the owner reference with controller set. The
// owner is sought in the namespace of the object; for owners that are not in a
// namespace write a [Map] of your own. An object without such an owner is mapped
// to nothing.
//
// The compiler cannot guess the type of the object here: name it, as in
// Owner[*corev1.Pod](kind).
func Owner[T metav1.Object](kind schema.GroupKind) Map[T] {
	return func(obj T) []types.NamespacedName {
		ref := metav1.GetControllerOfNoCopy(obj)
		if ref == nil || ref.Kind != kind.Kind {
			return nil
		}
		if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != kind.Group {
			return nil
		}
		return []types.NamespacedName{{Namespace: obj.GetNamespace(), Name: ref.Name}}
	}
}

func keyOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// Watch makes a controller reconcile the keys that keys names for the objects of
// an informer, whenever one of them appears, changes or goes. For one informer it
// can be called several times, with different maps.
//
// The handler is registered when [Controller.Run] starts and removed when it
// ends, so a controller that does not run costs nothing. While the controller
// runs, Watch registers at once and does not wait for the informer. A nil
// controller, informer or map is an error.
func Watch[T any](c *Controller, inf Informer[T], keys Map[T]) error {
	switch {
	case c == nil:
		return fmt.Errorf("controller: watch: %w: the controller is nil", errInvalid)
	case isNil(inf):
		return fmt.Errorf("controller %s: watch: %w: the informer is nil", c.name, errInvalid)
	case keys == nil:
		return fmt.Errorf("controller %s: watch: %w: the map is nil", c.name, errInvalid)
	}
	return c.watch(&watch{
		name: nameOf(inf),
		start: func(q *queue) (registration, error) {
			return inf.Handle(handler(c, q, keys), informer.HandlerOptions[T]{Name: "controller " + c.name})
		},
	})
}

// watch is one call of Watch.
type watch struct {
	name  string
	start func(q *queue) (registration, error)
}

// registration is what a controller needs of an *informer.Registration.
type registration interface {
	Wait(ctx context.Context) error
	Remove()
	Done() <-chan struct{}
}

// watch remembers a watch, and starts it if the controller runs.
func (c *Controller) watch(w *watch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == Syncing || c.phase == Running {
		r, err := w.start(c.queue)
		if err != nil {
			return fmt.Errorf("controller %s: watch: %w", c.name, err)
		}
		c.running = append(c.running, r)
	}
	c.watches = append(c.watches, w)
	return nil
}

// handler adds the keys of each change to a queue, each once: a quick worker could
// else be done with a key before it is added for the second state of the change,
// and do the same work again.
func handler[T any](c *Controller, q *queue, keys Map[T]) informer.Handler[T] {
	return informer.HandlerFunc[T](func(ctx context.Context, change informer.Change[T]) {
		var before, after []types.NamespacedName
		if change.Type != informer.Added && !change.Resync {
			before = mapped(ctx, c, keys, change.Key, change.Old)
		}
		if !change.FinalStateUnknown {
			after = mapped(ctx, c, keys, change.Key, change.New)
		}
		for _, key := range union(before, after) {
			// The only error is that of a closed queue, whose run has ended.
			// The next run is told of every object.
			_ = q.Add(key)
		}
	})
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

// mapped calls a map and recovers from its panic.
func mapped[T any](ctx context.Context, c *Controller, keys Map[T], key types.NamespacedName, obj T) []types.NamespacedName {
	defer func() {
		if v := recover(); v != nil {
			err := &PanicError{Key: key, Value: v, Stack: debug.Stack()}
			ctx := klog.NewContext(ctx, klog.FromContext(ctx).WithValues("controller", c.name, "key", key))
			c.counts.unmapped(key, err)
			c.report(ctx, key, err)
		}
	}()
	return keys(obj)
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
