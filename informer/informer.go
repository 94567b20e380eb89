package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"heliograph.example/deltafifo"
	"heliograph.example/indexer"
	"heliograph.example/reflector"
)

// Options describe an informer. The zero value is ready for use.
type Options[T any] struct {
	// Name stands for the collection in errors, logs and status, as "pods".
	// [For] makes one from the resource and the scope if it is empty.
	Name string
	// Scope narrows what [For] reads. A source given to [New] has a scope of
	// its own, and this must be empty.
	Scope Scope
	// Indexes are there from the start. More can be added at any time.
	Indexes indexer.Indexes[T]
	// Transform, if not nil, replaces each object before it is stored: to cut
	// away what nobody reads, say. It may modify and return its argument. If
	// it fails or panics for one object, that object keeps its last good
	// state, the failure is reported, and the next version is tried again.
	Transform func(obj T) (T, error)
	// ReadOnlyTransform promises that Transform does not write into what it is
	// given: it returns that, or something else. Without the promise, objects
	// share nothing where there is a Transform, and take more memory.
	ReadOnlyTransform bool
	// Shape says what of each object is wanted. The zero value wants all of it;
	// with DropManagedFields or Fields, objects take less memory, and decoding
	// them less time.
	Shape Shape
	// Mutations says what becomes of a write into an object that the informer
	// has given out. By default the environment decides; see [MutationVariable].
	Mutations MutationPolicy
	// OnObjectError, if not nil, is told of each failure that concerns one
	// object. It is called from the goroutine that met the failure, and delays
	// it: it must return quickly. Without it, failures are logged and counted.
	OnObjectError func(*ObjectError)
	// Reflector tunes how the server is read. Its Name, Transform,
	// ReadOnlyTransform, Shape and OnObjectError are set by the informer and must
	// be empty.
	Reflector reflector.Options[T]
}

// Shape says what of each object is wanted, and whether objects may have parts in
// common.
type Shape = reflector.Shape

// Informer keeps a local, indexed copy of one collection of a server and tells
// handlers of each change to it. All methods are safe for concurrent use.
//
// An informer can be run, stopped, and run again: store, indexes and handlers
// stay, and the next run goes on where the last one ended.
type Informer[T any] struct {
	name      string
	options   kept[T]
	store     *indexer.Indexer[T]
	reflector *reflector.Reflector[T]
	processor processor[T]

	// loop applies what the reflector reads in the present run, or did in the last.
	loop atomic.Pointer[loop[T]]

	// clock follows the version of the store; unversioned says that the
	// versions of the source mean nothing.
	clock       clock
	unversioned bool

	syncOnce sync.Once
	synced   chan struct{}

	life     *lifecycle
	failures failures
	detector *detector[T] // nil if nobody looks out for writes
	// stale counts changes that were dropped because the store held newer ones.
	stale atomic.Uint64
	// epoch is that of the reader when the loop applied its last list, and
	// unindexed has the objects that some index lacks. Keys is empty, and what the
	// loop uses again. The lock of the processor guards all three.
	epoch     uint64
	unindexed map[types.NamespacedName]*ObjectError
	keys      []types.NamespacedName
}

// kept is what an informer needs of its options later. The rest is its reader's.
type kept[T any] struct {
	scope             Scope
	transform         func(T) (T, error)
	readOnlyTransform bool
	mutations         MutationPolicy
	shape             Shape
	onObjectError     func(*ObjectError)
}

// New makes an informer that reads source. A nil source is an error.
func New[T any](source reflector.Source[T], opts Options[T]) (*Informer[T], error) {
	if opts.Scope != (Scope{}) {
		return nil, fmt.Errorf("informer %s: %w: Options.Scope is for For; give the source its scope", opts.Name, ErrInvalid)
	}
	return newInformer(source, opts)
}

func newInformer[T any](source reflector.Source[T], opts Options[T]) (*Informer[T], error) {
	if opts.Name == "" {
		opts.Name = reflect.TypeFor[T]().String()
	}
	if isNil(source) {
		return nil, fmt.Errorf("informer %s: %w: the source is nil", opts.Name, ErrInvalid)
	}
	if r := opts.Reflector; r.Name != "" || r.Transform != nil || r.ReadOnlyTransform || !r.Shape.Equal(Shape{}) || r.OnObjectError != nil {
		return nil, fmt.Errorf("informer %s: %w: set Name, Transform, ReadOnlyTransform, Shape and OnObjectError in Options, not in Options.Reflector", opts.Name, ErrInvalid)
	}
	store, err := indexer.New(opts.Indexes)
	if err != nil {
		return nil, fmt.Errorf("informer %s: %w", opts.Name, err)
	}
	i := &Informer[T]{
		name: opts.Name,
		options: kept[T]{
			scope: opts.Scope, transform: opts.Transform, readOnlyTransform: opts.ReadOnlyTransform,
			shape: opts.Shape, mutations: opts.Mutations, onObjectError: opts.OnObjectError,
		},
		store:     store,
		processor: processor[T]{store: store},
		synced:    make(chan struct{}),
		unindexed: make(map[types.NamespacedName]*ObjectError),
		life:      newLifecycle(),
	}
	if i.detector, err = newDetector[T](opts.Mutations, i.report); err != nil {
		return nil, fmt.Errorf("informer %s: %w", opts.Name, err)
	}
	if s, ok := source.(reflector.Unversioned); ok {
		i.unversioned = s.Unversioned()
	}
	ro := opts.Reflector
	ro.Name, ro.Transform, ro.OnObjectError = opts.Name, opts.Transform, i.report
	ro.ReadOnlyTransform, ro.Shape = opts.ReadOnlyTransform, opts.Shape
	i.reflector, err = reflector.New(source, sink[T]{i}, ro)
	if errors.Is(err, reflector.ErrInvalid) {
		return nil, fmt.Errorf("informer %s: %w: %w", opts.Name, ErrInvalid, err)
	}
	if err != nil {
		return nil, fmt.Errorf("informer %s: %w", opts.Name, err)
	}
	return i, nil
}

