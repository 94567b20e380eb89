package reflector

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"heliograph.example/internal/panics"
)

// lastingTrouble is the number of failures in a row after which they are trouble
// that an operator should read of.
const lastingTrouble = 3

// Subscribe calls f at each change of state, in order, beginning with the next,
// until cancel is called. A call that is under way then may still end. f is called
// by the reading goroutine and must not block; it may call Status and cancel. A
// nil f is never called. There may be any number of subscribers.
func (r *Reflector[T]) Subscribe(f func(Status)) (cancel func()) {
	if f == nil {
		return func() {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &f
	// The slices are never changed in place: a goroutine may go over an old one.
	r.subscribers = append(slices.Clip(r.subscribers), s)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.subscribers = slices.DeleteFunc(slices.Clone(r.subscribers), func(other *func(Status)) bool { return other == s })
	}
}

// enter goes to the state of t and tells of it.
func (r *Reflector[T]) enter(ctx context.Context, t transition) {
	now := time.Now()
	// A refusal is an answer, unless somebody on the way gave it.
	if status := apierrors.APIStatus(nil); errors.As(t.err, &status) && classify(t.err) != ClassUnreachable {
		r.hear()
	}
	r.mu.Lock()
	s := &r.status
	if s.State != t.to {
		s.Since = now
	}
	s.State, s.Reason, s.NextTry, s.Fallback = t.to, t.reason, time.Time{}, r.ladder.fallback()
	if t.to.waits() {
		s.NextTry, r.retry, r.earliest = now.Add(t.pause), t.retry, now.Add(min(t.pause, t.floor))
	}
	if t.err != nil {
		s.LastError, s.Class, s.LastErrorAt = t.err, classify(t.err), now
	}
	if t.failed {
		if s.Tries == 0 {
			s.FailingSince = now
		}
		s.Tries++
	}
	told := r.snapshot()
	subscribers := r.subscribers
	level, news := r.logs.judge(&told)
	r.mu.Unlock()

	if news || klog.FromContext(ctx).V(4).Enabled() {
		if !news {
			level = 4
		}
		klog.FromContext(ctx).V(level).Info("Reflector", "resource", told.Name, "state", told.State,
			"reason", told.Reason, "version", told.Version, "tries", told.Tries, "class", told.Class, "err", t.err)
	}
	if r.opts.OnTransition != nil {
		tell(ctx, r.opts.OnTransition, told)
	}
	for _, f := range subscribers {
		tell(ctx, *f, told)
	}
}

// tell calls a function of the user. Its panic must not end the reading.
func tell[A any](ctx context.Context, f func(A), about A) {
	defer func() {
		if value := recover(); value != nil {
			klog.FromContext(ctx).Error(panics.New(value), "A function that was to be told panicked", "about", about)
		}
	}()
	f(about)
}

// recover ends a run of failures.
func (r *Reflector[T]) recover(ctx context.Context) {
	r.mu.Lock()
	s := &r.status
	if s.State != Watching {
		r.mu.Unlock() // the timer of a watch that has ended just then
		return
	}
	tries, since, level := s.Tries, s.FailingSince, 2
	if r.logs.trouble != "" {
		level = 0
	}
	s.Tries, s.FailingSince = 0, time.Time{}
	r.logs = logs{last: string(s.State)}
	r.mu.Unlock()
	if tries > 0 {
		klog.FromContext(ctx).V(level).Info("Reflector has recovered", "resource", r.opts.Name,
			"tries", tries, "failingFor", time.Since(since))
	}
}

// logs remembers what the log was told, so that it gets a line for each change
// and not for each try. At the default level it says when trouble begins, turns
// into another, and ends; at level 2 also each state on the way, at level 4 each
// try.
type logs struct {
	// trouble is the trouble told last at the default level, and last what was
	// told last at any.
	trouble, last string
}

// judge says at which level s is told, if it is.
func (l *logs) judge(s *Status) (level int, tell bool) {
	now := string(s.State)
	if s.Tries > 0 && s.State != Stopped {
		now = "failing: " + string(s.Class)
	}
	waiting := s.State == Forbidden || s.State == NotServed || s.State == BackingOff && s.Tries >= lastingTrouble
	if waiting && l.trouble != now {
		l.trouble, l.last = now, now
		return 0, true
	}
	if l.last == now {
		return 0, false
	}
	l.last = now
	return 2, true
}
