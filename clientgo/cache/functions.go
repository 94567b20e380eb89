//lint:file-ignore SA1019 what client-go has deprecated is part of what it has

package cache

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// DefaultWatchErrorHandler is client-go's.
func DefaultWatchErrorHandler(ctx context.Context, r *Reflector, err error) {
	cache.DefaultWatchErrorHandler(ctx, r, err)
}

// DeletionHandlingMetaNamespaceKeyFunc is client-go's.
func DeletionHandlingMetaNamespaceKeyFunc(obj any) (string, error) {
	return cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
}

// DeletionHandlingObjectToName is client-go's.
func DeletionHandlingObjectToName(obj any) (ObjectName, error) {
	return cache.DeletionHandlingObjectToName(obj)
}

// IndexFuncToKeyFuncAdapter is client-go's.
func IndexFuncToKeyFuncAdapter(indexFunc IndexFunc) KeyFunc {
	return cache.IndexFuncToKeyFuncAdapter(indexFunc)
}

// IsDone is client-go's.
func IsDone(checker DoneChecker) bool {
	return cache.IsDone(checker)
}

// ListAll is client-go's.
func ListAll(store Store, selector labels.Selector, appendFn AppendFunc) error {
	return cache.ListAll(store, selector, appendFn)
}

// ListAllByNamespace is client-go's.
func ListAllByNamespace(indexer Indexer, namespace string, selector labels.Selector, appendFn AppendFunc) error {
	return cache.ListAllByNamespace(indexer, namespace, selector, appendFn)
}

// MetaNamespaceIndexFunc is client-go's.
func MetaNamespaceIndexFunc(obj any) ([]string, error) {
	return cache.MetaNamespaceIndexFunc(obj)
}

// MetaNamespaceKeyFunc is client-go's.
func MetaNamespaceKeyFunc(obj any) (string, error) {
	return cache.MetaNamespaceKeyFunc(obj)
}

// MetaObjectToName is client-go's.
func MetaObjectToName(obj metav1.Object) ObjectName {
	return cache.MetaObjectToName(obj)
}

// NamespacedNameAsObjectName is client-go's.
func NamespacedNameAsObjectName(nn types.NamespacedName) ObjectName {
	return cache.NamespacedNameAsObjectName(nn)
}

// NewCacheMutationDetector is client-go's.
func NewCacheMutationDetector(name string) MutationDetector {
	return cache.NewCacheMutationDetector(name)
}

// NewDeltaFIFO is client-go's.
func NewDeltaFIFO(keyFunc KeyFunc, knownObjects KeyListerGetter) *DeltaFIFO {
	return cache.NewDeltaFIFO(keyFunc, knownObjects)
}

// NewDeltaFIFOWithOptions is client-go's.
func NewDeltaFIFOWithOptions(opts DeltaFIFOOptions) *DeltaFIFO {
	return cache.NewDeltaFIFOWithOptions(opts)
}

// NewExpirationStore is client-go's.
func NewExpirationStore(keyFunc KeyFunc, expirationPolicy ExpirationPolicy) Store {
	return cache.NewExpirationStore(keyFunc, expirationPolicy)
}

// NewFIFO is client-go's.
func NewFIFO(keyFunc KeyFunc) *FIFO {
	return cache.NewFIFO(keyFunc)
}

// NewFakeExpirationStore is client-go's.
func NewFakeExpirationStore(keyFunc KeyFunc, deletedKeys chan<- string, expirationPolicy ExpirationPolicy, cacheClock clock.Clock) Store {
	return cache.NewFakeExpirationStore(keyFunc, deletedKeys, expirationPolicy, cacheClock)
}

// NewFilteredListWatchFromClient is client-go's.
func NewFilteredListWatchFromClient(c Getter, resource string, namespace string, optionsModifier func(options *metav1.ListOptions)) *ListWatch {
	return cache.NewFilteredListWatchFromClient(c, resource, namespace, optionsModifier)
}

// NewGenericLister is client-go's.
func NewGenericLister(indexer Indexer, resource schema.GroupResource) GenericLister {
	return cache.NewGenericLister(indexer, resource)
}

// NewHeap is client-go's.
func NewHeap(keyFn KeyFunc, lessFn LessFunc) *Heap {
	return cache.NewHeap(keyFn, lessFn)
}

// NewInformerName is client-go's.
func NewInformerName(name string) (*InformerName, error) {
	return cache.NewInformerName(name)
}

// NewIntegerResourceVersionMutationCache is client-go's.
func NewIntegerResourceVersionMutationCache(logger klog.Logger, backingCache Store, indexer Indexer, ttl time.Duration, includeAdds bool) MutationCache {
	return cache.NewIntegerResourceVersionMutationCache(logger, backingCache, indexer, ttl, includeAdds)
}

// NewIntegerResourceVersionMutationCacheWithOptions is client-go's.
func NewIntegerResourceVersionMutationCacheWithOptions(logger klog.Logger, backingCache Store, options MutationCacheOptions) MutationCache {
	return cache.NewIntegerResourceVersionMutationCacheWithOptions(logger, backingCache, options)
}

