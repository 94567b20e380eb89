package cache

import (
	"fmt"

	"heliograph.example/indexer"
)

// StoreOption changes a [Store] or an [Indexer] when it is made. client-go's is a
// function of a type that it keeps to itself, so this is one of our own.
type StoreOption = func(*store)

// WithTransformer lets a store keep what transformer makes of an object instead of
// the object itself. The key is that of the object.
func WithTransformer(transformer TransformFunc) StoreOption {
	return func(s *store) { s.transformer = transformer }
}

// WithStoreMetrics shows the resource version of a store as a metric; see
// [WithThreadSafeStoreMetrics].
func WithStoreMetrics(identifier InformerNameAndResource, provider InformerMetricsProvider) StoreOption {
	return func(s *store) { s.threadSafe.version = newVersionMetric(identifier, provider) }
}

// NewStore makes a store without indexes. Its objects may be of any type that
// keyFunc has a key for, and keys may be any strings.
func NewStore(keyFunc KeyFunc, opts ...StoreOption) Store { return NewIndexer(keyFunc, nil, opts...) }

// NewIndexer makes a store with indexes, which may be nil.
//
// Where an index function fails for an object, or panics, the object is stored, the
// index does not list it, and Add, Update and Replace return the error, as a
// [*indexer.IndexError] or several joined; client-go panics.
func NewIndexer(keyFunc KeyFunc, indexers Indexers, opts ...StoreOption) Indexer {
	s := &store{threadSafe: newThreadSafe(indexers), key: keyFunc}
	for _, opt := range opts {
		opt(s)
	}
	return s
}

// newIndexerOver is the [Indexer] of an informer, over its store. It can be written
// to, as tests do that fill a cache by hand, but says of its version only what the
// informer says.
func newIndexerOver(objects *indexer.Indexer[any], indexers Indexers, keyFunc KeyFunc) *store {
	return &store{threadSafe: &threadSafe{objects: objects, indexers: withoutNil(indexers)}, key: keyFunc}
}

// store has the methods of an [Indexer] over those of a [ThreadSafeStore].
type store struct {
	*threadSafe
	key         KeyFunc
	transformer TransformFunc
}

var (
	_ Indexer          = (*store)(nil)
	_ TransactionStore = (*store)(nil)
)

// keyed returns the key of an object, and what is to be stored under it.
func (s *store) keyed(obj any) (key string, kept any, err error) {
	if key, err = s.key(obj); err != nil {
		return "", nil, KeyError{Obj: obj, Err: err}
	}
	if s.transformer == nil {
		return key, obj, nil
	}
	if kept, err = s.transformer(obj); err != nil {
		return "", nil, fmt.Errorf("transform %q: %w", key, err)
	}
	return key, kept, nil
}

func (s *store) Add(obj any) error { return s.Update(obj) }

func (s *store) Update(obj any) error {
	key, kept, err := s.keyed(obj)
	if err != nil {
		return err
	}
	return s.write(key, kept)
}

func (s *store) Delete(obj any) error {
	key, err := s.key(obj)
	if err != nil {
		return KeyError{Obj: obj, Err: err}
	}
	s.DeleteWithObject(key, obj)
	return nil
}

func (s *store) Get(obj any) (item any, exists bool, err error) {
	key, err := s.key(obj)
	if err != nil {
		return nil, false, KeyError{Obj: obj, Err: err}
	}
	return s.GetByKey(key)
}

func (s *store) GetByKey(key string) (item any, exists bool, err error) {
	item, exists = s.threadSafe.Get(key)
	return item, exists, nil
}

// Replace makes list the contents of the store, or nothing of it if an object has no
// key or cannot be transformed.
func (s *store) Replace(list []any, resourceVersion string) error {
	items := make(map[string]any, len(list))
	for _, obj := range list {
		key, kept, err := s.keyed(obj)
		if err != nil {
			return err
		}
		items[key] = kept
	}
	return s.replace(items, resourceVersion)
}

// Transaction does the writes that have keys, at once. The error names the others,
// and the failures of indexes.
func (s *store) Transaction(txns ...Transaction) *TransactionError {
	result := TransactionError{TotalTransactions: len(txns)}
	keyed := make([]ThreadSafeStoreTransaction, 0, len(txns))
	for i, t := range txns {
		key, err := s.key(t.Object)
		if err != nil {
			result.Errors = append(result.Errors, KeyError{Obj: t.Object, Err: err})
			continue
		}
		result.SuccessfulIndices = append(result.SuccessfulIndices, i)
		keyed = append(keyed, ThreadSafeStoreTransaction{Transaction: t, Key: key})
	}
	if err := s.transact(keyed); err != nil {
		result.Errors = append(result.Errors, err)
	}
	if len(result.Errors) == 0 {
		return nil
	}
	return &result
}
