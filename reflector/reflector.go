package reflector

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"heliograph.example/deltafifo"
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
	// A watch asks for a life between these two, so that the watches of a
	// fleet do not end together. client-go asks for the same.
	minWatch, maxWatch = 5 * time.Minute, 10 * time.Minute

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
	// PageSize is the number of objects that a page of a list may hold. 0
	// means DefaultPageSize.
	PageSize int64
	// Streaming says whether a state may be streamed.
	Streaming StreamingPolicy
	// StreamingTimeout is how long a streaming list may bring no object
	// before the state is listed in pages. It counts from the last progress,
	// not from the start. 0 means DefaultStreamingTimeout.
	StreamingTimeout time.Duration
	// WatchTimeout is the life that is asked for a watch, in whole seconds.
	// The reflector itself ends a watch half a minute later. 0 means five to
	// ten minutes, at random.
	WatchTimeout time.Duration
	// Backoff paces all tries that follow a failure, whatever failed. It is
	// reset by a stable watch: one that brings an event, or lasts for ten
	// seconds. Steps 0 means no end of growth short of Cap. The zero value
	// means 0.8 s, doubled up to 30 s, with half as much again by chance.
	Backoff wait.Backoff
	// OnObjectError is told of each object that could not be used. It is
	// called by the reading goroutine and must not block. If nil, the
	// errors are logged.
	OnObjectError func(*ObjectError)
	// OnTransition is told of each change of state. It is called by the
	// reading goroutine and must not block.
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
	if o.WatchTimeout < 0 || o.WatchTimeout%time.Second != 0 {
		return o, fmt.Errorf("%w watch timeout %v for %s: must be whole seconds", ErrInvalid, o.WatchTimeout, o.Name)
	}
	return o, nil
}

// watchTimeout returns the life to ask for.
func (o *Options[T]) watchTimeout() time.Duration {
	if o.WatchTimeout > 0 {
		return o.WatchTimeout
	}
	return (minWatch + rand.N(maxWatch-minWatch)).Truncate(time.Second)
}

// Reflector reads one collection of an API server and pushes into a sink all
// that leads from one state of the server to the next.
//
// All methods may be called by several goroutines; only one of Run and
// ListAndWatch runs at a time.
type Reflector[T any] struct {
	source      Source[T]
	sink        Sink[T]
	opts        Options[T]
	unversioned bool

	// The goroutine in Run or ListAndWatch owns these.
	backoff *backoff
	ladder  ladder
	order   *order
	live    *live[T] // a stream that goes on as the watch
	version string   // all changes up to it were pushed
	retry   State    // where to go after a pause
	// deltas is an empty slice for the next delivery of a watch.
	deltas []deltafifo.Delta[T]
	// mustList is set while no watch can bridge the way from version, why says
	// why that is so, and doubt is set after a state older than version.
	mustList bool
	why      string
	doubt    bool
	// stateAt is when the last complete state was pushed.
	stateAt time.Time
	// restarts counts how often the list in hand expired under way, ahead how
	// often the server did not know version yet, and short the watches in a
	// row that ended within a second.
	restarts, ahead, short int

	mu      sync.Mutex
	running bool
	status  Status
}

// New returns a reflector from source to sink. It reads nothing before Run or
// ListAndWatch. A nil source or sink, or a bad option, is an error that wraps
// ErrInvalid.
func New[T any](source Source[T], sink Sink[T], opts Options[T]) (*Reflector[T], error) {
	opts, err := opts.check()
	if err != nil {
		return nil, err
	}
	if isNil(source) {
		return nil, fmt.Errorf("%w source for %s: it is nil", ErrInvalid, opts.Name)
	}
	if isNil(sink) {
		return nil, fmt.Errorf("%w sink for %s: it is nil", ErrInvalid, opts.Name)
	}
	pacer, err := newBackoff(opts.Backoff)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opts.Name, err)
	}
	r := &Reflector[T]{source: source, sink: sink, opts: opts, backoff: pacer, mustList: true, why: "no state yet"}
	if opts.Streaming == StreamingNever {
		r.ladder.never = "not wanted"
	} else if s, ok := source.(Streamless); ok && s.Streamless() {
		r.ladder.never = "the client does not support it"
	}
	if s, ok := source.(Unversioned); ok {
		r.unversioned = s.Unversioned()
	}
	r.status = Status{
		Name: opts.Name, State: Stopped, Reason: "not started", Since: time.Now(), Fallback: r.ladder.fallback(),
	}
	return r, nil
}

// Run reads until ctx ends, and then returns nil. It returns early only if the
// sink refuses, with a *SinkError, or with ErrRunning. What goes wrong with the
// server is retried for ever, and told by Status.
//
// Run may be called again after it has returned. It then goes on with a watch
// from the last version, and lists again only if that is no longer possible.
func (r *Reflector[T]) Run(ctx context.Context) error {
	return r.run(ctx, false)
}

// ListAndWatch does one round: it gets the whole state, in whichever way works,
// and follows the changes, across any interruption that a new watch can bridge.
// It returns when the state is needed anew, with the error that says why; if the
// state could not be read; if the sink refuses, with a *SinkError; with the
// error of ctx when that ends; or with ErrRunning. It never returns nil.
//
// The next call starts the next round, and waits first if the last one calls for
// a pause: a loop around ListAndWatch needs no pace of its own.
func (r *Reflector[T]) ListAndWatch(ctx context.Context) error {
	if err := r.run(ctx, true); err != nil {
		return err
	}
	return ctx.Err()
}

// Status returns the status at this moment.
func (r *Reflector[T]) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snapshot()
}

// snapshot returns a copy of the status. The caller holds mu.
func (r *Reflector[T]) snapshot() Status {
	s := r.status
	s.Taken = time.Now()
	return s
}

// Version returns the last good resource version: all changes up to it were
// pushed. It is empty before the first complete state.
func (r *Reflector[T]) Version() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status.Version
}

// update changes the status.
func (r *Reflector[T]) update(change func(*Status)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.status)
}
