package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"heliograph.example/deltafifo"
	"heliograph.example/informer"
)

// Object is what a recorder can be told of: a pointer to an API object.
type Object interface {
	comparable
	metav1.Object
}

// Options say what a recorder has to allow for, and what it does meanwhile.
type Options[T Object] struct {
	// Filtered is set for a handler with a filter. To it, an object may end
	// and begin again with the same UID, and a delete may carry a state that
	// the filter does not want.
	Filtered bool
	// Work, if not nil, is done in each call before the change is recorded: it
	// makes a slow handler of the recorder.
	Work func(ctx context.Context, change informer.Change[T])
}

// State is the identity and the version of an object that is alive.
type State struct {
	UID     types.UID
	Version string
}

// Told is one change in the order in which it was told.
type Told struct {
	Type deltafifo.Type
	Key  types.NamespacedName
	State
	// Initial, Resync and FinalStateUnknown are those of the change.
	Initial, Resync, FinalStateUnknown bool
}

// Recorder is an informer's handler that keeps what it is told and checks it on
// the way. Make one with [New]. Its methods may be called by any number of
// goroutines.
type Recorder[T Object] struct {
	options Options[T]

	mu      sync.Mutex
	told    []Told
	objects map[types.NamespacedName]*object[T]
	errs    []error
	ignored int // violations past the first maxErrors
	calls   int // calls of Handle at this moment
}

// object is what the recorder knows about a key.
type object[T Object] struct {
	alive bool
	last  T // what New was last
	State
}

// maxErrors bounds what Err returns: one broken rule tends to break many.
const maxErrors = 10

// New makes a recorder that was told nothing yet.
func New[T Object](options Options[T]) *Recorder[T] {
	return &Recorder[T]{options: options, objects: make(map[types.NamespacedName]*object[T])}
}

// Handle records and checks one change.
func (r *Recorder[T]) Handle(ctx context.Context, c informer.Change[T]) {
	r.enter(c)
	if r.options.Work != nil {
		r.options.Work(ctx, c)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls--
	o := r.objects[c.Key]
	if o == nil {
		o = &object[T]{}
		r.objects[c.Key] = o
	}
	for _, broken := range r.check(o, c) {
		r.violated(c, broken)
	}
	r.told = append(r.told, Told{Type: c.Type, Key: c.Key, State: State{c.UID, c.Version},
		Initial: c.Initial, Resync: c.Resync, FinalStateUnknown: c.FinalStateUnknown})
	o.alive, o.last = c.Type != informer.Deleted, c.New
	o.UID = c.UID
	if c.Version != "" {
		o.Version = c.Version
	}
}

// enter counts the calls under way. It is a critical section of its own, so that
// a second call in between is noticed and not just delayed.
func (r *Recorder[T]) enter(c informer.Change[T]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls++; r.calls > 1 {
		r.violated(c, "two calls at a time")
	}
}

func (r *Recorder[T]) violated(c informer.Change[T], what string) {
	if len(r.errs) == maxErrors {
		r.ignored++
		return
	}
	r.errs = append(r.errs, fmt.Errorf("change %d, %v %v at version %q, UID %q: %s", len(r.told), c.Type, c.Key, c.Version, c.UID, what))
}

// Err returns the violations so far, joined, or nil.
func (r *Recorder[T]) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := slices.Clone(r.errs)
	if r.ignored > 0 {
		errs = append(errs, fmt.Errorf("and %d more", r.ignored))
	}
	return errors.Join(errs...)
}

// Len returns the number of changes so far.
func (r *Recorder[T]) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.told)
}

// Told returns a copy of the changes so far.
func (r *Recorder[T]) Told() []Told {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.told)
}

// State returns the objects that are alive after the changes so far.
func (r *Recorder[T]) State() map[types.NamespacedName]State {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := make(map[types.NamespacedName]State, len(r.objects))
	for key, o := range r.objects {
		if o.alive {
			state[key] = o.State
		}
	}
	return state
}

// Diff tells how two states differ, nil if they do not. It names a few keys of
// each kind of difference, in order.
func Diff(got, want map[types.NamespacedName]State) error {
	var missing, extra, different []string
	for key, w := range want {
		switch g, ok := got[key]; {
		case !ok:
			missing = append(missing, fmt.Sprintf("%v %v", key, w))
		case g != w:
			different = append(different, fmt.Sprintf("%v is %v, not %v", key, g, w))
		}
	}
	for key, g := range got {
		if _, ok := want[key]; !ok {
			extra = append(extra, fmt.Sprintf("%v %v", key, g))
		}
	}
	return errors.Join(few("missing", missing), few("should not be there", extra), few("different", different))
}

func few(what string, found []string) error {
	if len(found) == 0 {
		return nil
	}
	slices.Sort(found)
	const most = 5
	return fmt.Errorf("%d %s, such as %q", len(found), what, found[:min(most, len(found))])
}

// StateOf returns the state that a LIST or a store shows.
func StateOf[T metav1.Object](objects []T) map[types.NamespacedName]State {
	state := make(map[types.NamespacedName]State, len(objects))
	for _, o := range objects {
		state[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] = State{o.GetUID(), o.GetResourceVersion()}
	}
	return state
}

// newer reports whether version a is newer than b, after the order that
// Kubernetes defines for resource versions.
func newer(a, b string) (bool, error) {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return order > 0, err
}
