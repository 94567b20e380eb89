package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/deltafifo"
)

// maxAhead bounds the watches that are opened at a version which the server
// does not know yet. Another replica may, and this one may catch up.
const maxAhead = 3

// watch begins to follow the changes: with the stream of the streaming list, if it
// goes on, or with a new one from the last version. goesOn is false if that failed.
func (r *Reflector[T]) watch(ctx context.Context) (next transition, goesOn bool) {
	l := r.live
	r.live, r.opened, r.report = nil, false, nil
	if l == nil {
		var err error
		r.update(func(s *Status) { s.Watches++ })
		l, err = r.open(ctx, r.source, metav1.ListOptions{ResourceVersion: r.version}, r.opts.watchTimeout(), openTimeout, errOpening)
		if err != nil {
			return r.watchEnded(ctx, err, watched{}), false
		}
		r.order = r.newOrder()
		r.opts.Group.met(&r.member)
	}
	r.opened = true
	r.mend()
	r.silence.begin()
	r.listen(l)
	l.settled = time.AfterFunc(stableWatch, func() { r.recover(ctx) })
	r.watching = l
	return transition{}, true
}

// took takes what the watch has brought. goesOn is false if it has ended with
// that.
func (r *Reflector[T]) took(ctx context.Context) (next transition, goesOn bool) {
	l := r.watching
	events, err := l.next()
	if err == nil {
		var moved bool
		alarming := r.silence.alarming()
		moved, err = r.deliver(ctx, events)
		l.progress = l.progress || moved
		if l.patience.touch(); alarming != r.silence.alarming() {
			r.listen(l)
		}
	}
	if err == nil {
		return transition{}, true
	}
	was := watched{opened: true, life: time.Since(l.opened), progress: l.progress}
	next = r.watchEnded(ctx, err, was)
	r.unwatch()
	return next, false
}

// unwatch ends the watch, if there is one.
func (r *Reflector[T]) unwatch() {
	l := r.watching
	if l == nil {
		return
	}
	l.settled.Stop()
	l.close()
	r.watching, r.deltas = nil, nil
}

// watched tells of a watch that has ended.
type watched struct {
	opened bool
	life   time.Duration
	// progress tells that it brought anything new.
	progress bool
}

func (r *Reflector[T]) newOrder() *order {
	return &order{floor: r.version, last: r.version, unversioned: r.unversioned}
}

// deliver pushes what a batch of events brings, in one go, and moves the clock.
// moved reports whether it brought anything new.
func (r *Reflector[T]) deliver(ctx context.Context, events []Event[T]) (moved bool, err error) {
	r.pushing.Lock()
	defer r.pushing.Unlock()
	deltas := slices.Grow(r.deltas, len(events))
	var skipped, delayed uint64
	objects, bookmark := len(events), false
	for i := range events {
		event := &events[i]
		if event.Type == deltafifo.Bookmark {
			bookmark = true
			objects--
			if r.order.bookmark(event.Version) {
				moved = true
				deltas = append(deltas, deltafifo.Delta[T]{Type: deltafifo.Bookmark, Version: event.Version})
			}
			continue
		}
		verdict := r.order.judge(event.Key, event.Version)
		if verdict == overtaken {
			verdict, err = r.settle(ctx, event)
		}
		if err != nil {
			break
		}
		if verdict == replayed {
			skipped++
			continue
		}
		if verdict == lost {
			// What came before is pushed all the same.
			err = errOrder
			break
		}
		if verdict == late {
			delayed++
		}
		moved = true
		if delta, ok := r.delta(ctx, event); ok {
			deltas = append(deltas, delta)
		} else if verdict == fresh && hasVersion(event.Version) {
			// The sink has come that far, though it did not get the object.
			deltas = append(deltas, deltafifo.Delta[T]{Type: deltafifo.Bookmark, Version: event.Version})
		}
	}
	if len(deltas) > 0 {
		if refusal := r.sink.Push(deltas); refusal != nil {
			return moved, r.sinkError(refusal)
		}
	}
	r.reuse(deltas)
	r.version = r.order.last
	r.received(objects)
	r.opts.Group.met(&r.member)
	r.delivered(bookmark, skipped, delayed)
	if moved {
		// That it brings something does not make a watch stable: one that has
		// expired a moment later costs a list.
		r.silence.moved()
		r.ahead, r.expired = 0, 0
	}
	return moved, err
}