// NewListWatchFromClient is client-go's.
func NewListWatchFromClient(c Getter, resource string, namespace string, fieldSelector fields.Selector) *ListWatch {
	return cache.NewListWatchFromClient(c, resource, namespace, fieldSelector)
}

// NewObjectName is client-go's.
func NewObjectName(namespace, name string) ObjectName {
	return cache.NewObjectName(namespace, name)
}

// NewRealFIFO is client-go's.
func NewRealFIFO(keyFunc KeyFunc, knownObjects KeyListerGetter, transformer TransformFunc) *RealFIFO {
	return cache.NewRealFIFO(keyFunc, knownObjects, transformer)
}

// NewRealFIFOWithOptions is client-go's.
func NewRealFIFOWithOptions(opts RealFIFOOptions) *RealFIFO {
	return cache.NewRealFIFOWithOptions(opts)
}

// NewRetryWithDeadline is client-go's.
func NewRetryWithDeadline(maxRetryDuration, minResetPeriod time.Duration, isRetryable func(error) bool, clock clock.Clock) RetryWithDeadline {
	return cache.NewRetryWithDeadline(maxRetryDuration, minResetPeriod, isRetryable, clock)
}

// NewTTLStore is client-go's.
func NewTTLStore(keyFunc KeyFunc, ttl time.Duration) Store {
	return cache.NewTTLStore(keyFunc, ttl)
}

// NewTypedSharedIndexInformer is client-go's.
func NewTypedSharedIndexInformer[T Object](informer SharedIndexInformer) TypedSharedIndexInformer[T] {
	return cache.NewTypedSharedIndexInformer[T](informer)
}

// ObjectToName is client-go's.
func ObjectToName(obj any) (ObjectName, error) {
	return cache.ObjectToName(obj)
}

// ParseObjectName is client-go's.
func ParseObjectName(str string) (ObjectName, error) {
	return cache.ParseObjectName(str)
}

// ResetInformerNamesForTesting is client-go's.
func ResetInformerNamesForTesting() {
	cache.ResetInformerNamesForTesting()
}

// SetReflectorMetricsProvider is client-go's.
func SetReflectorMetricsProvider(metricsProvider MetricsProvider) {
	cache.SetReflectorMetricsProvider(metricsProvider)
}

// ShutDownEventHandler is client-go's.
func ShutDownEventHandler(informer SharedInformer, handle ResourceEventHandlerRegistration) error {
	return cache.ShutDownEventHandler(informer, handle)
}

// SplitMetaNamespaceKey is client-go's.
func SplitMetaNamespaceKey(key string) (string, string, error) {
	return cache.SplitMetaNamespaceKey(key)
}

// ToListWatcherWithWatchListSemantics is client-go's.
func ToListWatcherWithWatchListSemantics(lw *ListWatch, client any) ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(lw, client)
}

// ToListerWatcherWithContext is client-go's.
func ToListerWatcherWithContext(lw ListerWatcher) ListerWatcherWithContext {
	return cache.ToListerWatcherWithContext(lw)
}

// ToListerWithContext is client-go's.
func ToListerWithContext(l Lister) ListerWithContext {
	return cache.ToListerWithContext(l)
}

// ToWatcherWithContext is client-go's.
func ToWatcherWithContext(w Watcher) WatcherWithContext {
	return cache.ToWatcherWithContext(w)
}

// TypedIndexerFuncToIndexerFunc is client-go's.
func TypedIndexerFuncToIndexerFunc[T any](indexer TypedIndexFunc[T]) IndexFunc {
	return cache.TypedIndexerFuncToIndexerFunc[T](indexer)
}

// TypedIndexersToIndexers is client-go's.
func TypedIndexersToIndexers[T any](indexers TypedIndexers[T]) Indexers {
	return cache.TypedIndexersToIndexers[T](indexers)
}

// WaitFor is client-go's.
func WaitFor(ctx context.Context, what string, checkers ...DoneChecker) bool {
	return cache.WaitFor(ctx, what, checkers...)
}

// WaitForCacheSync is client-go's.
func WaitForCacheSync(stopCh <-chan struct{}, cacheSyncs ...InformerSynced) bool {
	return cache.WaitForCacheSync(stopCh, cacheSyncs...)
}

// WaitForNamedCacheSync is client-go's.
func WaitForNamedCacheSync(controllerName string, stopCh <-chan struct{}, cacheSyncs ...InformerSynced) bool {
	return cache.WaitForNamedCacheSync(controllerName, stopCh, cacheSyncs...)
}

// WaitForNamedCacheSyncWithContext is client-go's.
func WaitForNamedCacheSyncWithContext(ctx context.Context, cacheSyncs ...InformerSynced) bool {
	return cache.WaitForNamedCacheSyncWithContext(ctx, cacheSyncs...)
}

// NewUndeltaStore makes a store that calls pushFunc with all of its objects after
// each write.
func NewUndeltaStore(pushFunc func([]any), keyFunc KeyFunc) *UndeltaStore {
	return &UndeltaStore{Store: NewStore(keyFunc), PushFunc: pushFunc}
}
