package cache

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"heliograph.example/indexer"
	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// NewSharedInformer is [NewSharedIndexInformer] without indexes.
func NewSharedInformer(lw ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration) SharedInformer {
	return NewSharedIndexInformer(lw, exampleObject, defaultEventHandlerResyncPeriod, nil)
}

// NewSharedIndexInformer is [NewSharedIndexInformerWithOptions] with a resync period,
// 0 for none, and indexes, nil for none.
func NewSharedIndexInformer(lw ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration, indexers Indexers) SharedIndexInformer {
	return NewSharedIndexInformerWithOptions(lw, exampleObject, SharedIndexInformerOptions{
		ResyncPeriod: defaultEventHandlerResyncPeriod, Indexers: indexers,
	})
}

// NewSharedIndexInformerWithOptions makes an informer that reads lw. exampleObject is
// of the type that is expected; an object of another is reported and left out. nil
// expects nothing.
//
// With options.ResyncPeriod 0 the informer does no resyncs, whatever its handlers ask
// for, as client-go has it.
//
// A nil lw gives an informer that never syncs, and says why where it says what goes
// wrong. An index function that is nil is reported, and there is no such index.
func NewSharedIndexInformerWithOptions(lw ListerWatcher, exampleObject runtime.Object, options SharedIndexInformerOptions) SharedIndexInformer {
	return makeSharedIndexInformer(lw, exampleObject, options, informer.Options[any]{})
}

// makeSharedIndexInformer makes an informer that reads lw. more has no fault.
func makeSharedIndexInformer(lw ListerWatcher, exampleObject runtime.Object, options SharedIndexInformerOptions, more informer.Options[any]) *sharedIndexInformer {
	s := newSharedIndexInformer(exampleObject, options)
	source, err := reflector.FromListerWatcher[any](lw)
	if err != nil {
		source, _ = reflector.FromListerWatcher[any](failing(err)) // fails for nil alone
	}
	if err := s.build(source, more, options.Indexers); err != nil {
		// The environment has a policy for mutations that is none.
		report("Informer was made without its mutation detector", err)
		more.Mutations = informer.IgnoreMutations
		report("Informer cannot be made", s.build(source, more, options.Indexers))
	}
	return s
}

// failing is a [ListerWatcher] that cannot do either.
func failing(err error) ListerWatcher {
	return &ListWatch{
		ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, err },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, err },
	}
}

// NewSharedIndexInformerFromSource makes an informer that reads a source of ours, with
// our decoders. [reflector.Untyped] makes one of a source of typed objects.
//
// more has what client-go's options lack: Name, Shape, Mutations, OnObjectError and
// Reflector as in package informer. ReadOnlyTransform lets objects share equal parts;
// then what is given to SetTransform must not write into its argument. Without it,
// each object is private, as client-go's are. Scope, Indexes and Transform must be
// empty: the source has its scope, and the rest has its place in options and
// SetTransform. A bad option and a nil source are an error.
func NewSharedIndexInformerFromSource(source reflector.Source[any], exampleObject runtime.Object, options SharedIndexInformerOptions, more informer.Options[any]) (SharedIndexInformer, error) {
	if more.Indexes != nil || more.Transform != nil {
		return nil, errors.New("informer: Indexes and Transform are set in SharedIndexInformerOptions and by SetTransform")
	}
	s := newSharedIndexInformer(exampleObject, options)
	if err := s.build(source, more, options.Indexers); err != nil {
		return nil, err
	}
	return s, nil
}

// Native returns the informer of package informer that is behind one made here: it
// tells its status, and can be read and waited for in more ways. ok is false for an
// informer that was made elsewhere. Who runs it does so by the methods of the
// [SharedInformer].
func Native(of SharedInformer) (native *informer.Informer[any], ok bool) {
	s, ok := of.(*sharedIndexInformer)
	if !ok {
		return nil, false
	}
	return s.native, true
}

// sharedIndexInformer is an [informer.Informer] with the methods of client-go's.
type sharedIndexInformer struct {
	native       *informer.Informer[any]
	indexer      *store
	expected     expectation
	resyncPeriod time.Duration

	mu                sync.Mutex
	started, ended    bool
	ctx               context.Context // of the run; nil before it
	watchErrorHandler WatchErrorHandlerWithContext
	// transform does not change once started is set.
	transform TransformFunc
	failure   lastFailure
}

var _ SharedIndexInformer = (*sharedIndexInformer)(nil)

func newSharedIndexInformer(exampleObject runtime.Object, options SharedIndexInformerOptions) *sharedIndexInformer {
	return &sharedIndexInformer{
		expected:     expect(exampleObject, options.ObjectDescription),
		resyncPeriod: max(options.ResyncPeriod, 0),
	}
}

// build makes the informer itself.
func (s *sharedIndexInformer) build(source reflector.Source[any], more informer.Options[any], indexers Indexers) error {
	if more.Name == "" {
		more.Name = s.expected.description
	}
	given := indexers
	if indexers = withoutNil(indexers); len(indexers) < len(given) {
		report("Informer was made without some of its indexes", fmt.Errorf("informer %s: %w", more.Name, indexer.ErrNilIndexFunc))
	}
	more.Indexes = indexesOf(indexers)
	more.Transform = s.transformed
	native, err := informer.New(source, more)
	if err != nil {
		return err
	}
	s.native = native
	// Reading and writing are two types of one thing. Only tests write to the store
	// of an informer, and with client-go they can.
	s.indexer = newIndexerOver(native.Store().(*indexer.Indexer[any]), indexers, DeletionHandlingMetaNamespaceKeyFunc)
	native.Subscribe(s.watchErrors)
	return nil
}

// transformed is what is stored of an object that was read.
func (s *sharedIndexInformer) transformed(obj any) (any, error) {
	if err := s.expected.meets(obj); err != nil {
		return nil, err
	}
	if s.transform == nil {
		return obj, nil
	}
	return s.transform(obj)
}

// expectation is what is known of the objects to come.
type expectation struct {
	example     runtime.Object
	description string
	typ         reflect.Type // nil expects nothing
	// gvk is empty if any will do.
	gvk string
}

func expect(example runtime.Object, description string) expectation {
	e := expectation{example: example, description: description, typ: reflect.TypeOf(example)}
	if u, ok := example.(*unstructured.Unstructured); ok && u != nil && !u.GroupVersionKind().Empty() {
		e.gvk = u.GroupVersionKind().String()
	}
	switch {
	case description != "":
	case e.typ == nil:
		e.description = "<unspecified>"
	case e.gvk != "":
		e.description = e.gvk
	default:
		e.description = e.typ.String()
	}
	return e
}

// typeName is the Go type of the objects.
func (e *expectation) typeName() string { return fmt.Sprintf("%T", e.example) }

// meets returns an error if an object is of another type, or an unstructured one of
// another kind.
func (e *expectation) meets(obj any) error {
	if e.typ == nil {
		return nil
	}
	if t := reflect.TypeOf(obj); t != e.typ {
		return fmt.Errorf("expected %v, got %v", e.typ, t)
	}
	if e.gvk == "" {
		return nil
	}
	if gvk := obj.(*unstructured.Unstructured).GroupVersionKind().String(); gvk != e.gvk {
		return fmt.Errorf("expected %s, got %s", e.gvk, gvk)
	}
	return nil
}
