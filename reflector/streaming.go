package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"heliograph.example/deltafifo"
)

// stream reads the newest state as a streaming list and publishes it. The same
// stream goes on as the watch. Nothing of a stream that breaks off is pushed.
func (r *Reflector[T]) stream(ctx context.Context) transition {
	d, err := r.compare(ctx)
	if err != nil {
		return r.refused(err)
	}
	r.update(func(s *Status) { s.Streams++ })
	r.beginReport(true)
	opts := metav1.ListOptions{SendInitialEvents: ptr.To(true)}
	r.demand(&opts)
	opts.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	l, err := r.open(ctx, r.sparing(d), opts, max(r.opts.watchTimeout(), streamTimeout), r.opts.StreamingTimeout, errSilent)
	r.waited(r.report.Began)
	if err != nil {
		r.endReport(ctx, err)
		return r.streamFailed(err, false)
	}
	end, err := r.initial(ctx, l, d)
	if err != nil {
		l.close()
		r.endReport(ctx, err)
		return r.streamFailed(err, true)
	}
	l.patience.rest()
	if t, back := r.unfit(ctx, end.version, end.newest); back {
		l.close()
		return t
	}
	if err := r.publish(ctx, d, end.newest); err != nil {
		l.close()
		return r.refused(err)
	}
	r.order.follow(end)
	// From here on it is a watch, and no older than one when it ends.
	l.end(r.opts.watchTimeout(), errRenewed)
	r.live = l
	return r.toWatch("streamed", d)
}

// ending is how far a streaming list has come when it ends.
type ending struct {
	// version is that of the bookmark. newest is the highest of all before it, and
	// higher where a change that belongs behind the end has come before it.
	version, newest string
}

// reach notes a version of the list.
func (e *ending) reach(version string) {
	if order, ok := compareVersions(version, e.newest); e.newest == "" || ok && order > 0 {
		e.newest = version
	}
}

// initial collects the initial events up to the bookmark that ends them.
func (r *Reflector[T]) initial(ctx context.Context, l *live[T], d *diff[T]) (end ending, err error) {
	settled := false
	for {
		began := time.Now()
		events, err := l.next()
		r.waited(began)
		if err != nil {
			return end, err
		}
		r.received(len(events))
		before := d.len()
		for i := range events {
			event := &events[i]
			if event.Type != deltafifo.Bookmark && hasVersion(event.Version) {
				end.reach(event.Version)
			}
			switch event.Type {
			case deltafifo.Bookmark:
				if event.InitialEventsEnd {
					if !hasVersion(event.Version) {
						return end, errNoVersion
					}
					l.pending = events[i+1:]
					r.report.Objects = d.len()
					return r.endAt(end, event.Version), nil
				}
				// A server that knows of initial events sends none before.
				settled = true
			case deltafifo.Deleted:
				if settled = true; r.isNameless(&event.Item) {
					d.nameless++
					r.reject(ctx, &event.Item, event.Err)
				}
				if d.forget(event.Key, r.pushed(event.Version)) {
					r.broken.unmet(event.Key)
				}
			default:
				settled = settled || event.Type == deltafifo.Updated || d.has(event.Key)
				met := d.len()
				if r.collect(ctx, d, &event.Item); d.len() > met && !settled {
					l.patience.touch() // a slow transform is not the server's silence
				}
			}
		}
		r.report.Objects = d.len()
		if err := r.relieve(ctx, d); err != nil {
			return end, err
		}
		// A server that ignores what was asked sends what is there, and then
		// changes, for ever. They are no progress, and neither are the bytes
		// that bring them.
		l.coarse.Store(settled)
		if d.len() > before && !settled {
			l.patience.touch()
		}
	}
}

// endAt returns the end of a list whose bookmark is of version.
func (r *Reflector[T]) endAt(end ending, version string) ending {
	end.version = version
	if order, ok := compareVersions(end.newest, version); !ok || order < 0 || r.unversioned {
		end.newest = version
	}
	return end
}

// streamFailed says where a streaming list that failed leads. opened tells that
// the server had agreed to it.
func (r *Reflector[T]) streamFailed(err error, opened bool) transition {
	if refusal := (*SinkError)(nil); errors.As(err, &refusal) {
		return r.refused(err)
	}
	err = denied("watch", err)
	r.ladder.came = r.ladder.came || r.report.Objects > 0
	class := classify(err)
	switch {
	case class == ClassForbidden, class == ClassUnauthorized, class == ClassNotServed:
		t := r.failed(Streaming, "the streaming list failed", err)
		t.restart = true
		return t
	case errors.Is(err, errSilent):
		return r.fall(err, r.ladder.brokeOff())
	case opened && isCut(err):
		return r.streamEnded(err)
	case class == ClassTooManyRequests, class == ClassTooLarge, class == ClassUnreachable:
		if r.ladder.tired(&r.ladder.busy, maxBusy) {
			return r.fall(err, 0)
		}
		return r.failed(Streaming, "the streaming list failed", err)
	}
	return r.fall(err, firstProbe)
}

// streamEnded tries again for a few times. The pauses are a quarter of the
// usual: they end soon, and the server is well enough to answer.
func (r *Reflector[T]) streamEnded(err error) transition {
	if !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", errEarly, err)
	} else {
		err = errEarly
	}
	if r.ladder.tired(&r.ladder.early, maxEarly) {
		return r.fall(err, r.ladder.brokeOff())
	}
	t := r.failed(Streaming, "the streaming list broke off", err)
	t.pause /= 4
	return t
}

// fall turns to pages: at once, unless the server has asked for a pause, and not
// because its cache is behind: a list reads past that. hold is how long the reason
// will hold, 0 if it is not to be remembered.
func (r *Reflector[T]) fall(err error, hold time.Duration) transition {
	r.ladder.fall(err.Error(), hold)
	reason := "streaming: " + err.Error()
	if _, asked := retryAfter(err); asked && classify(err) != ClassTooLarge {
		return r.failed(Listing, reason, err)
	}
	return transition{to: Listing, reason: reason, err: err, failed: true}
}
