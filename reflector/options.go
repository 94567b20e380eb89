package reflector

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// StreamingPolicy says whether a state may be read as a streaming list.
type StreamingPolicy uint8

const (
	// StreamingAuto streams, and lists in pages where streaming does not work.
	StreamingAuto StreamingPolicy = iota
	// StreamingNever always lists in pages.
	StreamingNever
)

// Defaults and bounds.
const (
	// DefaultPageSize is the number of objects that one page may hold.
	DefaultPageSize = 500
	// DefaultStreamingTimeout is how long a streaming list may bring nothing.
	DefaultStreamingTimeout = 10 * time.Second
	// DefaultRelistBudget is the least number of changes that a list collects.
	DefaultRelistBudget = 10_000
	// DefaultSilenceTimeout is three times the pause between two bookmarks.
	DefaultSilenceTimeout = 3 * time.Minute
	// A watch asks for a life between these two, so that the watches of a
	// fleet do not end together. client-go asks for the same.
	minWatch, maxWatch = 5 * time.Minute, 10 * time.Minute
	// mostWatch is the longest life that may be asked for.
	mostWatch = 365 * 24 * time.Hour

	// streamTimeout is the least that is asked for a streaming list. The server
	// must not end one that is slow; once it is read, our own deadline gives it
	// the life of any other watch.
	streamTimeout = 24 * time.Hour

	// slack is how long a watch may outlive what was asked for. The server
	// should end it; if something between has died, nobody does.
	slack = 30 * time.Second
	// openTimeout bounds the wait for the first byte of a watch. A server
	// answers at once, or after a few seconds if its cache lags.
	openTimeout = 30 * time.Second
	// pageTimeout bounds the wait for a page. A server gives up after 60 s.
	pageTimeout = 90 * time.Second
	// shortWatch is the life below which a watch that brought nothing counts
	// as a failure, and stableWatch the one above which all is well.
	shortWatch  = time.Second
	stableWatch = 10 * time.Second
)

// Options tune a reflector. The zero value is ready for use.
type Options[T any] struct {
	// Name is what errors, logs and status call the collection, such as
	// "pods" or "pods in default". If empty, it is the name of T.
	Name string
	// Transform, if not nil, changes an object before it is pushed; it is
	// called once for each state that is pushed, and for no other. An error,
	// a panic or a nil result is an ObjectError.
	Transform func(T) (T, error)
	// ReadOnlyTransform promises that Transform does not write into what it is
	// given: it returns that, or something else. Without the promise, objects
	// share nothing where there is a Transform.
	ReadOnlyTransform bool
	// Shape says what of each object is wanted. It is cut before Transform sees
	// the object.
	Shape Shape
	// PageSize is the number of objects that a page of a list may hold. 0
	// means DefaultPageSize.
	PageSize int64
	// Streaming says whether a state may be streamed.
	Streaming StreamingPolicy
	// StreamingTimeout is how long a streaming list may bring no object, and no
	// byte where the source tells of them, before the state is listed in pages.
	// It counts from the last progress, not from the start. 0 means
	// DefaultStreamingTimeout.
	StreamingTimeout time.Duration
	// Ladder is shared with the other reflectors of the same resource and
	// server. nil means one of its own.
	Ladder *Ladder
	// StaleStart takes as the first state whatever the server's cache has kept
	// (resourceVersion=0), as client-go does. That is cheaper for the server,
	// and works while it cannot tell its newest state; but it may be older
	// than what an earlier run has seen. All later states are the newest.
	StaleStart bool
	// MinimumResourceVersion, if not empty, is a version such as an earlier run
	// has seen: no older state is published as the first. A server that is
	// behind, or whose versions do not compare, is a MinimumError, and is
	// asked again. It must be a number as servers give them (see
	// k8s.io/apimachinery/pkg/util/resourceversion).
	MinimumResourceVersion string
	// SilenceTimeout is how long a watch may be silent once bookmarks have come
	// about every minute, before another is opened in its place. 0 means
	// DefaultSilenceTimeout; less than a second is an error.
	SilenceTimeout time.Duration
	// RelistBudget is the number of changes that a list after the first may
	// collect before it has come to its end. With more it pushes them as they
	// come, page by page, so that the old and the new state are never held side
	// by side; until its end, Status.Mixed is set. 0 means DefaultRelistBudget
	// or a quarter of what the sink holds, whichever is more; a negative one
	// means no bound.
	RelistBudget int
	// WatchTimeout is the life that is asked for a watch, in whole seconds.
	// The reflector itself ends a watch half a minute later. 0 means five to
	// ten minutes, at random; more than a year is an error.
	WatchTimeout time.Duration
	// Backoff paces all tries that follow a failure, whatever failed. It is
	// reset by a stable watch: one that lasts for ten seconds. Steps 0 means no
	// end of growth short of Cap. The zero value means 0.8 s, doubled up to 30 s,
	// with half as much again by chance.
	Backoff wait.Backoff
	// Group, if not nil, is what the reflector shares with others of the same
	// server.
	Group *Group
	// NotServed says what becomes of the objects of a resource that the server
	// does not serve any more.
	NotServed NotServedPolicy
	// OnObjectError is told of each object that could not be used. It is
	// called by the reading goroutine and must not block. If nil, the
	// errors are logged.
	OnObjectError func(*ObjectError)
	// OnTransition is told of each change of state. It is called by the
	// reading goroutine and must not block. It is the first of the subscribers;
	// see Reflector.Subscribe.
	OnTransition func(Status)
}

