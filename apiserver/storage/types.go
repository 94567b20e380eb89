package storage

import (
	"context"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Interface stores the objects of one resource. [Store] implements it over a
// [Backend]; the watch cache implements it in front of a Store. Errors that a
// client should see are apierrors.APIStatus values, worded as kube-apiserver
// words them. Objects handed out are shared and must not be changed; objects
// handed in are not kept and not changed.
type Interface interface {
	// Get returns one object. resourceVersion is the query parameter of that
	// name: empty for the newest state, "0" for any, else not older than it.
	Get(ctx context.Context, key types.NamespacedName, resourceVersion string) (runtime.Object, error)
	// List returns the objects that opts selects, ordered by namespace and
	// name.
	List(ctx context.Context, opts ListOptions) (List, error)
	// Watch opens a watch. It ends when ctx does.
	Watch(ctx context.Context, opts WatchOptions) (Watch, error)
	// Create stores a new object and returns it as stored, with its resource
	// version. An existing key is an AlreadyExists error.
	Create(ctx context.Context, key types.NamespacedName, obj runtime.Object) (runtime.Object, error)
	// Update reads the object, calls change with it, and stores what change
	// returns, again from the start if another writer was faster. change may
	// be called several times and must not modify what it is given. If it
	// returns its argument unchanged in content, nothing is written and the
	// resource version stays. If remove is true the object is deleted
	// instead, in the same atomic step, and its last state is returned.
	Update(ctx context.Context, key types.NamespacedName, change func(current runtime.Object) (updated runtime.Object, remove bool, err error)) (runtime.Object, error)
	// Delete removes an object if check (which may be nil) agrees with its
	// current state, and returns that state carrying the resource version of
	// the delete.
	Delete(ctx context.Context, key types.NamespacedName, check func(current runtime.Object) error) (runtime.Object, error)
}

// Selection narrows a list or a watch. Its zero value selects everything.
type Selection struct {
	// Namespace selects one namespace; empty means all.
	Namespace string
	// Name selects one object; empty means all.
	Name string
	// Labels and Fields select by content; nil means everything.
	Labels labels.Selector
	Fields fields.Selector
	// Shard selects by ranges of the hash of a field; nil means everything.
	Shard sharding.Selector
}

// ListOptions are the parameters of a list, already validated.
type ListOptions struct {
	Selection
	ResourceVersion string
	Match           metav1.ResourceVersionMatch
	// Limit is the largest number of objects to return; 0 means no limit.
	Limit int64
	// Continue is the token of an earlier page.
	Continue string
}

// List is one page of a list.
type List struct {
	Items           []runtime.Object
	ResourceVersion string
	// Continue is the token of the next page, empty on the last one.
	Continue string
	// Remaining is the number of objects after this page; nil if it is the
	// last page, or if a selector makes the number unknown.
	Remaining *int64
}

// WatchOptions are the parameters of a watch, already validated.
type WatchOptions struct {
	Selection
	ResourceVersion string
	// SendInitialEvents has the three states of the query parameter.
	SendInitialEvents *bool
	// Bookmarks permits bookmark events.
	Bookmarks bool
}

// Watch is an open watch. Only one goroutine may call Next.
type Watch interface {
	// Next waits for events and returns those at hand, at least one, in
	// order. The slice is valid until the next call. At a clean end it
	// returns io.EOF; an error that the client should see as an error event
	// is an apierrors.APIStatus; when the context of Watch has ended, its
	// error.
	Next() ([]Event, error)
	// Stop ends the watch and makes a waiting Next return.
	Stop()
}

// Follower is a [Watch] that knows how far its receiver has come. The watches of
// this module are Followers; its methods may be called from any goroutine.
type Follower interface {
	// Advance makes the watch notice that nothing is left to tell up to a
	// version, which must have been reached by the storage, and send a
	// bookmark that says so if it sends any. It does not wait for that, but
	// for the state that the watch reads from to come so far.
	Advance(ctx context.Context, version uint64) error
	// Delivered is a version up to which every event has been returned by
	// Next and dealt with, because Next was called again.
	Delivered() uint64
}

// Event is one event of a watch.
type Event struct {
	// Type is Added, Modified, Deleted or Bookmark.
	Type watch.EventType
	// Object is the state told; for Deleted the last one, carrying the
	// resource version of the delete; for Bookmark an empty object of the
	// resource with its resource version, and the annotation of
	// metav1.InitialEventsAnnotationKey where it ends the initial events.
	Object runtime.Object
	// Encoded keeps encodings of this event for all watchers that share it.
	// It is nil where the event is one watcher's own.
	Encoded *Encodings
}

// Encodings keeps what an event looks like in each encoding, so that it is
// encoded once however many watchers get it. The zero value is ready for use.
type Encodings struct {
	mu sync.Mutex
	// kept is a slice because there are one or two.
	kept   []encoding
	closed bool
}

type encoding struct {
	name  string
	bytes []byte
}

// Get returns the bytes kept under name, and has encode make them the first
// time. name must stand for everything that changes the bytes, the event type
// included. Errors are not kept.
func (e *Encodings) Get(name string, encode func() ([]byte, error)) ([]byte, error) {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return encode()
	}
	defer e.mu.Unlock()
	for _, k := range e.kept {
		if k.name == name {
			return k.bytes, nil
		}
	}
	b, err := encode()
	if err != nil {
		return nil, err
	}
	e.kept = append(e.kept, encoding{name, b})
	return b, nil
}

// Forget drops what is kept and keeps nothing from now on: Get still works, and
// encodes each time. It is for states that stay long after the event that
// brought them, whose bytes would otherwise stay with them.
func (e *Encodings) Forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kept, e.closed = nil, true
}
