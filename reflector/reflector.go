package reflector

import (
	"context"
	"fmt"
	"sync"
	"time"

	"heliograph.example/deltafifo"
	"heliograph.example/internal/versionclock"
)

// Reflector reads one collection of an API server and pushes into a sink all
// that leads from one state of the server to the next.
//
// All methods may be called by several goroutines; only one of Run and
// ListAndWatch runs at a time.
type Reflector[T any] struct {
	source Source[T]
	cut    *cut[T] // what the source has not cut, nil if nothing
	sink   Sink[T]
	opts   Options[T]

	// The goroutine in Run or ListAndWatch owns these.
	backoff *backoff
	ladder  ladder
	order   *order
	live    *live[T] // a stream that goes on as the watch
	// watching is the stream of the watch, nil if there is none.
	watching *live[T]
	version  string // all changes up to it were pushed
	// mixed is not empty while only a part of a later state was pushed: the
	// highest version in it.
	mixed string
	retry State // where to go after a pause
	// deltas is an empty slice for the next delivery of a watch.
	deltas []deltafifo.Delta[T]
	// mustList is set while no watch can bridge the way from version, why says
	// why that is so, and doubt is set after a state older than version.
	mustList, doubt bool
	why             string
	// stateAt is when the last complete state was pushed.
	stateAt time.Time
	// restarts counts how often the list in hand expired under way, ahead how
	// often the server did not know version yet, and short the watches in a
	// row that ended within a second.
	restarts, ahead, short int
	// expired counts the versions in a row that had expired before a watch
	// brought anything.
	expired int
	silence silence
	// published is set once a state was published, namespaced once one had an
	// object in a namespace, and opened if the last request was a watch that was
	// opened. unversioned says that the versions of the source mean nothing.
	published, namespaced, opened, unversioned bool

	// report is that of the list in hand, nil while a watch goes on.
	report *report

	// absence is how the resource is not served, earliest when a nudge may end
	// the pause, and nudged holds at most one.
	absence  absence
	earliest time.Time
	nudged   chan struct{}

	// member is its place in its group.
	member member

	// pushing is held while events and mended objects are pushed; following
	// says that the latter may be.
	pushing   sync.Mutex
	following bool
	broken    broken

	progress progress
	clock    versionclock.Clock

	mu sync.Mutex
	// running is set during a run, ran once there was one.
	running, ran bool
	status       Status
	logs         logs
	subscribers  []*func(Status)
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
	source, cut, err := shaped(source, &opts)
	if err != nil {
		return nil, err
	}
	if holder, ok := sink.(Holder[T]); ok {
		if follower, ok := source.(Follower[T]); ok {
			source = follower.Following(holder.Held)
		}
	}
	pacer, err := newBackoff(opts.Backoff)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", opts.Name, err)
	}
	r := &Reflector[T]{source: source, cut: cut, sink: sink, opts: opts, backoff: pacer, mustList: true, why: "no state yet", nudged: make(chan struct{}, 1)}
	_, r.broken.can = source.(Getter[T])
	if r.ladder.shared = opts.Ladder; opts.Ladder == nil {
		r.ladder.shared = &Ladder{}
	}
	if opts.Streaming == StreamingNever {
		r.ladder.never = "not wanted"
	} else if s, ok := source.(Streamless); ok && s.Streamless() {
		r.ladder.never = "the client does not support it"
	}
	if s, ok := source.(Unversioned); ok {
		r.unversioned = s.Unversioned()
	}
	// Without an order of versions nobody can tell what is newer, a state read
	// by name or that of the next event.
	r.broken.can = r.broken.can && !r.unversioned
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
func (r *Reflector[T]) Run(ctx context.Context) error { return r.run(ctx, false) }

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
	r.progress.fill(&s)
	if source, ok := r.source.(interface{ sharing() SharingStats }); ok {
		s.Sharing = source.sharing()
	}
	s.Taken, s.Broken = time.Now(), int(r.broken.count.Load())
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