// settle tells a replay of a streaming list from an object that it is missing
// because a frame came after the end. The error is one of the sink.
func (r *Reflector[T]) settle(ctx context.Context, event *Event[T]) (verdict, error) {
	if event.Key.Name == "" {
		return replayed, nil
	}
	known, err := r.sink.Known(ctx)
	if err != nil {
		return lost, r.sinkError(err)
	}
	_, version, there := known.Lookup(event.Key)
	if b, broken := r.IsBroken(event.Key); broken {
		version, there = b.Err.Version, true
	}
	if !there {
		if event.Type == deltafifo.Deleted {
			return replayed, nil
		}
		return lost, nil
	}
	if order, ok := compareVersions(version, event.Version); ok && order < 0 {
		return lost, nil
	}
	return replayed, nil
}

// reuse keeps the slice of a delivery for the next one, without what it held. It
// is no larger than the batch of a stream normally is.
func (r *Reflector[T]) reuse(deltas []deltafifo.Delta[T]) {
	clear(deltas)
	r.deltas = nil
	if cap(deltas) <= 2*maxBatch {
		r.deltas = deltas[:0]
	}
}

// delta is what one event changes. ok is false if that is nothing, because the
// object cannot be used and what is held stays.
func (r *Reflector[T]) delta(ctx context.Context, event *Event[T]) (delta deltafifo.Delta[T], ok bool) {
	if r.isNameless(&event.Item) {
		r.update(func(s *Status) { s.Unaccounted++ })
	}
	delta = deltafifo.Delta[T]{Type: event.Type, Key: event.Key, UID: event.UID, Version: r.pushed(event.Version)}
	err := event.Err
	if err == nil {
		err = r.transformed(&event.Item)
	}
	if err == nil {
		r.broken.remove(event.Key)
		delta.Object = event.Object
		return delta, true
	}
	r.reject(ctx, &event.Item, err)
	if event.Type == deltafifo.Deleted {
		r.broken.remove(event.Key)
	} else {
		r.mend()
	}
	// The end of an object needs its name only.
	delta.FinalStateUnknown = true
	return delta, event.Type == deltafifo.Deleted && event.Key.Name != ""
}

// pushed is the version of an object as the sink is told.
func (r *Reflector[T]) pushed(version string) string {
	if r.unversioned {
		return ""
	}
	return version
}

// delivered records a batch in the status.
func (r *Reflector[T]) delivered(bookmark bool, skipped, delayed uint64) {
	now := time.Now()
	if bookmark {
		r.silence.bookmark(now)
	}
	r.update(func(s *Status) {
		s.Version, s.LastEvent = r.version, now
		if bookmark {
			s.LastBookmark = now
		}
		s.Replayed += skipped
		s.Late += delayed
	})
	r.reached()
}

// watchEnded says where the end of a watch leads. Only the proof of a gap leads
// to a new state; all else is bridged by a watch from the last version.
func (r *Reflector[T]) watchEnded(ctx context.Context, err error, was watched) transition {
	var refusal *SinkError
	if errors.As(err, &refusal) {
		return r.refused(refusal)
	}
	err = denied("watch", err)
	class := classify(err)
	if class == ClassExpired && !was.progress {
		r.expired++
	} else if was.life >= stableWatch {
		r.stable(ctx)
	}
	if was.opened && hasVersion(r.version) && (isCut(err) || errors.Is(err, errQuiet)) && !errors.Is(err, errRenewed) {
		if t, matters := r.quiet(err, was); matters {
			return t
		}
	}
	if class == ClassUnreachable && !errors.Is(err, io.EOF) && !errors.Is(err, errRenewed) {
		r.silence.away = true
	}
	switch {
	case errors.Is(err, errRenewed):
		return r.to(Watching)
	case class == ClassExpired:
		return r.relist("version "+r.version+" has expired", err)
	case errors.Is(err, errOrder):
		return r.relist("the server sends events out of order", err)
	case !hasVersion(r.version):
		return r.relist("there is no version to resume from", fmt.Errorf("%w: %w", errNoVersion, err))
	case class == ClassTooLarge:
		if r.ahead++; r.ahead > maxAhead {
			r.ahead = 0
			return r.relist("the server does not get to version "+r.version, err)
		}
		return r.failed(Watching, "the server is behind version "+r.version, err)
	case !isCut(err):
		return r.failed(Watching, "the watch failed", err)
	case !was.opened:
		return r.failed(Watching, "the watch could not be opened", err)
	case was.life >= shortWatch:
		r.short = 0
	case was.progress:
		r.short++
	default:
		return r.failed(Watching, "the watch ended at once", fmt.Errorf("%w: %w", errShort, err))
	}
	// One short watch may be chance. A server that ends each of them after an
	// event gets no more than one a pause, though the pause does not grow.
	if r.short > 1 {
		return r.failedFor(r.backoff.first(err), Watching, "the watch ended soon", fmt.Errorf("%w: %w", errShort, err))
	}
	return transition{to: Watching, reason: "the watch ended, resuming from version " + r.version, err: err}
}
