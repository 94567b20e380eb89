package informer

import (
	"context"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/internal/panics"
	"heliograph.example/reflector"
)

// MutationPolicy says what becomes of a write into an object that an informer has
// given out. Such objects belong to everybody, and have parts in common: a write
// into one shows in the store and in others. Looking out for writes takes a copy of
// each object and compares it around each call of a handler, once a minute, when it
// is replaced and at the end of a run: it is for tests.
type MutationPolicy uint8

const (
	// MutationsAsEnvironment does what [MutationVariable] says: "ignore",
	// "report" or "panic". Where that is not set, client-go's
	// KUBE_CACHE_MUTATION_DETECTOR=true means "report". By default nothing is
	// looked out for.
	MutationsAsEnvironment MutationPolicy = iota
	// IgnoreMutations does not look out for writes, and costs nothing.
	IgnoreMutations
	// ReportMutations reports an ObjectError of stage StageMutated with a
	// [*MutationError], up to 100 of them; then it stops looking.
	ReportMutations
	// PanicOnMutation panics with that error.
	PanicOnMutation
)

// MutationVariable is the environment variable for informers that leave the policy
// to the environment. It is read when the informer is made.
const MutationVariable = "HELIOGRAPH_MUTATION_DETECTOR"

// StageMutated is the stage of an [ObjectError] about an object into which somebody
// has written.
const StageMutated = reflector.Stage("mutated")

const (
	maxMutations  = 100
	mutationsTick = time.Minute
)

// resolve asks the environment if it is to decide.
func (p MutationPolicy) resolve() (MutationPolicy, error) {
	if p > PanicOnMutation {
		return p, fmt.Errorf("%w: mutation policy %d", ErrInvalid, p)
	}
	if p != MutationsAsEnvironment {
		return p, nil
	}
	switch value := os.Getenv(MutationVariable); value {
	case "":
	case "ignore":
		return IgnoreMutations, nil
	case "report":
		return ReportMutations, nil
	case "panic":
		return PanicOnMutation, nil
	default:
		return p, fmt.Errorf("%w: %s is %q; use ignore, report or panic", ErrInvalid, MutationVariable, value)
	}
	// client-go takes whatever is no boolean for false.
	if on, _ := strconv.ParseBool(os.Getenv("KUBE_CACHE_MUTATION_DETECTOR")); on {
		return ReportMutations, nil
	}
	return IgnoreMutations, nil
}

// MutationError tells who has written into an object, and where.
type MutationError struct {
	// Handler is the name of the handler that was told of the object and has
	// written into it. If it is empty, it was a reader of the store, or a
	// handler after it had returned.
	Handler string
	// Beside are other handlers that were at work meanwhile: it may have been
	// one of them.
	Beside []string
	// Field is the first field that differs, such as "spec.containers[0].image".
	Field string
	// Others is the number of objects that have changed with this one, because
	// they have the part in common.
	Others int
}

// Error names who and where.
func (e *MutationError) Error() string {
	var b strings.Builder
	if e.Handler == "" {
		b.WriteString("a reader of the store, or a handler after it had returned,")
	} else {
		b.WriteString("handler " + e.Handler)
	}
	fmt.Fprintf(&b, " has written to %s; objects of an informer are read-only", e.Field)
	if len(e.Beside) > 0 {
		fmt.Fprintf(&b, " (at work at the same time: %s)", strings.Join(e.Beside, ", "))
	}
	if e.Others > 0 {
		fmt.Fprintf(&b, "; %d other objects have changed with it", e.Others)
	}
	return b.String()
}

// A detector finds out who writes into objects. A nil one does nothing.
type detector[T any] struct {
	report func(*ObjectError)

	mu    sync.Mutex
	found int
	// held has every object of the store, and calls the handlers at work.
	held  map[types.NamespacedName]*original[T]
	calls map[*call[T]]bool
}

// An original is an object with a copy of what it was.
type original[T any] struct {
	key          types.NamespacedName
	uid          types.UID
	version      string
	object, copy T
}

// A call is one of a handler.
type call[T any] struct {
	handler string
	given   []*original[T]
	beside  map[string]bool
}

// newDetector returns nil if nothing is to be looked out for.
func newDetector[T any](policy MutationPolicy, report func(*ObjectError)) (*detector[T], error) {
	p, err := policy.resolve()
	if err != nil || p == IgnoreMutations {
		return nil, err
	}
	if t := reflect.TypeFor[T](); !t.Implements(reflect.TypeFor[runtime.Object]()) {
		if policy == MutationsAsEnvironment {
			return nil, nil
		}
		return nil, fmt.Errorf("%w: mutations of %v cannot be found: it has no DeepCopyObject", ErrInvalid, t)
	}
	if p == PanicOnMutation {
		report = func(e *ObjectError) { panic(e) }
	}
	return &detector[T]{report: report, held: map[types.NamespacedName]*original[T]{}, calls: map[*call[T]]bool{}}, nil
}

