package indexer

// Indexer is a store of objects by key with any number of indexes. Use [New] to
// make one. It is a [Reader]; [Indexer.Update] writes to it. All methods are
// safe for use by any number of goroutines.
type Indexer[T any] struct {
	reads[T]
}

var _ Reader[any] = (*Indexer[any])(nil)

// New returns an empty store with the given indexes, which may be nil. An index
// without a function is an error that wraps [ErrNilIndexFunc].
func New[T any](indexes Indexes[T]) (*Indexer[T], error) {
	c, err := newCore(indexes)
	if err != nil {
		return nil, err
	}
	return &Indexer[T]{reads[T]{core: c}}, nil
}

// AddIndexes adds indexes to the store, all or none, at any time. When it
// returns they list every object; readers and transactions see them complete or
// not at all. An index without a function ([ErrNilIndexFunc]) and a name that is
// taken ([ErrIndexExists]) are refused with an error.
//
// failed tells of the objects for which a function failed: they are stored, and
// missing from that index until their next version.
//
// Transactions wait meanwhile, readers do not.
func (s *Indexer[T]) AddIndexes(indexes Indexes[T]) (failed []*IndexError, err error) {
	c := s.core
	t := c.begin()
	defer c.end(t)
	present := c.state.Load()
	added, err := newIndexes(indexes, c.seed, func(name string) bool {
		_, err := present.named(name)
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	for e := range c.entries.walk {
		failures := c.relist(e, added)
		failed = append(failed, failures...)
	}
	t.version = present.version
	all := append(c.indexes[:len(c.indexes):len(c.indexes)], added...)
	c.commit(t, all)
	c.known.Store(&all)
	return failed, nil
}

// relist gives an entry a version that is listed in more indexes.
func (c *core[T]) relist(e *entry[T], added []*index[T]) []*IndexError {
	old := e.newest()
	if old == nil {
		return nil
	}
	same, failures := c.list(e.key, old.object, nil, added)
	if same {
		return failures
	}
	v := c.newVersion()
	v.stamp = c.epoch << 1
	v.uid, v.version, v.object = old.uid, old.version, old.object
	v.postings = append(append(v.postings, old.postings...), c.scratch.postings...)
	c.supersede(e, v)
	return failures
}
