package informer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"heliograph.example/indexer"
	"heliograph.example/reflector"
)

// FactoryOptions describe a factory. The zero value is ready for use.
type FactoryOptions struct {
	// Scheme knows the Go types of typed informers. nil means client-go's
	// scheme, which has all built-in types.
	Scheme *runtime.Scheme
	// UnmarshalJSON decodes typed objects that travel as JSON, such as custom
	// resources; see [reflector.SourceOptions]. nil means as apimachinery does.
	UnmarshalJSON func(raw []byte, into any) error
	// MaxLists is how many informers may read their whole state at a time; see
	// [reflector.Group]. 0 means reflector.DefaultMaxLists, less is an error.
	MaxLists int
}

// Factory makes informers for one server and shares them: whoever asks for the
// same Go type in the same scope gets the same informer. All methods are safe
// for concurrent use.
type Factory struct {
	config    *rest.Config
	client    *http.Client
	scheme    *runtime.Scheme
	unmarshal func(raw []byte, into any) error
	discovery *discovery.DiscoveryClient
	group     *reflector.Group

	mu     sync.Mutex
	shared map[sharedKey]sharedInformer
	// order holds the informers as they were asked for.
	order []member
	// ladders remember, for each resource, how it can be read.
	ladders map[schema.GroupVersionResource]*reflector.Ladder
	// clients are shared by the informers of a group and version.
	clients map[clientKey]rest.Interface
	// resources remembers what discovery has told, by group and version.
	resources map[schema.GroupVersion][]resource
	// started has what Stop has to end.
	started []*started
}

// started is what one Start has begun.
type started struct {
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// sharedKey is what must agree for an informer to be shared.
type sharedKey struct {
	object   reflect.Type
	resource schema.GroupVersionResource
	scope    Scope
}

// sharedInformer is an informer whatever its type.
type sharedInformer interface {
	begin() error
	run(ctx context.Context) error
	Wait(ctx context.Context) error
	Status() Status
	Nudge()
	subscribe(f func(reflector.Status)) (cancel func())
	readerState() reflector.State
}

// NewFactory makes a factory for the server that config leads to. The config is
// copied. Its limit of the rate of requests holds for all informers together;
// where it names none, they are not limited: the pauses of the reader bound
// them. Its Timeout is not used: it would cut every watch.
func NewFactory(config *rest.Config, opts FactoryOptions) (*Factory, error) {
	if config == nil {
		return nil, fmt.Errorf("informer factory: %w: the config is nil", ErrInvalid)
	}
	config = rest.CopyConfig(config)
	limitRate(config)
	// The reader has deadlines of its own for progress.
	config.Timeout = 0
	config.Wrap(reflector.KeepRetryAfter)
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("informer factory: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("informer factory: %w", err)
	}
	group, err := reflector.NewGroup(opts.MaxLists)
	if err != nil {
		return nil, fmt.Errorf("informer factory: %w: %w", ErrInvalid, err)
	}
	if opts.Scheme == nil {
		opts.Scheme = scheme.Scheme
	}
	return &Factory{
		config: config, client: client, scheme: opts.Scheme, unmarshal: opts.UnmarshalJSON, discovery: disco, group: group,
		shared:    make(map[sharedKey]sharedInformer),
		ladders:   make(map[schema.GroupVersionResource]*reflector.Ladder),
		clients:   make(map[clientKey]rest.Interface),
		resources: make(map[schema.GroupVersion][]resource),
	}, nil
}

// limitRate gives the clients that are made of config one limit together. Each
// would else make a limiter of its own.
func limitRate(config *rest.Config) {
	switch {
	case config.RateLimiter != nil || config.QPS < 0:
	case config.QPS == 0:
		config.QPS = -1
	default:
		burst := config.Burst
		if burst == 0 {
			burst = rest.DefaultBurst
		}
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, burst)
	}
}

// For returns the factory's informer for the Go type T in the scope of opts, and
// makes it if nobody has asked for it before. T is a pointer to a typed API
// object, *unstructured.Unstructured or *metav1.PartialObjectMetadata. ctx bounds
// the look at the server's discovery, which finds the resource of the kind.
//
// Where the informer exists, the indexes of opts that it lacks are added to it;
// an index that has the name of one it has is taken to be the same. Its Transform,
// ReadOnlyTransform, Shape and OnObjectError are set: asking with another is
// ErrConflict, and so is asking without a Transform where it has one. Name and Reflector of a second
// request are not used.
func For[T Object](ctx context.Context, f *Factory, opts Options[T]) (*Informer[T], error) {
	i, err := forType(ctx, f, opts)
	if err != nil {
		return nil, fmt.Errorf("informer for %v: %w", reflect.TypeFor[T](), err)
	}
	return i, nil
}

func forType[T Object](ctx context.Context, f *Factory, opts Options[T]) (*Informer[T], error) {
	if ctx == nil || f == nil {
		return nil, fmt.Errorf("%w: the context or the factory is nil", ErrInvalid)
	}
	scope, err := opts.Scope.normalize()
	if err != nil {
		return nil, err
	}
	t := reflect.TypeFor[T]()
	form, err := formOf(t)
	if err != nil {
		return nil, err
	}
	kind, err := kindOf(t, form, scope.Kind, f.scheme)
	if err != nil {
		return nil, err
	}
	res := resource{gvr: kind.GroupVersion().WithResource(scope.Resource), namespaced: true}
	if scope.Resource == "" {
		if res, err = f.resourceOf(ctx, kind); err != nil {
			return nil, err
		}
	}
	scope.Resource = "" // the key of sharing names it in full
	if scope.Namespace != "" && !res.namespaced {
		return nil, fmt.Errorf("%w: %v is cluster-scoped, and the scope names namespace %q", ErrInvalid, res.gvr.GroupResource(), scope.Namespace)
	}
	scope.Kind = kind
	i, old, err := findOrMake(f, sharedKey{object: t, resource: res.gvr, scope: scope}, form, opts)
	if err != nil || !old {
		return i, err
	}
	return i, share(i, opts)
}

