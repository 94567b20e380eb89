package informers

import (
	"context"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"heliograph.example/clientgo/internal/running"
	"heliograph.example/reflector"
)

// SharedInformerFactory is client-go's: it has informers for every built-in resource.
type SharedInformerFactory = informers.SharedInformerFactory

// GenericInformer is client-go's: an informer with a lister, whatever its type.
type GenericInformer = informers.GenericInformer

// sharedInformerFactory makes informers of ours.
type sharedInformerFactory struct {
	client        kubernetes.Interface
	namespace     string
	tweak         internalinterfaces.TweakListOptionsFunc
	defaultResync time.Duration
	customResync  map[reflect.Type]time.Duration
	transform     cache.TransformFunc
	informerName  *cache.InformerName
	shape         reflector.Shape
	// lists bounds how many informers read their whole state at a time.
	lists *reflector.Group

	informers running.Group[reflect.Type]
}

var _ SharedInformerFactory = (*sharedInformerFactory)(nil)

// NewSharedInformerFactory makes a factory for all namespaces. Handlers that ask for no
// resync period of their own get defaultResync, 0 for none.
func NewSharedInformerFactory(client kubernetes.Interface, defaultResync time.Duration) SharedInformerFactory {
	return NewSharedInformerFactoryWithOptions(client, defaultResync)
}

// NewFilteredSharedInformerFactory makes a factory for one namespace, or all if it is
// empty, with a function that may change the options of each list and watch.
//
// Deprecated: use NewSharedInformerFactoryWithOptions.
func NewFilteredSharedInformerFactory(client kubernetes.Interface, defaultResync time.Duration, namespace string, tweakListOptions internalinterfaces.TweakListOptionsFunc) SharedInformerFactory {
	return NewSharedInformerFactoryWithOptions(client, defaultResync, WithNamespace(namespace), WithTweakListOptions(tweakListOptions))
}

// NewSharedInformerFactoryWithOptions makes a factory. With a nil client its informers
// are never synced, and say why.
func NewSharedInformerFactoryWithOptions(client kubernetes.Interface, defaultResync time.Duration, options ...SharedInformerOption) SharedInformerFactory {
	lists, _ := reflector.NewGroup(0) // the default is no error
	f := &sharedInformerFactory{
		client: client, defaultResync: defaultResync, lists: lists,
		customResync: make(map[reflect.Type]time.Duration),
		shape:        reflector.Shape{Unshared: true},
	}
	for _, option := range options {
		if option != nil {
			f = option(f)
		}
	}
	return f
}

// InformerName returns the name that WithInformerName has set, or nil.
func (f *sharedInformerFactory) InformerName() *cache.InformerName { return f.informerName }

// InformerFor returns the factory's informer for the type of obj. If there is none yet,
// newFunc makes it.
func (f *sharedInformerFactory) InformerFor(obj runtime.Object, newFunc internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	key := reflect.TypeOf(obj)
	return f.informers.Informer(key, func() cache.SharedIndexInformer {
		return f.prepared(newFunc(f.client, f.resync(key)))
	})
}

// prepared sets what an informer does not get when it is made.
func (f *sharedInformerFactory) prepared(informer cache.SharedIndexInformer) cache.SharedIndexInformer {
	if f.transform != nil {
		_ = informer.SetTransform(f.transform) // fails for one that runs, and this one is new
	}
	return informer
}

// resync is the resync period for a type.
func (f *sharedInformerFactory) resync(t reflect.Type) time.Duration {
	if period, ok := f.customResync[t]; ok {
		return period
	}
	return f.defaultResync
}

// Start is StartWithContext until stopCh is closed.
func (f *sharedInformerFactory) Start(stopCh <-chan struct{}) {
	f.StartWithContext(wait.ContextForChannel(stopCh))
}

// StartWithContext runs the informers that were asked for and not started yet, until
// ctx ends, and does not wait.
func (f *sharedInformerFactory) StartWithContext(ctx context.Context) { f.informers.Start(ctx) }

// Shutdown lets nothing be started any more, and waits until all informers have ended,
// which is up to the contexts that they were started with.
func (f *sharedInformerFactory) Shutdown() {
	f.informers.Shutdown()
	f.informerName.Release()
}

// WaitForCacheSync is WaitForCacheSyncWithContext until stopCh is closed.
func (f *sharedInformerFactory) WaitForCacheSync(stopCh <-chan struct{}) map[reflect.Type]bool {
	return f.WaitForCacheSyncWithContext(wait.ContextForChannel(stopCh)).Synced
}

// WaitForCacheSyncWithContext waits until all informers that were started are synced,
// or until ctx ends. Err then says of each what it was doing.
func (f *sharedInformerFactory) WaitForCacheSyncWithContext(ctx context.Context) cache.SyncResult {
	synced, err := f.informers.Wait(ctx)
	return cache.SyncResult{Synced: synced, Err: err}
}

// ForResource returns the informer and lister of a resource. One that client-go has
// none for is an error.
func (f *sharedInformerFactory) ForResource(resource schema.GroupVersionResource) (GenericInformer, error) {
	// It knows which resources there are. What it makes here is never run.
	if _, err := informers.NewSharedInformerFactory(nil, 0).ForResource(resource); err != nil {
		return nil, err
	}
	example, err := exampleOf(resource)
	if err != nil {
		return nil, err
	}
	return generic{informer: f.own(example), resource: resource.GroupResource()}, nil
}

// generic is an informer with its lister.
type generic struct {
	informer cache.SharedIndexInformer
	resource schema.GroupResource
}

// Informer returns the informer.
func (g generic) Informer() cache.SharedIndexInformer { return g.informer }

// Lister returns a lister over the store of the informer.
func (g generic) Lister() cache.GenericLister {
	return cache.NewGenericLister(g.informer.GetIndexer(), g.resource)
}
