//lint:file-ignore SA1019 what client-go has deprecated is part of what it has

package cache

import "k8s.io/client-go/tools/cache"

type (
	// AppendFunc is client-go's.
	AppendFunc = cache.AppendFunc
	// BookmarkInfo is client-go's.
	BookmarkInfo = cache.BookmarkInfo
	// Config is client-go's.
	Config = cache.Config
	// Controller is client-go's.
	Controller = cache.Controller
	// CounterMetric is client-go's.
	CounterMetric = cache.CounterMetric
	// DeletedFinalStateUnknown is client-go's.
	DeletedFinalStateUnknown = cache.DeletedFinalStateUnknown
	// DeletedObject is client-go's.
	DeletedObject[T Object] = cache.DeletedObject[T]
	// Delta is client-go's.
	Delta = cache.Delta
	// DeltaFIFO is client-go's.
	DeltaFIFO = cache.DeltaFIFO
	// DeltaFIFOOptions is client-go's.
	DeltaFIFOOptions = cache.DeltaFIFOOptions
	// DeltaType is client-go's.
	DeltaType = cache.DeltaType
	// Deltas is client-go's.
	Deltas = cache.Deltas
	// DoneChecker is client-go's.
	DoneChecker = cache.DoneChecker
	// ExpirationCache is client-go's.
	ExpirationCache = cache.ExpirationCache
	// ExpirationPolicy is client-go's.
	ExpirationPolicy = cache.ExpirationPolicy
	// ExplicitKey is client-go's.
	ExplicitKey = cache.ExplicitKey
	// FIFO is client-go's.
	FIFO = cache.FIFO
	// FakeCustomStore is client-go's.
	FakeCustomStore = cache.FakeCustomStore
	// FakeExpirationPolicy is client-go's.
	FakeExpirationPolicy = cache.FakeExpirationPolicy
	// FilteringResourceEventHandler is client-go's.
	FilteringResourceEventHandler = cache.FilteringResourceEventHandler
	// GaugeMetric is client-go's.
	GaugeMetric = cache.GaugeMetric
	// GenericLister is client-go's.
	GenericLister = cache.GenericLister
	// GenericNamespaceLister is client-go's.
	GenericNamespaceLister = cache.GenericNamespaceLister
	// Getter is client-go's.
	Getter = cache.Getter
	// HandlerOptions is client-go's.
	HandlerOptions = cache.HandlerOptions
	// Heap is client-go's.
	Heap = cache.Heap
	// HistogramMetric is client-go's.
	HistogramMetric = cache.HistogramMetric
	// IndexFunc is client-go's.
	IndexFunc = cache.IndexFunc
	// Indexer is client-go's.
	Indexer = cache.Indexer
	// Indexers is client-go's.
	Indexers = cache.Indexers
	// Indices is client-go's.
	Indices = cache.Indices
	// InformerMetricsProvider is client-go's.
	InformerMetricsProvider = cache.InformerMetricsProvider
	// InformerName is client-go's.
	InformerName = cache.InformerName
	// InformerNameAndResource is client-go's.
	InformerNameAndResource = cache.InformerNameAndResource
	// InformerOptions is client-go's.
	InformerOptions = cache.InformerOptions
	// InformerSynced is client-go's.
	InformerSynced = cache.InformerSynced
	// KeyError is client-go's.
	KeyError = cache.KeyError
	// KeyFunc is client-go's.
	KeyFunc = cache.KeyFunc
	// KeyGetter is client-go's.
	KeyGetter = cache.KeyGetter
	// KeyLister is client-go's.
	KeyLister = cache.KeyLister
	// KeyListerGetter is client-go's.
	KeyListerGetter = cache.KeyListerGetter
	// LessFunc is client-go's.
	LessFunc = cache.LessFunc
	// ListFunc is client-go's.
	ListFunc = cache.ListFunc
	// ListWatch is client-go's.
	ListWatch = cache.ListWatch
	// ListWithContextFunc is client-go's.
	ListWithContextFunc = cache.ListWithContextFunc
	// Lister is client-go's.
	Lister = cache.Lister
	// ListerWatcher is client-go's.
	ListerWatcher = cache.ListerWatcher
	// ListerWatcherWithContext is client-go's.
	ListerWatcherWithContext = cache.ListerWatcherWithContext
	// ListerWithContext is client-go's.
	ListerWithContext = cache.ListerWithContext
	// MetricsProvider is client-go's.
	MetricsProvider = cache.MetricsProvider
	// MutationCache is client-go's.
	MutationCache = cache.MutationCache
	// MutationCacheOptions is client-go's.
	MutationCacheOptions = cache.MutationCacheOptions
	// MutationDetector is client-go's.
	MutationDetector = cache.MutationDetector
	// Object is client-go's.
	Object = cache.Object
	// ObjectName is client-go's.
	ObjectName = cache.ObjectName
	// PopProcessFunc is client-go's.
	PopProcessFunc = cache.PopProcessFunc
	// ProcessBatchFunc is client-go's.
	ProcessBatchFunc = cache.ProcessBatchFunc
	// ProcessFunc is client-go's.
	ProcessFunc = cache.ProcessFunc
	// Queue is client-go's.
	Queue = cache.Queue
	// QueueWithBatch is client-go's.
	QueueWithBatch = cache.QueueWithBatch
	// RealFIFO is client-go's.
	RealFIFO = cache.RealFIFO
	// RealFIFOOptions is client-go's.
	RealFIFOOptions = cache.RealFIFOOptions
	// Reflector is client-go's.
	Reflector = cache.Reflector
	// ReflectorBookmarkStore is client-go's.
	ReflectorBookmarkStore = cache.ReflectorBookmarkStore
	// ReflectorOptions is client-go's.
	ReflectorOptions = cache.ReflectorOptions
	// ReflectorStore is client-go's.
	ReflectorStore = cache.ReflectorStore
	// ReplacedAllInfo is client-go's.
	ReplacedAllInfo = cache.ReplacedAllInfo
	// ResourceEventHandler is client-go's.
	ResourceEventHandler = cache.ResourceEventHandler
	// ResourceEventHandlerDetailedFuncs is client-go's.
	ResourceEventHandlerDetailedFuncs = cache.ResourceEventHandlerDetailedFuncs
	// ResourceEventHandlerFuncs is client-go's.
	ResourceEventHandlerFuncs = cache.ResourceEventHandlerFuncs
	// ResourceEventHandlerRegistration is client-go's.
	ResourceEventHandlerRegistration = cache.ResourceEventHandlerRegistration
	// ResourceVersionComparator is client-go's.
	ResourceVersionComparator = cache.ResourceVersionComparator
	// ResourceVersionUpdater is client-go's.
	ResourceVersionUpdater = cache.ResourceVersionUpdater
	// RetryWithDeadline is client-go's.
	RetryWithDeadline = cache.RetryWithDeadline
	// SharedIndexInformer is client-go's.
	SharedIndexInformer = cache.SharedIndexInformer
	// SharedIndexInformerOptions is client-go's.
	SharedIndexInformerOptions = cache.SharedIndexInformerOptions
	// SharedInformer is client-go's.
	SharedInformer = cache.SharedInformer
	// ShouldResyncFunc is client-go's.
	ShouldResyncFunc = cache.ShouldResyncFunc
	// Store is client-go's.
	Store = cache.Store
	// SummaryMetric is client-go's.
	SummaryMetric = cache.SummaryMetric
	// SyncAllInfo is client-go's.
	SyncAllInfo = cache.SyncAllInfo
	// SyncResult is client-go's.
	SyncResult = cache.SyncResult
	// TTLPolicy is client-go's.
	TTLPolicy = cache.TTLPolicy
	// ThreadSafeStore is client-go's.
	ThreadSafeStore = cache.ThreadSafeStore
	// ThreadSafeStoreTransaction is client-go's.
	ThreadSafeStoreTransaction = cache.ThreadSafeStoreTransaction
	// ThreadSafeStoreWithTransaction is client-go's.
	ThreadSafeStoreWithTransaction = cache.ThreadSafeStoreWithTransaction
	// TimestampedEntry is client-go's.
	TimestampedEntry = cache.TimestampedEntry
	// Transaction is client-go's.
	Transaction = cache.Transaction
	// TransactionError is client-go's.
	TransactionError = cache.TransactionError
	// TransactionStore is client-go's.
	TransactionStore = cache.TransactionStore
	// TransactionType is client-go's.
	TransactionType = cache.TransactionType
	// TransformFunc is client-go's.
	TransformFunc = cache.TransformFunc
	// TransformingStore is client-go's.
	TransformingStore = cache.TransformingStore
	// TypedFilteringResourceEventHandler is client-go's.
	TypedFilteringResourceEventHandler[T Object] = cache.TypedFilteringResourceEventHandler[T]
	// TypedIndexFunc is client-go's.
	TypedIndexFunc[T any] = cache.TypedIndexFunc[T]
	// TypedIndexer is client-go's.
	TypedIndexer[T any] = cache.TypedIndexer[T]
	// TypedIndexers is client-go's.
	TypedIndexers[T any] = cache.TypedIndexers[T]
	// TypedResourceEventHandlerDetailedFuncs is client-go's.
	TypedResourceEventHandlerDetailedFuncs[T Object] = cache.TypedResourceEventHandlerDetailedFuncs[T]
	// TypedResourceEventHandlerFuncs is client-go's.
	TypedResourceEventHandlerFuncs[T Object] = cache.TypedResourceEventHandlerFuncs[T]
	// TypedResourceEventHandler is client-go's.
	TypedResourceEventHandler[T Object] = cache.TypedResourceEventHandler[T]
	// TypedSharedIndexInformer is client-go's.
	TypedSharedIndexInformer[T Object] = cache.TypedSharedIndexInformer[T]
	// UndeltaStore is client-go's.
	UndeltaStore = cache.UndeltaStore
	// VeryShortWatchError is client-go's.
	VeryShortWatchError = cache.VeryShortWatchError
	// WatchErrorHandler is client-go's.
	WatchErrorHandler = cache.WatchErrorHandler
	// WatchErrorHandlerWithContext is client-go's.
	WatchErrorHandlerWithContext = cache.WatchErrorHandlerWithContext
	// WatchFunc is client-go's.
	WatchFunc = cache.WatchFunc
	// WatchFuncWithContext is client-go's.
	WatchFuncWithContext = cache.WatchFuncWithContext
	// Watcher is client-go's.
	Watcher = cache.Watcher
	// WatcherWithContext is client-go's.
	WatcherWithContext = cache.WatcherWithContext
)

const (
	// Added is client-go's.
	Added = cache.Added
	// Bookmark is client-go's.
	Bookmark = cache.Bookmark
	// Deleted is client-go's.
	Deleted = cache.Deleted
	// NamespaceIndex is client-go's.
	NamespaceIndex = cache.NamespaceIndex
	// Replaced is client-go's.
	Replaced = cache.Replaced
	// ReplacedAll is client-go's.
	ReplacedAll = cache.ReplacedAll
	// Sync is client-go's.
	Sync = cache.Sync
	// SyncAll is client-go's.
	SyncAll = cache.SyncAll
	// TransactionTypeAdd is client-go's.
	TransactionTypeAdd = cache.TransactionTypeAdd
	// TransactionTypeDelete is client-go's.
	TransactionTypeDelete = cache.TransactionTypeDelete
	// TransactionTypeUpdate is client-go's.
	TransactionTypeUpdate = cache.TransactionTypeUpdate
	// Updated is client-go's.
	Updated = cache.Updated
)

var (
	// ErrFIFOClosed is client-go's.
	ErrFIFOClosed = cache.ErrFIFOClosed
	// ErrZeroLengthDeltasObject is client-go's.
	ErrZeroLengthDeltasObject = cache.ErrZeroLengthDeltasObject
)
