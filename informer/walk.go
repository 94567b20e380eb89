package informer

import (
	"heliograph.example/indexer"
)

// walk tells a listener of all objects that the store held at one moment: those
// that are there when it starts to listen, or all again at a resync. It reads them
// from a snapshot as the listener goes on. The listener's lock guards it.
type walk[T any] struct {
	// at is the position of the log at that moment: what comes before it is told
	// before, what follows is told after.
	at       uint64
	resync   bool
	snapshot *indexer.Snapshot[T]
	entries  *indexer.Cursor[T]
	// left is the number of objects that were not taken yet.
	left int
	// changes is what was taken last, and is used again.
	changes []Change[T]
}

// newWalk takes the snapshot over.
func newWalk[T any](snapshot *indexer.Snapshot[T], at uint64, resync bool) *walk[T] {
	return &walk[T]{at: at, resync: resync, snapshot: snapshot, entries: snapshot.Cursor(), left: snapshot.Len()}
}

// next returns the following changes; nil at the end. They stay as they are until
// the next call.
func (w *walk[T]) next() []Change[T] {
	clear(w.changes)
	w.changes = w.changes[:0]
	if w.left == 0 {
		return nil
	}
	if w.changes == nil {
		w.changes = make([]Change[T], 0, min(w.left, chunkSize))
	}
	for e := range w.entries.Next(chunkSize) {
		c := Change[T]{Type: Added, Key: e.Key, UID: e.UID, Version: e.Version, New: e.Object, Initial: true}
		if w.resync {
			c.Type, c.Old, c.Initial, c.Resync = Updated, e.Object, false, true
		}
		w.changes = append(w.changes, c)
	}
	w.left -= len(w.changes)
	return w.changes
}
