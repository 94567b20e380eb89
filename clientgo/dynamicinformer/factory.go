package dynamicinformer

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/dynamic/dynamiclister"
	"k8s.io/client-go/informers"
	toolscache "k8s.io/client-go/tools/cache"

	"heliograph.example/clientgo/internal/running"
	"heliograph.example/reflector"
)

// DynamicSharedInformerFactory is client-go's: it has an informer for any resource.
type DynamicSharedInformerFactory = dynamicinformer.DynamicSharedInformerFactory

// TweakListOptionsFunc is client-go's: it may change the options of a list or watch.
type TweakListOptionsFunc = dynamicinformer.TweakListOptionsFunc

// NewDynamicSharedInformerFactory makes a factory for all namespaces. Handlers that ask
// for no resync period of their own get defaultResync, 0 for none.
func NewDynamicSharedInformerFactory(client dynamic.Interface, defaultResync time.Duration) DynamicSharedInformerFactory {
	return NewFilteredDynamicSharedInformerFactory(client, defaultResync, "", nil)
}

// NewFilteredDynamicSharedInformerFactory makes a factory for one namespace, or all if
// it is empty. tweakListOptions, if not nil, may change the options of each list and
// watch; it is called by several goroutines. With a nil client the informers are never
// synced, and say why.
func NewFilteredDynamicSharedInformerFactory(client dynamic.Interface, defaultResync time.Duration, namespace string, tweakListOptions TweakListOptionsFunc) DynamicSharedInformerFactory {
	return &factory{client: client, resync: defaultResync, namespace: namespace, tweak: tweakListOptions}
}

// factory makes informers of ours.
type factory struct {
	client    dynamic.Interface
	resync    time.Duration
	namespace string
	tweak     TweakListOptionsFunc
	informers running.Group[schema.GroupVersionResource]
}

// ForResource returns the factory's informer and lister of a resource.
func (f *factory) ForResource(gvr schema.GroupVersionResource) informers.GenericInformer {
	return generic{gvr: gvr, informer: f.informers.Informer(gvr, func() toolscache.SharedIndexInformer {
		return newInformer(f.client, gvr, f.namespace, f.resync, running.ByNamespace(), f.tweak)
	})}
}

// Start runs the informers that were asked for and not started yet, until stopCh is
// closed, and does not wait.
func (f *factory) Start(stopCh <-chan struct{}) { f.StartWithContext(wait.ContextForChannel(stopCh)) }

// StartWithContext is Start until ctx ends.
func (f *factory) StartWithContext(ctx context.Context) { f.informers.Start(ctx) }

// WaitForCacheSync waits until all informers that were started are synced, or until
// stopCh is closed, and says which are.
func (f *factory) WaitForCacheSync(stopCh <-chan struct{}) map[schema.GroupVersionResource]bool {
	return f.informers.Poll(stopCh)
}

// Shutdown lets nothing be started any more, and waits until all informers have ended,
// which is up to what they were started with.
func (f *factory) Shutdown() { f.informers.Shutdown() }

// NewFilteredDynamicInformer makes an informer of one resource that belongs to no
// factory. indexers may be nil; the lister needs toolscache.NamespaceIndex to be quick.
func NewFilteredDynamicInformer(client dynamic.Interface, gvr schema.GroupVersionResource, namespace string, resyncPeriod time.Duration, indexers toolscache.Indexers, tweakListOptions TweakListOptionsFunc) informers.GenericInformer {
	return generic{gvr: gvr, informer: newInformer(client, gvr, namespace, resyncPeriod, indexers, tweakListOptions)}
}

func newInformer(client dynamic.Interface, gvr schema.GroupVersionResource, namespace string, resync time.Duration, indexers toolscache.Indexers, tweak TweakListOptionsFunc) toolscache.SharedIndexInformer {
	source, err := reflector.NewDynamicSource(client, gvr, reflector.SourceOptions{Namespace: namespace, Tweak: tweak})
	return running.NewInformer(source, err, &unstructured.Unstructured{}, toolscache.SharedIndexInformerOptions{
		ResyncPeriod: resync, Indexers: indexers, ObjectDescription: gvr.String(),
	})
}

// generic is an informer with its lister.
type generic struct {
	gvr      schema.GroupVersionResource
	informer toolscache.SharedIndexInformer
}

// Informer returns the informer.
func (g generic) Informer() toolscache.SharedIndexInformer { return g.informer }

// Lister returns a lister over the store of the informer.
func (g generic) Lister() toolscache.GenericLister {
	return dynamiclister.NewRuntimeObjectShim(dynamiclister.New(g.informer.GetIndexer(), g.gvr))
}
