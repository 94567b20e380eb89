package reflector

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"heliograph.example/deltafifo"
)

// NotServedPolicy says what becomes of the objects of a resource that the server
// does not serve any more.
type NotServedPolicy uint8

const (
	// KeepObjects keeps what is held until the resource is back, and a list
	// tells what has become of it. That the resource is not served need not
	// mean that its objects are gone: a version of it may have been dropped, or
	// a server in between may be mistaken.
	KeepObjects NotServedPolicy = iota
	// DeleteObjects deletes what is held, with FinalStateUnknown, once the
	// server has said so three times in a row, over ten seconds or more.
	DeleteObjects
)

const (
	// Absence is sure after so many answers, over so long a time.
	sureAbsences, sureAbsence = 3, 10 * time.Second
	// maxAbsence bounds the pauses of a resource that is not served.
	maxAbsence = 5 * time.Minute
	// minNudged is the shortest pause that a nudge leaves between two tries.
	minNudged = time.Second
)

// absence remembers how a resource is not served. The goroutine that runs owns
// it.
type absence struct {
	answers int
	since   time.Time
	pause   time.Duration
	emptied bool
}

// noted counts one answer that the resource is not served, and returns the pause
// after it: longer than that of a failure, because a resource that has been away
// for long is not missed by the minute. Who knows that it is back says so with
// Nudge.
func (a *absence) noted(pause, cap time.Duration) time.Duration {
	if a.answers++; a.answers == 1 {
		a.since = time.Now()
	}
	if pause < cap {
		return pause
	}
	if a.pause = max(pause, 2*a.pause); a.pause >= maxAbsence {
		// A little apart from others, now that all have the same pause.
		a.pause = maxAbsence
		return wait.Jitter(maxAbsence*4/5, 0.25)
	}
	return a.pause
}

// dropGone deletes what is held of a resource that is surely gone, if that is
// wanted.
func (r *Reflector[T]) dropGone(ctx context.Context, s Status) error {
	a := &r.absence
	if r.opts.NotServed != DeleteObjects || s.State != NotServed || !s.Synced || a.emptied ||
		a.answers < sureAbsences || time.Since(a.since) < sureAbsence {
		return nil
	}
	known, err := r.sink.Known(ctx)
	if err != nil {
		return r.sinkError(err)
	}
	r.pushing.Lock()
	defer r.pushing.Unlock()
	r.following = false
	var deltas []deltafifo.Delta[T]
	for key := range known.Keys() {
		uid, _, _ := known.Lookup(key)
		deltas = append(deltas, deltafifo.Delta[T]{
			Type: deltafifo.Deleted, Key: key, UID: uid, Version: r.pushed(r.version), FinalStateUnknown: true,
		})
	}
	// It is a state, and an empty one: what is held may be newer than the version,
	// after a list that was pushed in parts and broke off.
	if len(deltas) > 0 {
		replaced := deltafifo.Delta[T]{Type: deltafifo.Replaced, Version: r.version, Items: deltas}
		if err := r.sink.Push([]deltafifo.Delta[T]{replaced}); err != nil {
			return r.sinkError(err)
		}
	}
	a.emptied = true
	r.broken.clear()
	r.update(func(s *Status) { s.Objects, s.Mixed = 0, false })
	return nil
}

// Nudge ends the pause of a reflector that waits: something may have changed for
// it, such as a CustomResourceDefinition that was established or a permission
// that was granted. The next try comes at once, but a second after the last one
// at the earliest, and never sooner than the server has asked for. A nudge of a
// reflector that reads shortens its next pause. Nudges do not add up.
func (r *Reflector[T]) Nudge() {
	select {
	case r.nudged <- struct{}{}:
	default:
	}
}

// floor is the pause after err that a nudge does not shorten.
func floor(err error, pause time.Duration) time.Duration {
	if _, asked := retryAfter(err); asked {
		return pause
	}
	return min(pause, minNudged)
}

// pause waits for the next try of s, for a nudge, or, if the server was away, for
// somebody else of the group to reach it.
func (r *Reflector[T]) pause(ctx context.Context, s Status) {
	away := s.State == BackingOff && r.isAway(s.LastError) && r.earliest.Before(s.NextTry)
	g, m := r.opts.Group, &r.member
	if away {
		g.sleep(m)
		defer g.rise(m)
	}
	timer := time.NewTimer(time.Until(s.NextTry))
	defer timer.Stop()
	for probing := false; ; {
		select {
		case <-timer.C:
			if !away || probing {
				return
			}
			// A whole group tries in turns.
			probing = true
			at := g.slot(m)
			if time.Until(at) <= 0 {
				return
			}
			timer.Reset(time.Until(at))
			r.update(func(s *Status) { s.NextTry = at })
		case at := <-m.wake:
			if probing = false; away {
				timer.Reset(time.Until(at))
				r.update(func(s *Status) { s.NextTry = at })
			}
		case <-ctx.Done():
			return
		case <-r.nudged:
			if r.earliest.Before(s.NextTry) {
				timer.Reset(time.Until(r.earliest))
			}
		}
	}
}
