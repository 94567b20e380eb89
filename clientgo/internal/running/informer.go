package running

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"heliograph.example/clientgo/cache"
	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// ByNamespace is the index that the listers of client-go use.
func ByNamespace() toolscache.Indexers {
	return toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc}
}

// NewInformer makes an informer over a source. If there is none because of an error,
// the informer is never synced and says why: those who ask for one have no place for
// an error.
func NewInformer[T any](source reflector.Source[T], err error, example runtime.Object, options toolscache.SharedIndexInformerOptions) toolscache.SharedIndexInformer {
	if err != nil {
		return Failing(err, example, options)
	}
	made, err := cache.NewSharedIndexInformerFromSource(reflector.Untyped(source), example, options, informer.Options[any]{})
	if err != nil {
		return Failing(err, example, options)
	}
	return made
}

// Failing makes an informer that is never synced because of err.
func Failing(err error, example runtime.Object, options toolscache.SharedIndexInformerOptions) toolscache.SharedIndexInformer {
	return cache.NewSharedIndexInformerWithOptions(&toolscache.ListWatch{
		ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return nil, err },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, err },
	}, example, options)
}
