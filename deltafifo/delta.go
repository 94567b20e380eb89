package deltafifo

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// Type says what a [Delta] does. It is the one vocabulary that a change keeps
// on its whole way from the reflector to a handler.
type Type uint8

const (
	// Added tells of an object that was not there before.
	Added Type = iota + 1
	// Updated tells of a newer state of an object that was there before.
	Updated
	// Deleted tells of the end of an object.
	Deleted
	// Replaced carries, in Items, all that a complete list changes.
	Replaced
	// Bookmark carries a newer resource version and no object.
	Bookmark
)

// String returns the name of the type as it stands in logs.
func (t Type) String() string {
	switch t {
	case Added:
		return "Added"
	case Updated:
		return "Updated"
	case Deleted:
		return "Deleted"
	case Replaced:
		return "Replaced"
	case Bookmark:
		return "Bookmark"
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// Delta is one change on its way from the reader of a server to the store.
//
// Key, UID and Version were taken from the object when it arrived and travel
// beside it, so that a transform which cuts them out of the object cannot
// break ordering or identity.
type Delta[T any] struct {
	// Type says which of the other fields are set.
	Type Type
	// Key names the object. It is zero for Replaced and Bookmark.
	Key types.NamespacedName
	// UID is the identity of the object. It is empty for Replaced and
	// Bookmark, and where the source has none to give.
	UID types.UID
	// Version is the resource version of this state, of the delete, of the
	// list (Replaced) or of the bookmark.
	Version string
	// Object is the new state; for Deleted it is the final state if the
	// server sent one. It is zero where FinalStateUnknown is set, and for
	// Replaced and Bookmark.
	Object T
	// FinalStateUnknown marks a Deleted whose end nobody saw: a list lacked
	// the object.
	FinalStateUnknown bool
	// Items holds, for Replaced only, the changes that lead from the state
	// before the list to the list: at most one for each key, or Deleted and
	// Added for a key whose UID changed. Deletes come first.
	Items []Delta[T]
}