// findOrMake returns the informer for a key, and whether it was there already.
func findOrMake[T Object](f *Factory, key sharedKey, form form, opts Options[T]) (i *Informer[T], old bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if shared, ok := f.shared[key]; ok {
		return shared.(*Informer[T]), true, nil
	}
	source, err := newSource[T](f, form, key.scope.Kind, key.resource, key.scope)
	if err != nil {
		return nil, false, err
	}
	if opts.Name == "" {
		opts.Name = key.scope.name(key.resource.GroupResource())
	}
	if opts.Reflector.Ladder == nil {
		opts.Reflector.Ladder = f.ladder(key.resource)
	}
	if opts.Reflector.Group == nil {
		opts.Reflector.Group = f.group
	}
	i, err = newInformer(source, opts)
	if err != nil {
		return nil, false, err
	}
	f.shared[key] = i
	f.order = append(f.order, member{i, key.resource})
	return i, false, nil
}

// ladder returns what the informers of a resource share. The caller holds mu.
func (f *Factory) ladder(resource schema.GroupVersionResource) *reflector.Ladder {
	l, ok := f.ladders[resource]
	if !ok {
		l = &reflector.Ladder{}
		f.ladders[resource] = l
	}
	return l
}

// share prepares an existing informer for another request, if it is what opts
// ask for.
func share[T any](i *Informer[T], opts Options[T]) error {
	if !sameFunc(opts.Transform, i.options.transform) {
		return fmt.Errorf("%w: %s is shared already with another Transform, or without one; ask in a scope of its own, or use New", ErrConflict, i.name)
	}
	if opts.ReadOnlyTransform != i.options.readOnlyTransform || !opts.Shape.Equal(i.options.shape) {
		return fmt.Errorf("%w: %s is shared already with another Shape or ReadOnlyTransform; ask in a scope of its own, or use New", ErrConflict, i.name)
	}
	if opts.Mutations != MutationsAsEnvironment && opts.Mutations != i.options.mutations {
		return fmt.Errorf("%w: %s is shared already with another policy for Mutations", ErrConflict, i.name)
	}
	if !sameFunc(opts.OnObjectError, i.options.onObjectError) && opts.OnObjectError != nil {
		return fmt.Errorf("%w: %s is shared already, and its OnObjectError is set", ErrConflict, i.name)
	}
	for {
		present := i.store.Indexes()
		missing := make(indexer.Indexes[T])
		for name, index := range opts.Indexes {
			if !slices.Contains(present, name) {
				missing[name] = index
			}
		}
		// Somebody else may have added one of them meanwhile.
		if err := i.AddIndexes(missing); !errors.Is(err, indexer.ErrIndexExists) {
			return err
		}
	}
}

// sameFunc reports whether a and b are the same function. Closures count as the
// same if they have the same code.
func sameFunc(a, b any) bool {
	return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
}

// Start runs every informer of the factory that is not running, until ctx ends
// or Stop is called. It does not wait. Call it again after asking for more. An
// informer that has yet to end its last run counts as running: Stop waits for
// that.
func (f *Factory) Start(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	s := &started{cancel: cancel}
	var begun []member
	for _, i := range f.order {
		if i.begin() != nil {
			continue // it runs
		}
		begun = append(begun, i)
		s.running.Go(func() {
			if err := i.run(ctx); err != nil {
				klog.FromContext(ctx).Error(err, "An informer ended by itself")
			}
		})
	}
	if len(begun) == 0 {
		cancel()
		return
	}
	s.running.Go(func() { newLookout(f.discovery, begun).run(ctx) })
	f.started = append(f.started, s)
}

// Wait waits until every informer of the factory and every handler registered
// with them is synced. The error joins those of all that are not; each names its
// collection, what its reader is doing, the last error and since when.
func (f *Factory) Wait(ctx context.Context) error {
	f.mu.Lock()
	all := slices.Clone(f.order)
	f.mu.Unlock()
	waiters := make([]Waiter, len(all))
	for n, i := range all {
		waiters[n] = i
	}
	return WaitFor(ctx, waiters...)
}

// Stop ends what Start has begun and waits until all of it has ended, handlers
// included: a handler must not call it. The informers keep what they hold, and
// can be started again.
func (f *Factory) Stop() {
	f.mu.Lock()
	all := slices.Clone(f.started)
	f.mu.Unlock()
	for _, s := range all {
		s.cancel()
	}
	for _, s := range all {
		s.running.Wait()
	}
	f.mu.Lock()
	f.started = slices.DeleteFunc(f.started, func(s *started) bool { return slices.Contains(all, s) })
	f.mu.Unlock()
	f.client.CloseIdleConnections()
}

// Status returns the states of all informers, in the order in which they were
// first asked for.
func (f *Factory) Status() []Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]Status, 0, len(f.order))
	for _, i := range f.order {
		out = append(out, i.Status())
	}
	return out
}
