package informer

import (
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
)

// The types of a [Change].
const (
	Added   = deltafifo.Added
	Updated = deltafifo.Updated
	Deleted = deltafifo.Deleted
)

// Change is what a handler is told. For each key the changes form a chain: Old
// is always the New that the same handler was given last.
//
// Objects in a change are shared with the store and with other handlers. They
// must not be modified.
type Change[T any] struct {
	// Type is Added, Updated or Deleted.
	Type deltafifo.Type
	// Key, UID and Version identify the object and the state told. Version is
	// that of New, or of the delete; for a delete that nobody saw, it is the
	// last one known.
	Key     types.NamespacedName
	UID     types.UID
	Version string
	// Old is the state told last; zero for Added.
	Old T
	// New is the new state. For Deleted it is the final state if the server
	// sent one, and zero if FinalStateUnknown is set. Where a filter makes the
	// Deleted, it is the state that does not match any more.
	New T
	// Initial marks an Added that belongs to what was there when the handler
	// started to listen.
	Initial bool
	// Resync marks an Updated that tells of no change: the handler asked to
	// be told again of every object, and Old and New are the same.
	Resync bool
	// FinalStateUnknown marks a Deleted that was noticed by its absence from
	// a list. When exactly it happened, and what the object last was, nobody
	// saw.
	FinalStateUnknown bool
}

// Object returns the newest state known: New, or Old where a delete has no
// final state.
func (c Change[T]) Object() T {
	if c.FinalStateUnknown {
		return c.Old
	}
	return c.New
}
