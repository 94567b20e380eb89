package cache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientfeatures "k8s.io/client-go/features"

	"heliograph.example/indexer"
)

// ThreadSafeStoreOption changes a [ThreadSafeStore] when it is made. client-go's is
// a function of a type that it keeps to itself, so this is one of our own.
type ThreadSafeStoreOption = func(*threadSafe)

// WithThreadSafeStoreMetrics shows the resource version of a store as a metric of
// the given provider, or, if that is nil, of the one given to
// [SetInformerMetricsProvider]. An identifier that is not reserved shows nothing.
func WithThreadSafeStoreMetrics(identifier InformerNameAndResource, provider InformerMetricsProvider) ThreadSafeStoreOption {
	return func(s *threadSafe) { s.version = newVersionMetric(identifier, provider) }
}

// NewThreadSafeStore makes a store with the given indexes. indexers and indices may
// be nil; indices must have nothing in it, for nobody outside of client-go can fill
// it, and is not used.
//
// An index function that fails for an object, or panics, leaves the object stored
// and out of that index, and is reported to the error handlers of
// k8s.io/apimachinery/pkg/util/runtime, where client-go panics.
func NewThreadSafeStore(indexers Indexers, indices Indices, opts ...ThreadSafeStoreOption) ThreadSafeStore {
	s := newThreadSafe(indexers)
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// threadSafe has the methods of a [ThreadSafeStore] over a store of ours.
type threadSafe struct {
	objects *indexer.Indexer[any]
	// follower says that the version of the store is told by what is written to
	// it here, and not by an informer whose store it is.
	follower bool
	version  versionMetric

	mu       sync.Mutex
	indexers Indexers
}

var _ ThreadSafeStoreWithTransaction = (*threadSafe)(nil)

func newThreadSafe(indexers Indexers) *threadSafe {
	objects, err := indexer.New(indexesOf(indexers))
	if err != nil {
		// A function that is nil: client-go takes it, and panics at the first
		// object.
		report("Store was made without some of its indexes", err)
		indexers = withoutNil(indexers)
		objects, _ = indexer.New(indexesOf(indexers))
	}
	return &threadSafe{objects: objects, follower: true, indexers: maps.Clone(indexers)}
}

// report tells of what a method without an error could not do.
func report(what string, err error) {
	if err != nil {
		utilruntime.HandleErrorWithContext(context.Background(), err, what)
	}
}

func withoutNil(indexers Indexers) Indexers {
	out := maps.Clone(indexers)
	maps.DeleteFunc(out, func(_ string, f IndexFunc) bool { return f == nil })
	return out
}

// indexesOf turns index functions of client-go's into ours.
func indexesOf(indexers Indexers) indexer.Indexes[any] {
	out := make(indexer.Indexes[any], len(indexers))
	for name, f := range indexers {
		index := indexer.Index[any]{}
		if f != nil {
			index.Values = func(obj any, values []string) ([]string, error) {
				if obj == nil {
					return values, nil
				}
				return f(obj)
			}
		}
		out[name] = index
	}
	return out
}

// put stores an object. The error is that of an index.
func (s *threadSafe) put(tx indexer.Tx[any], key string, obj any) error {
	e := indexer.Entry[any]{Key: nameOf(key), Object: obj}
	if m, err := meta.Accessor(obj); err == nil {
		e.UID, e.Version = m.GetUID(), m.GetResourceVersion()
	}
	return tx.Put(e)
}

// saw notes the version of an object that was written.
func (s *threadSafe) saw(tx indexer.Tx[any], obj any) {
	if m, err := meta.Accessor(obj); err == nil && s.follower {
		tx.SetVersion(m.GetResourceVersion())
		s.version.set(m.GetResourceVersion())
	}
}

// write stores an object and returns the error of an index.
func (s *threadSafe) write(key string, obj any) (err error) {
	s.objects.Update(func(tx indexer.Tx[any]) {
		err = s.put(tx, key, obj)
		s.saw(tx, obj)
	})
	return err
}

// replace makes items the contents of the store, which then stands for a version.
func (s *threadSafe) replace(items map[string]any, resourceVersion string) (err error) {
	s.objects.Update(func(tx indexer.Tx[any]) {
		for e := range s.objects.Entries() {
			if _, stays := items[keyOf(e.Key)]; !stays {
				tx.Delete(e.Key)
			}
		}
		var failed []error
		for key, obj := range items {
			failed = append(failed, s.put(tx, key, obj))
		}
		err = errors.Join(failed...)
		if s.follower {
			tx.SetVersion(resourceVersion)
			s.version.set(resourceVersion)
		}
	})
	return err
}

func (s *threadSafe) Add(key string, obj any) { s.Update(key, obj) }

func (s *threadSafe) Update(key string, obj any) {
	report("Object is missing from an index", s.write(key, obj))
}

func (s *threadSafe) Delete(key string) { s.DeleteWithObject(key, nil) }

func (s *threadSafe) DeleteWithObject(key string, obj any) {
	s.objects.Update(func(tx indexer.Tx[any]) {
		tx.Delete(nameOf(key))
		if obj != nil {
			s.saw(tx, obj)
		}
	})
}

// Transaction does several writes at once: readers see all of them or none.
func (s *threadSafe) Transaction(txns ...ThreadSafeStoreTransaction) {
	report("Objects are missing from an index", s.transact(txns))
}

func (s *threadSafe) transact(txns []ThreadSafeStoreTransaction) (err error) {
	if len(txns) == 0 {
		return nil
	}
	s.objects.Update(func(tx indexer.Tx[any]) {
		var failed []error
		for _, t := range txns {
			switch t.Type {
			case TransactionTypeAdd, TransactionTypeUpdate:
				failed = append(failed, s.put(tx, t.Key, t.Object))
			case TransactionTypeDelete:
				tx.Delete(nameOf(t.Key))
			default:
				failed = append(failed, fmt.Errorf("unknown type of transaction %q for %q", t.Type, t.Key))
			}
		}
		err = errors.Join(failed...)
		s.saw(tx, txns[len(txns)-1].Object)
	})
	return err
}

func (s *threadSafe) Get(key string) (item any, exists bool) { return s.objects.Get(nameOf(key)) }

func (s *threadSafe) List() []any { return s.objects.List() }

func (s *threadSafe) ListKeys() []string {
	keys := make([]string, 0, s.objects.Len())
	for e := range s.objects.Entries() {
		keys = append(keys, keyOf(e.Key))
	}
	return keys
}

func (s *threadSafe) Replace(items map[string]any, resourceVersion string) {
	report("Objects are missing from an index", s.replace(items, resourceVersion))
}

// Index lists the objects that have an index value in common with obj, which need
// not be stored.
func (s *threadSafe) Index(name string, obj any) ([]any, error) {
	s.mu.Lock()
	f := s.indexers[name]
	s.mu.Unlock()
	if f == nil {
		return nil, fmt.Errorf("index %q: %w", name, indexer.ErrUnknownIndex)
	}
	values, err := f(obj)
	if err != nil {
		return nil, fmt.Errorf("index %q: %w", name, err)
	}
	if len(values) == 1 {
		return s.ByIndex(name, values[0])
	}
	snapshot := s.objects.Snapshot()
	defer snapshot.Close()
	seen := map[types.NamespacedName]bool{}
	found := []any{}
	for _, value := range values {
		keys, err := snapshot.IndexKeys(name, value)
		if err != nil {
			return nil, fmt.Errorf("index %q: %w", name, err)
		}
		for _, key := range keys {
			if obj, ok := snapshot.Get(key); ok && !seen[key] {
				found = append(found, obj)
			}
			seen[key] = true
		}
	}
	return found, nil
}

// IndexKeys returns the keys of what ByIndex returns, in order.
func (s *threadSafe) IndexKeys(name, value string) ([]string, error) {
	names, err := s.objects.IndexKeys(name, value)
	if err != nil {
		return nil, fmt.Errorf("index %q: %w", name, err)
	}
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = keyOf(name)
	}
	slices.Sort(keys)
	return keys, nil
}