// Name is the name of the collection in errors, logs and status.
func (i *Informer[T]) Name() string { return i.name }

// Scope is what the informer reads, as its options say. It is empty for one made by
// [New], whose source has a scope of its own.
func (i *Informer[T]) Scope() Scope { return i.options.scope }

// Store is the local copy. It can be read at any time; before Synced it is
// empty, or holds what an earlier run has left.
func (i *Informer[T]) Store() indexer.Reader[T] { return i.store }

// AddIndexes adds indexes to the store, before or while the informer runs. When
// it returns they are complete. A name that is taken and a nil function are
// errors. Objects for which a function fails are reported.
func (i *Informer[T]) AddIndexes(indexes indexer.Indexes[T]) error {
	failed, err := i.addIndexes(indexes)
	if err != nil {
		return fmt.Errorf("informer %s: %w", i.name, err)
	}
	for _, e := range failed {
		i.report(e)
	}
	return nil
}

// addIndexes holds the loop up: what failed must be noted before a newer state of
// the object is.
func (i *Informer[T]) addIndexes(indexes indexer.Indexes[T]) (failed []*ObjectError, err error) {
	i.processor.mu.Lock()
	defer i.processor.mu.Unlock()
	of, err := i.store.AddIndexes(indexes)
	for _, f := range of {
		held, _ := i.store.Entry(f.Key)
		e := &ObjectError{Resource: i.name, Key: f.Key, UID: held.UID, Version: held.Version, Stage: StageIndex, Err: f}
		i.unindexed[f.Key] = e
		failed = append(failed, e)
	}
	return failed, err
}

// Synced is closed when the store holds a first complete state of the server. It
// stays closed, also after a stop.
func (i *Informer[T]) Synced() <-chan struct{} { return i.synced }

// Handle registers a handler. It is first told of every object that is there, as
// Added and Initial, then of each change. A nil handler is an error.
func (i *Informer[T]) Handle(h Handler[T], opts HandlerOptions[T]) (*Registration, error) {
	if isNil(h) {
		return nil, fmt.Errorf("informer %s: %w: the handler is nil", i.name, ErrInvalid)
	}
	if opts.Name == "" {
		opts.Name = handlerName(h)
	}
	if err := opts.complete(); err != nil {
		return nil, fmt.Errorf("informer %s: handler %s: %w", i.name, opts.Name, err)
	}
	return i.register(h, opts), nil
}

func (i *Informer[T]) register(h Handler[T], opts HandlerOptions[T]) *Registration {
	l := newListener(h, opts, i.report)
	l.detector = i.detector
	l.reg.wait = func(ctx context.Context, synced <-chan struct{}, what string) error {
		return i.await(ctx, synced, l.removed, what)
	}
	l.reg.waitForVersion = func(ctx context.Context, version string) error { return i.handled(ctx, l, version) }
	l.reg.stopped = func(ctx context.Context) error { return i.awaitStop(ctx, l.removed) }
	i.processor.add(l)
	return l.reg
}

// Changes returns the changes as an iterator: first every object that is there,
// as Added and Initial, then each change. The loop's body is the handler, and
// may take as long as it likes. The loop ends when ctx ends, or when a run of the
// informer that it has seen ends.
func (i *Informer[T]) Changes(ctx context.Context) iter.Seq[Change[T]] {
	return func(yield func(Change[T]) bool) { i.changes(ctx, yield) }
}

// Run reads the server, keeps the store and tells the handlers, until ctx ends.
// It returns when everything it started has ended, handlers included, and then
// nil, or what else ended it. Only one Run can be under way: another is
// ErrRunning. A handler that does not heed its context delays the return.
func (i *Informer[T]) Run(ctx context.Context) error {
	if err := i.admit(ctx); err != nil {
		return err
	}
	return i.run(ctx)
}

// admit begins a run, or says why there can be none.
func (i *Informer[T]) admit(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("informer %s: %w: the context is nil", i.name, ErrInvalid)
	}
	if err := i.begin(); err != nil {
		return i.named(err)
	}
	return nil
}

