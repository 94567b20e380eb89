package reflector

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
)

// Object is what an API server stores: every pointer to a typed API object, to
// unstructured.Unstructured and to metav1.PartialObjectMetadata is one.
type Object interface {
	runtime.Object
	metav1.Object
}

// Item is one object as it came from the server, with its identity beside it.
type Item[T any] struct {
	Key     types.NamespacedName
	UID     types.UID
	Version string
	Object  T
	// Unchanged tells that the object was not decoded, or not taken out of a
	// list, because its reader has this state of it (see Skipper). Object is zero.
	Unchanged bool
	// Err is set if this one object could not be used (an *ObjectError). Key,
	// UID and Version are set as far as they could be read; Object is zero.
	Err error
}

// Page tells of one page of a list, after all its items were given.
type Page struct {
	// Version is the resource version of the state that the list shows.
	Version string
	// Continue is the token of the next page; empty on the last one.
	Continue string
	// Remaining is the number of objects on later pages, nil if unknown.
	Remaining *int64
}

// Event is one event of a watch. Type is Added, Updated, Deleted or Bookmark.
type Event[T any] struct {
	Type deltafifo.Type
	Item[T]
	// InitialEventsEnd marks the bookmark that ends the initial events of a
	// streaming list.
	InitialEventsEnd bool
}

// Source reads one collection of an API server: a resource in one namespace or
// all, perhaps narrowed by selectors. The options that a Source is given carry
// resource versions, limits and the like; scope and selectors are its own.
//
// A Source is safe for use by several goroutines.
type Source[T any] interface {
	// List reads one page and calls each for every object in the order of
	// the server. An error of each ends the list and is returned. Errors of
	// the server are returned as apierrors.APIStatus where it sent a status.
	List(ctx context.Context, opts metav1.ListOptions, each func(Item[T]) error) (Page, error)
	// Watch opens a watch. The stream ends when ctx does.
	Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error)
}

// Stream is an open watch. Only one goroutine may call Next.
type Stream[T any] interface {
	// Next waits for events and returns those at hand, at least one, in the
	// order of the server. The slice is valid until the next call. At a
	// clean end it returns io.EOF; for an error event of the server an
	// apierrors.APIStatus; when the context of Watch has ended, its error.
	// After an error it returns no more events.
	Next() ([]Event[T], error)
	// Stop ends the stream, makes a waiting Next return, and releases its
	// connection and goroutines. It may be called more than once.
	Stop()
}

// Streamless is implemented by a Source that knows that its server cannot send
// a streaming list. The reflector then lists in pages from the start.
type Streamless interface {
	// Streamless reports whether streaming lists are of no use here.
	Streamless() bool
}

// Skipper is implemented by a Source that can tell who an object is before it
// decodes it, or takes it out of a list. When a state is read again, the reflector
// has most objects as they are, and has no use for others that are equal.
type Skipper[T any] interface {
	// Skipping returns a source of the same collection for one reader. In a list,
	// and among the initial events of a streaming list, an object that held
	// returns with the same UID and version may come as an Item that is Unchanged.
	// No others do: not those without a version, those that held does not
	// return, nor any event after the initial ones.
	//
	// The goroutine that calls List or Next calls held. The source is used by one
	// goroutine at a time.
	Skipping(held func(types.NamespacedName) (types.UID, string, bool)) Source[T]
}

// Follower is implemented by a Source that decodes a new state of an object by an
// older one, and so need not make again what both have. Objects are read-only where
// they have parts in common, so it does that only for a shape that shares.
type Follower[T any] interface {
	// Following returns a source that asks held for an older state of each object
	// that a watch brings. Any state will do, and none. The goroutine that calls
	// Next calls held.
	Following(held func(types.NamespacedName) (T, bool)) Source[T]
}

// Unversioned is implemented by a Source whose objects carry resource versions
// that mean nothing, as the objects in client-go's fakes do: a test may write the
// same one into every state of an object. The reflector then neither orders
// events by version nor takes an equal version for an equal object, and leaves
// the version out of what it pushes for an object.
type Unversioned interface {
	// Unversioned reports whether the versions of objects mean nothing here.
	Unversioned() bool
}