func (s *threadSafe) ByIndex(name, value string) ([]any, error) {
	found, err := s.objects.ByIndex(name, value)
	if err != nil {
		return nil, fmt.Errorf("index %q: %w", name, err)
	}
	return found, nil
}

// ListIndexFuncValues returns the values under which an index lists anything; none
// for an index that there is not.
func (s *threadSafe) ListIndexFuncValues(name string) []string {
	values, err := s.objects.IndexValues(name)
	if err != nil {
		return []string{}
	}
	return values
}

// GetIndexers returns the index functions, in a map of the caller's own.
func (s *threadSafe) GetIndexers() Indexers {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.indexers == nil {
		return Indexers{}
	}
	return maps.Clone(s.indexers)
}

// AddIndexers adds indexes, all or none, at any time. One whose name is taken is an
// error, and so is one without a function.
func (s *threadSafe) AddIndexers(more Indexers) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	failed, err := s.objects.AddIndexes(indexesOf(more))
	if err != nil {
		return fmt.Errorf("add indexers: %w", err)
	}
	if s.indexers == nil {
		s.indexers = Indexers{}
	}
	maps.Copy(s.indexers, more)
	for _, f := range failed {
		report("Object is missing from a new index", f)
	}
	return nil
}

// Bookmark notes the version that the store stands for.
func (s *threadSafe) Bookmark(resourceVersion string) {
	if !s.follower {
		return
	}
	s.objects.Update(func(tx indexer.Tx[any]) { tx.SetVersion(resourceVersion) })
	s.version.set(resourceVersion)
}

// LastStoreSyncResourceVersion is the version that the store stands for. As with
// client-go it is empty unless the feature gate AtomicFIFO is on.
func (s *threadSafe) LastStoreSyncResourceVersion() string {
	if !clientfeatures.FeatureGates().Enabled(clientfeatures.AtomicFIFO) {
		return ""
	}
	return s.objects.Version()
}

// Resync does nothing.
func (s *threadSafe) Resync() error { return nil }
