package reflector

import (
	"fmt"
	"slices"
)

// Shape says what of each object is wanted, and whether objects may have parts in
// common. The zero value wants all of each, and shares what is equal.
type Shape struct {
	// DropManagedFields leaves metadata.managedFields out. They tell who has
	// set which field, are often a third of an object, and are of use to
	// whoever applies it.
	DropManagedFields bool

	// Fields, if there are any, are all that is wanted: names as in JSON, joined
	// with dots, such as "metadata.labels", "spec.nodeName" or
	// "spec.containers.image". Lists are gone through, and a path names the same
	// field of each element. A path names all that is below it; maps,
	// quantities, times and the like are taken as a whole. All else is zero.
	//
	// Name, namespace, UID, resource version, kind and API version are always
	// kept. Whoever writes an object back must not read it so: what was left out
	// would be deleted at the server.
	//
	// A path that does not exist in a Go type is an error that wraps ErrInvalid.
	// Unstructured objects may have any.
	Fields []string

	// Unshared makes each object private. Without it, objects that were decoded
	// from protobuf share equal maps, lists and messages, and unstructured
	// objects equal maps and lists, which makes them smaller by half and more.
	// Nobody may write into an object of an informer in either case; with
	// sharing, such a write shows in other objects too.
	Unshared bool
}

// Equal reports whether s and other want the same. The order of Fields does not
// matter.
func (s Shape) Equal(other Shape) bool {
	return s.DropManagedFields == other.DropManagedFields && s.Unshared == other.Unshared &&
		slices.Equal(s.sorted(), other.sorted())
}

func (s Shape) sorted() []string {
	return slices.Compact(slices.Sorted(slices.Values(s.Fields)))
}

// Shaper is implemented by a Source that can leave out parts of an object while it
// reads it, or can share what is equal. [New] asks it for what Options say. Where a
// Source is none, the reflector cuts what the Source has read, and nothing is
// shared.
type Shaper[T any] interface {
	// Shaped returns a source of the same collection whose objects have the
	// shape. The error wraps ErrInvalid if a path names no field.
	Shaped(shape Shape) (Source[T], error)
}

// shaped returns the source to read from, and what is left to be cut, nil if that
// is nothing. A transform may write into what it is given.
func shaped[T any](source Source[T], o *Options[T]) (Source[T], *cut[T], error) {
	shape := o.Shape
	shape.Unshared = shape.Unshared || o.Transform != nil && !o.ReadOnlyTransform
	if s, ok := source.(Shaper[T]); ok {
		source, err := s.Shaped(shape)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", o.Name, err)
		}
		return source, nil, nil
	}
	c, err := newCut[T](shape)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", o.Name, err)
	}
	return source, c, nil
}

// SharingStats tell what is done so that objects share what is equal.
type SharingStats struct {
	// Lookups counts the strings and parts that were looked for among those that
	// other objects have, and Hits those found.
	Lookups, Hits uint64
	// Bytes is about what the tables hold that they are looked up in. Much of it
	// is parts of objects.
	Bytes int
}
