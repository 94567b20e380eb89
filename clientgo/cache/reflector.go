package cache

import (
	"time"

	"k8s.io/apimachinery/pkg/util/naming"
	"k8s.io/client-go/tools/cache"
)

// NewReflector is [NewReflectorWithOptions] with a resync period, 0 for none.
func NewReflector(lw ListerWatcher, expectedType any, store ReflectorStore, resyncPeriod time.Duration) *Reflector {
	return NewReflectorWithOptions(lw, expectedType, store, ReflectorOptions{ResyncPeriod: resyncPeriod})
}

// NewNamedReflector is [NewReflectorWithOptions] with a name and a resync period, 0
// for none.
func NewNamedReflector(name string, lw ListerWatcher, expectedType any, store ReflectorStore, resyncPeriod time.Duration) *Reflector {
	return NewReflectorWithOptions(lw, expectedType, store, ReflectorOptions{Name: name, ResyncPeriod: resyncPeriod})
}

// NewReflectorWithOptions makes a Reflector of client-go over a [ListerWatcher] of ours
// that mends what it reads from lw: a watch that could not be opened or has broken is
// resumed, at the Reflector's own pace, and not followed by a list; a watch that ends
// at once, or time after time, is too; a streaming list that brings nothing for ten
// seconds, or breaks off, is followed by a list in pages. What proves a gap, and what
// the server refuses, goes to the Reflector as it is.
//
// A nil lw gives a Reflector whose lists fail with an error that says so.
func NewReflectorWithOptions(lw ListerWatcher, expectedType any, store ReflectorStore, options ReflectorOptions) *Reflector {
	if options.Name == "" {
		options.Name = naming.GetNameFromCallsite("clientgo/cache/", "client-go/tools/cache/")
	}
	return cache.NewReflectorWithOptions(heal(lw), expectedType, store, options)
}

// NewNamespaceKeyedIndexerAndReflector makes a store that is indexed by namespace, and
// a Reflector that fills it.
func NewNamespaceKeyedIndexerAndReflector(lw ListerWatcher, expectedType any, resyncPeriod time.Duration) (indexer Indexer, reflector *Reflector) {
	indexer = NewIndexer(MetaNamespaceKeyFunc, Indexers{NamespaceIndex: MetaNamespaceIndexFunc})
	return indexer, NewReflector(lw, expectedType, indexer, resyncPeriod)
}
