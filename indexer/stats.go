package indexer

import "reflect"

// Stats says what a store holds, and what it takes beside the objects themselves.
// Bytes are estimates from sizes and counts, without what the allocator adds.
type Stats struct {
	// Objects is the number of objects.
	Objects int
	// Bytes is what the store takes: entries, table and indexes, those below
	// included, but not the objects and their keys.
	Bytes int64
	// Indexes has one element for each index, in the order in which they were
	// added, those added together by name.
	Indexes []IndexStats
	// Snapshots is the number of open snapshots. If it grows, somebody does
	// not close them.
	Snapshots int
	// Retained is the number of versions that are not the newest of their key
	// and were kept because a snapshot, or a loop under way, may see them. Each
	// keeps its object.
	Retained int
}

// IndexStats says what one index holds.
type IndexStats struct {
	// Name is that of the index.
	Name string
	// Values is the number of values in use, and Listed how often objects are
	// listed under any. Both may count what is retained, for a while.
	Values, Listed int
	// Bytes is what the index takes.
	Bytes int64
}

// Stats returns the present numbers. It waits for nobody.
func (s *Indexer[T]) Stats() Stats {
	c := s.core
	w, pin := c.pin()
	defer c.unpin(pin)
	state := w.state()
	out := Stats{
		Objects:   state.len,
		Indexes:   make([]IndexStats, len(state.indexes)),
		Snapshots: int(c.snapshots.Load()),
		Retained:  int(c.retained.Load()),
	}
	for i, ix := range state.indexes {
		out.Indexes[i] = ix.stats()
		out.Bytes += out.Indexes[i].Bytes
	}
	out.Bytes += int64(out.Objects)*(size[entry32[T]]()+size[version[T]]()) +
		int64(out.Retained)*size[version[T]]() + c.entries.bytes()
	return out
}

func (ix *index[T]) stats() IndexStats {
	places := ix.places.Load()
	return IndexStats{
		Name:   ix.name,
		Values: int(ix.values.Load()),
		Listed: int(places),
		Bytes: ix.values.Load()*size[bucket[T]]() + ix.text.Load() +
			ix.buckets.bytes() + (ix.room.Load()+ix.levels.Load())*size[*bucket[T]]() +
			places*size[posting[T]](),
	}
}

func size[V any]() int64 { return int64(reflect.TypeFor[V]().Size()) }

// bytes is what the groups of a table take.
func (t *table[N]) bytes() int64 { return int64(len(*t.groups.Load())) * size[group[N]]() }