// begin marks the begin of a run: from then on the informer is not stopped.
func (i *Informer[T]) begin() error { return i.life.begin() }

// run is what follows begin. The reader is in the goroutine of the caller, and most
// of the time waits there: the less there is on the stack, the smaller it stays.
func (i *Informer[T]) run(ctx context.Context) (err error) {
	r, err := i.start(ctx)
	if err != nil {
		i.life.end(err)
		return err
	}
	defer func() { err = i.stop(r) }()
	r.read = i.reflector.Run(r.ctx)
	return nil
}

// oneRun is what a run needs at its end.
type oneRun[T any] struct {
	// outer is the context that Run was given, ctx that of all that it starts.
	outer, ctx context.Context
	cancel     context.CancelFunc
	loop       *loop[T]
	group      sync.WaitGroup
	// read is what the reader has ended with.
	read error
}

// start begins everything in a run but the reader.
func (i *Informer[T]) start(ctx context.Context) (*oneRun[T], error) {
	queue, err := deltafifo.New[T](deltafifo.Options{Holds: i.holds, Idle: loopLinger})
	if err != nil {
		return nil, i.named(err)
	}
	r := &oneRun[T]{outer: ctx, read: errGoexit} // a function of the user's can end the goroutine
	r.ctx, r.cancel = i.runContext(ctx)
	r.loop = &loop[T]{queue: queue, apply: i.apply, failed: func(error) { r.cancel() }}
	i.loop.Store(r.loop)
	i.processor.start(r.ctx)
	if i.detector != nil {
		r.group.Go(func() { i.detector.run(r.ctx) })
	}
	return r, nil
}

// stop ends everything in a run, whose reader has ended.
func (i *Informer[T]) stop(r *oneRun[T]) error {
	loop := r.loop.end()
	r.cancel()
	r.group.Wait()
	i.processor.stop()
	i.detector.check()
	err := cmp.Or(loop, r.read)
	if err != nil && r.outer.Err() != nil {
		err = nil
	}
	if err != nil {
		err = i.named(err)
	}
	i.life.end(err)
	return err
}

// runContext is what everything in a run begins with.
func (i *Informer[T]) runContext(ctx context.Context) (context.Context, context.CancelFunc) {
	logger := klog.FromContext(ctx).WithValues("informer", i.name)
	i.failures.logger.Store(&logger)
	return context.WithCancel(klog.NewContext(ctx, logger))
}

// named puts the name before an error.
func (i *Informer[T]) named(err error) error { return fmt.Errorf("informer %s: %w", i.name, err) }

func (i *Informer[T]) holds(key types.NamespacedName) bool {
	_, ok := i.store.Entry(key)
	return ok
}

// sink is where the reflector puts what it reads.
type sink[T any] struct{ informer *Informer[T] }

func (s sink[T]) Push(deltas []deltafifo.Delta[T]) error { return s.informer.loop.Load().push(deltas) }

// Held shows the store to a source that decodes new states of objects by old ones.
func (s sink[T]) Held(key types.NamespacedName) (T, bool) { return s.informer.store.Get(key) }

func (s sink[T]) Known(ctx context.Context) (reflector.Known, error) {
	if err := s.informer.loop.Load().queue.Settled(ctx); err != nil {
		return nil, err
	}
	return known[T]{s.informer.store}, nil
}

// known shows the store to a relist.
type known[T any] struct{ store *indexer.Indexer[T] }

func (k known[T]) Lookup(key types.NamespacedName) (types.UID, string, bool) {
	e, ok := k.store.Entry(key)
	return e.UID, e.Version, ok
}

func (k known[T]) Keys() iter.Seq[types.NamespacedName] {
	return func(yield func(types.NamespacedName) bool) {
		for e := range k.store.Entries() {
			if !yield(e.Key) {
				return
			}
		}
	}
}

func (k known[T]) Len() int { return k.store.Len() }

// complete checks the options and fills in defaults.
func (o *HandlerOptions[T]) complete() error {
	switch {
	case o.Resync != 0 && o.Resync < time.Second:
		return fmt.Errorf("%w: Resync is %v; use at least 1s, or 0 for never", ErrInvalid, o.Resync)
	case o.Budget < 0:
		return fmt.Errorf("%w: Budget is %d; use 0 for the default", ErrInvalid, o.Budget)
	case o.Budget == 0:
		o.Budget = DefaultBudget
	}
	return nil
}

// handlerName names a handler by its function or its type.
func handlerName(h any) string {
	v := reflect.ValueOf(h)
	if v.Kind() == reflect.Func {
		if f := runtime.FuncForPC(v.Pointer()); f != nil {
			name := f.Name()
			return name[strings.LastIndexByte(name, '/')+1:]
		}
	}
	return v.Type().String()
}

// isNil reports whether v is nil or an interface around a nil.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Func, reflect.Pointer, reflect.Map, reflect.Interface, reflect.Chan, reflect.Slice:
		return r.IsNil()
	}
	return false
}