// put notes what the store holds under a key from now on, del that it holds
// nothing. What they return is to be told when no lock is held.
func (d *detector[T]) put(key types.NamespacedName, uid types.UID, version string, object T) (found []*ObjectError) {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	found = d.look(nil, d.held[key])
	o, err := newOriginal(key, uid, version, object)
	if err != nil {
		found = append(found, err)
	}
	delete(d.held, key)
	if o != nil && d.found < maxMutations {
		d.held[key] = o
	}
	return found
}

func (d *detector[T]) del(key types.NamespacedName) (found []*ObjectError) {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	found = d.look(nil, d.held[key])
	delete(d.held, key)
	return found
}

// tell reports what was found. The caller holds no lock.
func (d *detector[T]) tell(found []*ObjectError) {
	for _, e := range found {
		d.report(e)
	}
}

// calling begins a call of a handler, and returns what ends it.
func (d *detector[T]) calling(handler string, c Change[T]) (returned func()) {
	mine := &call[T]{handler: handler, beside: map[string]bool{}}
	d.mu.Lock()
	found := d.give(mine, c)
	found = append(found, d.look(nil, mine.given...)...)
	for other := range d.calls {
		other.beside[handler], mine.beside[other.handler] = true, true
	}
	d.calls[mine] = true
	d.mu.Unlock()
	d.tell(found)
	return func() {
		d.mu.Lock()
		found := d.look(mine, mine.given...)
		delete(d.calls, mine)
		d.mu.Unlock()
		d.tell(found)
	}
}

// give notes what a handler is told of. Old has left the store already, so it is
// known only as it is now.
func (d *detector[T]) give(mine *call[T], c Change[T]) (found []*ObjectError) {
	if d.found >= maxMutations {
		return nil
	}
	for _, object := range []T{c.New, c.Old} {
		o := d.held[c.Key]
		if o == nil || any(o.object) != any(object) {
			var err *ObjectError
			if o, err = newOriginal(c.Key, c.UID, c.Version, object); err != nil {
				found = append(found, err)
			}
		}
		if o != nil {
			mine.given = append(mine.given, o)
		}
	}
	return found
}

// check compares everything.
func (d *detector[T]) check() {
	if d == nil {
		return
	}
	d.mu.Lock()
	found := d.look(nil, slices.Collect(maps.Values(d.held))...)
	d.mu.Unlock()
	d.tell(found)
}

// run compares everything once a minute until ctx ends.
func (d *detector[T]) run(ctx context.Context) {
	ticker := time.NewTicker(mutationsTick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			d.check()
		case <-ctx.Done():
			return
		}
	}
}

// look compares objects with what they were. by is the call that has just
// returned, nil for somebody unknown. The caller holds mu.
func (d *detector[T]) look(by *call[T], all ...*original[T]) (found []*ObjectError) {
	for _, o := range all {
		if o == nil || d.found >= maxMutations {
			continue
		}
		field, differs := o.renew()
		if !differs {
			continue
		}
		e := &MutationError{Field: field, Others: d.spread()}
		if by != nil {
			e.Handler, e.Beside = by.handler, slices.Sorted(maps.Keys(by.beside))
		} else {
			for c := range d.calls {
				e.Beside = append(e.Beside, c.handler)
			}
			slices.Sort(e.Beside)
		}
		found = append(found, &ObjectError{Key: o.key, UID: o.uid, Version: o.version, Stage: StageMutated, Err: e})
		if d.found++; d.found == maxMutations {
			clear(d.held)
		}
	}
	return found
}

// spread takes note of the changes in all other objects, which are those of one
// write: nobody is to be blamed for them again.
func (d *detector[T]) spread() (others int) {
	all := slices.Collect(maps.Values(d.held))
	for c := range d.calls {
		all = append(all, c.given...)
	}
	for _, o := range all {
		if _, differs := o.renew(); differs {
			others++
		}
	}
	return others
}

// newOriginal copies an object, nil if there is none. One that cannot be copied is
// an error.
func newOriginal[T any](key types.NamespacedName, uid types.UID, version string, object T) (o *original[T], err *ObjectError) {
	if v := reflect.ValueOf(object); v.Kind() != reflect.Pointer || v.IsNil() {
		return nil, nil
	}
	defer func() {
		if v := recover(); v != nil { // such as for a value that no JSON has
			o, err = nil, &ObjectError{Key: key, UID: uid, Version: version, Stage: StageMutated, Err: panics.New(v)}
		}
	}()
	return &original[T]{key: key, uid: uid, version: version, object: object, copy: deepCopy(object)}, nil
}

func deepCopy[T any](object T) T { return any(object).(runtime.Object).DeepCopyObject().(T) }

// renew returns the first field that differs from the copy, and takes the object
// as it is for the copy from now on.
func (o *original[T]) renew() (field string, differs bool) {
	field, differs = difference("", reflect.ValueOf(o.object), reflect.ValueOf(o.copy))
	if !differs {
		return "", false
	}
	defer func() {
		if recover() != nil { // what was written cannot be copied: it is all the same to us then
			o.copy = o.object
		}
	}()
	o.copy = deepCopy(o.object)
	return field, true
}
