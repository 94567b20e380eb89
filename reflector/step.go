package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// run goes from state to state until the end of ctx, of the sink, or, if only
// one round is wanted, of the round.
func (r *Reflector[T]) run(ctx context.Context, round bool) error {
	if err := r.begin(ctx, round); err != nil {
		return err
	}
	defer r.end()
	for {
		if r.watching != nil {
			// Most of its time a reflector waits here, and the less there is on the
			// stack the smaller that stays. So what comes of it is elsewhere.
			r.watching.await()
		}
		if ended, err := r.advance(ctx, round); ended {
			return err
		}
	}
}

// advance takes one step, and enters the state where it leads. ended is true at the
// end of the run.
func (r *Reflector[T]) advance(ctx context.Context, round bool) (ended bool, err error) {
	if r.watching == nil && ctx.Err() != nil {
		r.enter(ctx, transition{to: Stopped, reason: "the context has ended"})
		return true, nil
	}
	next, goesOn := r.step(ctx)
	if goesOn || ctx.Err() != nil {
		// What failed now failed because ctx has ended.
		return false, nil
	}
	r.enter(ctx, next)
	return next.to == Stopped || (round && next.restart), next.err
}

// step does what the present state asks for, and says where that leads, or that it
// goes on. It returns at once when ctx ends.
func (r *Reflector[T]) step(ctx context.Context) (next transition, goesOn bool) {
	if r.watching != nil {
		return r.took(ctx)
	}
	switch r.state() {
	case Streaming:
		return r.inTurn(ctx, r.stream), false
	case Listing:
		return r.inTurn(ctx, r.list), false
	case Watching:
		return r.watch(ctx)
	case BackingOff, NotServed, Forbidden:
		return r.rest(ctx), false
	default:
		return r.start(ctx), false
	}
}

// state is that of the status.
func (r *Reflector[T]) state() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status.State
}

// rest waits for the end of a pause.
func (r *Reflector[T]) rest(ctx context.Context) transition {
	s := r.Status()
	if err := r.dropGone(ctx, s); err != nil {
		return r.refused(err)
	}
	r.pause(ctx, s)
	return r.to(r.retry)
}

// begin takes the right to run. After a round that ended in a pause, the pause
// goes on; otherwise the run starts.
func (r *Reflector[T]) begin(ctx context.Context, round bool) error {
	if ctx == nil {
		return fmt.Errorf("%w context for %s: it is nil", ErrInvalid, r.opts.Name)
	}
	r.mu.Lock()
	if r.running {
		r.mu.Unlock()
		return fmt.Errorf("%s: %w", r.opts.Name, ErrRunning)
	}
	r.running, r.ran = true, true
	state := r.status.State
	r.mu.Unlock()
	r.broken.begin(ctx)
	if state == Stopped {
		if round && !r.mustList {
			r.mustList, r.why = true, "a new round"
		}
		r.enter(ctx, transition{to: Starting, reason: "started"})
	}
	return nil
}

// end gives up what a run holds.
func (r *Reflector[T]) end() {
	r.unwatch()
	if r.live != nil {
		r.live.close()
		r.live = nil
	}
	r.broken.end()
	r.update(func(*Status) { r.running = false })
	if r.hasEnded() {
		r.clock.Fail(ErrRunEnded)
	}
}

// start resumes where that is possible, and otherwise gets the state.
func (r *Reflector[T]) start(ctx context.Context) transition {
	if !r.mustList && r.silence.suspicion != "" {
		return r.prove(ctx)
	}
	if !r.mustList {
		return r.to(Watching)
	}
	return r.to(r.ladder.first())
}

// to goes to a state that reads, with what is known of the reason.
func (r *Reflector[T]) to(state State) transition {
	t := transition{to: state}
	switch state {
	case Watching:
		t.reason = "resuming from version " + r.version
	case Listing:
		t.reason = r.why + "; streaming: " + r.ladder.fallback()
	default:
		t.reason = r.why
	}
	return t
}

// failed waits before the next try, which is that of retry.
func (r *Reflector[T]) failed(retry State, reason string, err error) transition {
	return r.failedFor(r.backoff.next(err), retry, reason, err)
}

// failedFor is failed with a pause that is known.
func (r *Reflector[T]) failedFor(pause time.Duration, retry State, reason string, err error) transition {
	t := transition{to: BackingOff, reason: reason, err: err, failed: true, retry: retry, pause: pause}
	if _, asked := retryAfter(err); !asked && r.isAway(err) {
		r.opts.Group.lost()
	}
	class := classify(err)
	if class != ClassNotServed {
		r.absence.answers = 0
	}
	switch class {
	case ClassForbidden, ClassUnauthorized:
		t.to = Forbidden
	case ClassNotServed:
		// Nothing that is held can be trusted once the resource is back: it
		// may be another one of the same name.
		t.to, t.retry, t.restart = NotServed, Starting, true
		t.pause = r.absence.noted(t.pause, r.backoff.initial.Cap)
		r.mustList, r.why = true, "the resource was not served"
	}
	t.floor = floor(err, t.pause)
	return t
}

// relist asks for the state again. Soon after the last one it takes its time:
// otherwise a server whose every watch has expired would be listed without a
// pause.
func (r *Reflector[T]) relist(reason string, err error) transition {
	r.mustList, r.why = true, reason
	if r.expired > 1 {
		// The last state was as old as the one before. A list in pages can be
		// read from the storage of the server, past its cache.
		r.ladder.fall("what it gives has expired", 0)
	}
	if r.expired > 1 || time.Since(r.stateAt) < stableWatch {
		t := r.failed(Starting, reason, err)
		t.restart = true
		return t
	}
	return transition{to: Starting, reason: reason, err: err, restart: true}
}

// refused ends the run because of the sink.
func (r *Reflector[T]) refused(err error) transition {
	return transition{to: Stopped, reason: "the sink refused", err: r.sinkError(err)}
}

func (r *Reflector[T]) sinkError(err error) error {
	var already *SinkError
	if errors.As(err, &already) {
		return err
	}
	return &SinkError{Resource: r.opts.Name, Err: err}
}

// stable tells that a watch has lived for long enough.
func (r *Reflector[T]) stable(ctx context.Context) {
	r.backoff.reset()
	r.ahead, r.expired = 0, 0
	r.recover(ctx)
}