// check returns o with defaults, or an error that wraps ErrInvalid.
func (o Options[T]) check() (Options[T], error) {
	if o.Name == "" {
		o.Name = reflect.TypeFor[T]().String()
	}
	if o.PageSize < 0 {
		return o, fmt.Errorf("%w page size %d for %s", ErrInvalid, o.PageSize, o.Name)
	}
	if o.PageSize == 0 {
		o.PageSize = DefaultPageSize
	}
	if o.Streaming > StreamingNever {
		return o, fmt.Errorf("%w streaming policy %d for %s", ErrInvalid, o.Streaming, o.Name)
	}
	if o.StreamingTimeout < 0 {
		return o, fmt.Errorf("%w streaming timeout %v for %s", ErrInvalid, o.StreamingTimeout, o.Name)
	}
	if o.StreamingTimeout == 0 {
		o.StreamingTimeout = DefaultStreamingTimeout
	}
	if o.NotServed > DeleteObjects {
		return o, fmt.Errorf("%w policy %d for %s when it is not served", ErrInvalid, o.NotServed, o.Name)
	}
	if o.MinimumResourceVersion != "" {
		if _, ok := compareVersions(o.MinimumResourceVersion, o.MinimumResourceVersion); !ok {
			return o, fmt.Errorf("%w minimum resource version %q for %s: must be a number", ErrInvalid, o.MinimumResourceVersion, o.Name)
		}
	}
	if o.SilenceTimeout != 0 && o.SilenceTimeout < time.Second {
		return o, fmt.Errorf("%w silence timeout %v for %s: must be at least 1s", ErrInvalid, o.SilenceTimeout, o.Name)
	}
	if o.SilenceTimeout == 0 {
		o.SilenceTimeout = DefaultSilenceTimeout
	}
	if o.WatchTimeout < 0 || o.WatchTimeout%time.Second != 0 || o.WatchTimeout > mostWatch {
		return o, fmt.Errorf("%w watch timeout %v for %s: must be whole seconds, up to %v", ErrInvalid, o.WatchTimeout, o.Name, mostWatch)
	}
	if o.Group != nil && o.Group.maxLists == 0 {
		return o, fmt.Errorf("%w group for %s: make it with NewGroup", ErrInvalid, o.Name)
	}
	return o, nil
}

// relistBudget returns how many changes a list may collect, where held objects
// are held; 0 means any number.
func (o *Options[T]) relistBudget(held int) int {
	if o.RelistBudget == 0 {
		return max(DefaultRelistBudget, held/4)
	}
	return max(o.RelistBudget, 0)
}

// watchTimeout returns the life to ask for.
func (o *Options[T]) watchTimeout() time.Duration {
	if o.WatchTimeout > 0 {
		return o.WatchTimeout
	}
	return (minWatch + rand.N(maxWatch-minWatch)).Truncate(time.Second)
}
