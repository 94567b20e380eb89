package metadatainformer

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/metadata/metadatalister"
	toolscache "k8s.io/client-go/tools/cache"

	"heliograph.example/clientgo/internal/running"
	"heliograph.example/reflector"
)

// SharedInformerFactory is client-go's: it has an informer for any resource.
type SharedInformerFactory = metadatainformer.SharedInformerFactory

// TweakListOptionsFunc is client-go's: it may change the options of a list or watch.
type TweakListOptionsFunc = metadatainformer.TweakListOptionsFunc

// SharedInformerOption changes a factory while it is made. A nil one changes nothing.
type SharedInformerOption func(*metadataSharedInformerFactory) *metadataSharedInformerFactory

// WithTransform sets what is made of each object before it is stored. nil stores it as
// it is.
func WithTransform(transform toolscache.TransformFunc) SharedInformerOption {
	return func(f *metadataSharedInformerFactory) *metadataSharedInformerFactory {
		f.transform = transform
		return f
	}
}

// NewSharedInformerFactory makes a factory for all namespaces. Handlers that ask for no
// resync period of their own get defaultResync, 0 for none.
func NewSharedInformerFactory(client metadata.Interface, defaultResync time.Duration) SharedInformerFactory {
	return NewFilteredSharedInformerFactory(client, defaultResync, "", nil)
}

// NewFilteredSharedInformerFactory makes a factory for one namespace, or all if it is
// empty. tweakListOptions, if not nil, may change the options of each list and watch;
// it is called by several goroutines. With a nil client the informers are never
// synced, and say why.
func NewFilteredSharedInformerFactory(client metadata.Interface, defaultResync time.Duration, namespace string, tweakListOptions TweakListOptionsFunc) SharedInformerFactory {
	return &metadataSharedInformerFactory{client: client, resync: defaultResync, namespace: namespace, tweak: tweakListOptions}
}

// NewSharedInformerFactoryWithOptions makes a factory for all namespaces with options.
func NewSharedInformerFactoryWithOptions(client metadata.Interface, defaultResync time.Duration, options ...SharedInformerOption) SharedInformerFactory {
	f := &metadataSharedInformerFactory{client: client, resync: defaultResync}
	for _, option := range options {
		if option != nil {
			f = option(f)
		}
	}
	return f
}

// metadataSharedInformerFactory makes informers of ours.
type metadataSharedInformerFactory struct {
	client    metadata.Interface
	resync    time.Duration
	namespace string
	tweak     TweakListOptionsFunc
	transform toolscache.TransformFunc
	informers running.Group[schema.GroupVersionResource]
}

// ForResource returns the factory's informer and lister of a resource.
func (f *metadataSharedInformerFactory) ForResource(gvr schema.GroupVersionResource) informers.GenericInformer {
	return generic{gvr: gvr, informer: f.informers.Informer(gvr, func() toolscache.SharedIndexInformer {
		informer := newInformer(f.client, gvr, f.namespace, f.resync, running.ByNamespace(), f.tweak)
		_ = informer.SetTransform(f.transform) // fails for one that runs, and this one is new
		return informer
	})}
}

// Start runs the informers that were asked for and not started yet, until stopCh is
// closed, and does not wait.
func (f *metadataSharedInformerFactory) Start(stopCh <-chan struct{}) {
	f.StartWithContext(wait.ContextForChannel(stopCh))
}

// StartWithContext is Start until ctx ends.
func (f *metadataSharedInformerFactory) StartWithContext(ctx context.Context) {
	f.informers.Start(ctx)
}

// WaitForCacheSync waits until all informers that were started are synced, or until
// stopCh is closed, and says which are.
func (f *metadataSharedInformerFactory) WaitForCacheSync(stopCh <-chan struct{}) map[schema.GroupVersionResource]bool {
	return f.informers.Poll(stopCh)
}

// Shutdown lets nothing be started any more, and waits until all informers have ended,
// which is up to what they were started with.
func (f *metadataSharedInformerFactory) Shutdown() { f.informers.Shutdown() }

// NewFilteredMetadataInformer makes an informer of one resource that belongs to no
// factory. indexers may be nil; the lister needs toolscache.NamespaceIndex to be quick.
func NewFilteredMetadataInformer(client metadata.Interface, gvr schema.GroupVersionResource, namespace string, resyncPeriod time.Duration, indexers toolscache.Indexers, tweakListOptions TweakListOptionsFunc) informers.GenericInformer {
	return generic{gvr: gvr, informer: newInformer(client, gvr, namespace, resyncPeriod, indexers, tweakListOptions)}
}

func newInformer(client metadata.Interface, gvr schema.GroupVersionResource, namespace string, resync time.Duration, indexers toolscache.Indexers, tweak TweakListOptionsFunc) toolscache.SharedIndexInformer {
	source, err := reflector.NewMetadataSource(client, gvr, reflector.SourceOptions{Namespace: namespace, Tweak: tweak})
	return running.NewInformer(source, err, &metav1.PartialObjectMetadata{}, toolscache.SharedIndexInformerOptions{
		ResyncPeriod: resync, Indexers: indexers, ObjectDescription: "metadata of " + gvr.String(),
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
	return metadatalister.NewRuntimeObjectShim(metadatalister.New(g.informer.GetIndexer(), g.gvr))
}
