package cache

import (
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// New makes a controller of client-go over the given queue, which may be anybody's,
// and a [ListerWatcher] that heals itself, as [NewReflectorWithOptions] has it. What
// c.Process and c.ProcessBatch return is reported as well; client-go drops it.
func New(c *Config) Controller {
	config := *c
	config.ListerWatcher = heal(c.ListerWatcher)
	if c.Process != nil {
		config.Process = func(obj any, isInInitialList bool) error {
			err := c.Process(obj, isInInitialList)
			report("Controller could not process a change", err)
			return err
		}
	}
	if c.ProcessBatch != nil {
		config.ProcessBatch = func(deltas []Delta, isInInitialList bool) error {
			err := c.ProcessBatch(deltas, isInInitialList)
			report("Controller could not process some changes", err)
			return err
		}
	}
	return cache.New(&config)
}

// NewInformerWithOptions makes a store, the controller that fills it, and tells
// options.Handler of changes. With options.Indexers the store is an [Indexer]. A nil
// handler is reported, and the store is filled all the same.
func NewInformerWithOptions(options InformerOptions) (Store, Controller) {
	return newInformer(options)
}

// NewInformer is NewInformerWithOptions for the options that it has.
//
// Deprecated: Use [NewInformerWithOptions].
func NewInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler) (Store, Controller) {
	return newInformer(InformerOptions{ListerWatcher: lw, ObjectType: objType, ResyncPeriod: resyncPeriod, Handler: h})
}

// NewIndexerInformer is NewInformerWithOptions for the options that it has.
//
// Deprecated: Use [NewInformerWithOptions].
func NewIndexerInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, indexers Indexers) (Indexer, Controller) {
	return newInformer(InformerOptions{ListerWatcher: lw, ObjectType: objType, ResyncPeriod: resyncPeriod, Handler: h, Indexers: indexers})
}

// NewTransformingInformer is NewInformerWithOptions for the options that it has.
//
// Deprecated: Use [NewInformerWithOptions].
func NewTransformingInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, transformer TransformFunc) (Store, Controller) {
	return newInformer(InformerOptions{ListerWatcher: lw, ObjectType: objType, ResyncPeriod: resyncPeriod, Handler: h, Transform: transformer})
}

// NewTransformingIndexerInformer is NewInformerWithOptions for the options that it has.
//
// Deprecated: Use [NewInformerWithOptions].
func NewTransformingIndexerInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, indexers Indexers, transformer TransformFunc) (Indexer, Controller) {
	return newInformer(InformerOptions{ListerWatcher: lw, ObjectType: objType, ResyncPeriod: resyncPeriod, Handler: h, Indexers: indexers, Transform: transformer})
}

// newInformer is a shared informer with one handler, seen as a store and a controller.
func newInformer(o InformerOptions) (Indexer, Controller) {
	s := makeSharedIndexInformer(o.ListerWatcher, o.ObjectType, SharedIndexInformerOptions{
		ResyncPeriod: o.ResyncPeriod, Indexers: o.Indexers, Identifier: o.Identifier, InformerMetricsProvider: o.InformerMetricsProvider,
	}, informer.Options[any]{Reflector: reflector.Options[any]{WatchTimeout: watchTimeout(o.MinWatchTimeout)}})
	s.transform = o.Transform
	synced := s.HasSyncedChecker()
	reg, err := s.AddEventHandlerWithOptions(o.Handler, HandlerOptions{Logger: o.Logger})
	if err == nil {
		synced = reg.HasSyncedChecker()
	}
	report("Informer was made without a handler", err)
	return s.indexer, &soleController{sharedIndexInformer: s, synced: synced}
}

// leastWatchTimeout is the least that a watch may be asked to live for.
const leastWatchTimeout = 5 * time.Minute

// watchTimeout is the life that is asked for a watch: once or twice the least, so
// that the watches of many do not end together. As with client-go a shorter one is
// not heeded.
func watchTimeout(least time.Duration) time.Duration {
	if least <= leastWatchTimeout {
		return 0
	}
	return (least + rand.N(least)).Truncate(time.Second)
}

// soleController is the controller of an informer with one handler.
type soleController struct {
	*sharedIndexInformer
	synced DoneChecker
}

var _ Controller = (*soleController)(nil)

func (c *soleController) RunWithContext(ctx context.Context) {
	c.sharedIndexInformer.RunWithContext(ctx)
}

// HasSynced reports whether the handler has returned from the last of the objects of
// the first list.
func (c *soleController) HasSynced() bool { return IsDone(c.synced) }

func (c *soleController) HasSyncedChecker() DoneChecker { return c.synced }
