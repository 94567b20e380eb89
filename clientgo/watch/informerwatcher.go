package watch

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"heliograph.example/clientgo/cache"
)

// NewIndexerInformerWatcher is [NewIndexerInformerWatcherWithLogger] with the logger of
// the process.
func NewIndexerInformerWatcher(lw toolscache.ListerWatcher, objType runtime.Object) (toolscache.Indexer, toolscache.Controller, watch.Interface, <-chan struct{}) {
	return NewIndexerInformerWatcherWithLogger(klog.Background(), lw, objType)
}

// NewIndexerInformerWatcherWithLogger runs an informer of ours and gives what it sees
// as a watch: the objects that there are as added, and from then on each change. The
// watch never ends in an error, whatever happens to the one below. The indexer is the
// store of the informer, the controller tells whether it is synced, and the channel is
// closed when everything has ended, after Stop of the watcher.
//
// Nobody who reads slowly makes memory grow: changes of an object that were not read
// are one change in the end. Changes of different objects come in the order in which
// the informer saw them, but for those.
//
// A nil lw gives an informer that is never synced, and says why in the log.
func NewIndexerInformerWatcherWithLogger(logger klog.Logger, lw toolscache.ListerWatcher, objType runtime.Object) (toolscache.Indexer, toolscache.Controller, watch.Interface, <-chan struct{}) {
	informer, w, done := watchInformer(logger, lw, objType)
	return informer.GetIndexer(), informer.GetController(), w, done
}

// watchInformer runs an informer until the watch of its changes is stopped.
func watchInformer(logger klog.Logger, lw toolscache.ListerWatcher, objType runtime.Object) (toolscache.SharedIndexInformer, watch.Interface, <-chan struct{}) {
	events := make(chan watch.Event)
	w := watch.NewProxyWatcher(events)
	informer := cache.NewSharedIndexInformer(lw, objType, 0, toolscache.Indexers{})
	// The informer waits for no handler, and folds what one that waits has not been told.
	give := func(t watch.EventType, obj any) {
		object, ok := obj.(runtime.Object)
		if !ok {
			logger.Error(nil, "An object is none that a watch can give", "type", fmt.Sprintf("%T", obj))
			return
		}
		select {
		case events <- watch.Event{Type: t, Object: object}:
		case <-w.StopChan():
		}
	}
	_, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { give(watch.Added, obj) },
		UpdateFunc: func(_, obj any) { give(watch.Modified, obj) },
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj // the last that was seen: a watch can say no more
			}
			give(watch.Deleted, obj)
		},
	})
	if err != nil {
		logger.Error(err, "The changes of an informer cannot be watched") // of a new one they can
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(klog.NewContext(wait.ContextForChannel(w.StopChan()), logger))
	}()
	return informer, w, done
}

// UntilWithSync is [UntilWithoutRetry] over what [NewIndexerInformerWatcherWithLogger]
// gives: it gets over everything, and conditions see the last state of each object, but
// perhaps not each state in between. precondition, if not nil, is asked once the store
// is synced: if it holds, or fails, no condition is asked, and the event is nil.
//
// It returns when everything that it has started has ended. If ctx ends before the
// store is synced, the error says what the informer was doing.
func UntilWithSync(ctx context.Context, lw toolscache.ListerWatcher, objType runtime.Object, precondition PreconditionFunc, conditions ...ConditionFunc) (*watch.Event, error) {
	if err := checkConditions(ctx, conditions); err != nil {
		return nil, fmt.Errorf("UntilWithSync: %w", err)
	}
	informer, watcher, done := watchInformer(klog.FromContext(ctx), lw, objType)
	defer func() { <-done }()
	defer watcher.Stop()
	if precondition != nil {
		select {
		case <-informer.HasSyncedChecker().Done():
		case <-ctx.Done():
			return nil, fmt.Errorf("UntilWithSync: unable to sync caches: %w", unsynced(ctx, informer))
		}
		if holds, err := precondition(informer.GetIndexer()); err != nil || holds {
			return nil, err
		}
	}
	return UntilWithoutRetry(ctx, watcher, conditions...)
}

// unsynced says why an informer is not synced. ctx has ended.
func unsynced(ctx context.Context, informer toolscache.SharedIndexInformer) error {
	native, ok := cache.Native(informer)
	if !ok {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ctx.Err(), native.Wait(ctx))
}
