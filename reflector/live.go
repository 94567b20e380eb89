package reflector

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// live is an open stream with the deadlines that end it.
type live[T any] struct {
	stream Stream[T]
	// ctx is that of the stream. A deadline ends it, with its error as cause.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// deadline ends the stream if the server does not; patience ends it while
	// it brings nothing, as long as that matters.
	deadline *time.Timer
	patience watchdog
	// coarse is set while bytes are no progress, whatever they are part of.
	coarse atomic.Bool
	opened time.Time
	// settled tells that a watch has lived for long enough, and progress that it
	// has brought anything new.
	settled  *time.Timer
	progress bool
	// pending are events at hand that were not delivered yet, err is what the
	// stream said with them.
	pending []Event[T]
	err     error
}

// open opens a watch of source that the server is asked to end after timeout. For want of
// an answer within wait it fails with silence.
func (r *Reflector[T]) open(
	ctx context.Context, source Source[T], opts metav1.ListOptions, timeout, wait time.Duration, silence error,
) (*live[T], error) {
	seconds := int64(timeout / time.Second)
	opts.TimeoutSeconds = &seconds
	opts.AllowWatchBookmarks = true

	l := &live[T]{}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	l.end(timeout+slack, errDeadline)
	l.expect(wait, silence)
	reading, asked := r.traced(l.ctx, l.read)
	stream, err := source.Watch(reading, opts)
	if err != nil {
		err = asked.in(l.cause(err))
		l.close()
		return nil, err
	}
	l.stream, l.opened = stream, time.Now()
	r.hear()
	return l, nil
}

// expect ends the stream with silence when it has brought nothing for limit.
func (l *live[T]) expect(limit time.Duration, silence error) {
	l.patience.watch(limit, func() { l.cancel(silence) })
}

// end ends the stream with cause after limit, whatever it brings.
func (l *live[T]) end(limit time.Duration, cause error) {
	if l.deadline != nil {
		l.deadline.Stop()
	}
	l.deadline = time.AfterFunc(limit, func() { l.cancel(cause) })
}

// read is told of bytes that have come.
func (l *live[T]) read() {
	if !l.coarse.Load() {
		l.patience.touch()
	}
}

// await waits until there is something for next.
func (l *live[T]) await() {
	if len(l.pending) == 0 && l.err == nil {
		l.pending, l.err = l.stream.Next()
	}
}

// next returns the pending events, or waits for some.
func (l *live[T]) next() ([]Event[T], error) {
	l.await()
	events, err := l.pending, l.err
	l.pending, l.err = nil, nil
	if err != nil {
		return nil, l.cause(err)
	}
	return events, nil
}

// cause replaces err by the deadline that brought it about.
func (l *live[T]) cause(err error) error {
	cause := context.Cause(l.ctx)
	for _, ours := range []error{errDeadline, errRenewed, errSilent, errOpening, errQuiet} {
		if errors.Is(cause, ours) {
			return cause
		}
	}
	return err
}

// close ends the stream and its deadlines.
func (l *live[T]) close() {
	l.deadline.Stop()
	l.patience.rest()
	if l.stream != nil {
		l.stream.Stop()
	}
	l.cancel(nil)
}
