package controllerruntime

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	clientgo "heliograph.example/clientgo/cache"
)

// Use makes a manager, and the controllers that are made with the given options,
// run on Heliograph: it sets Cache.NewInformer and each NewQueue. What is set
// there already stays, so somebody who has a queue of their own keeps it. Nil
// options are left out.
func Use(m *manager.Options, controllers ...*controller.Options) {
	if m != nil && m.Cache.NewInformer == nil {
		m.Cache.NewInformer = NewInformer
	}
	for _, c := range controllers {
		if c != nil && c.NewQueue == nil {
			c.NewQueue = NewQueue
		}
	}
}

// NewInformer makes an informer of Heliograph's for what controller-runtime would
// make one of client-go's for. It is a value for cache.Options.NewInformer.
func NewInformer(lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	return clientgo.NewSharedIndexInformer(lw, example, resync, indexers)
}
