package reflector

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

// enter goes to the state of t and tells of it.
func (r *Reflector[T]) enter(ctx context.Context, t transition) {
	now := time.Now()
	r.mu.Lock()
	s := &r.status
	if s.State != t.to {
		s.Since = now
	}
	s.State, s.Reason, s.NextTry, s.Fallback = t.to, t.reason, time.Time{}, r.ladder.fallback()
	if t.to.waits() {
		s.NextTry, r.retry = now.Add(t.pause), t.retry
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
	r.mu.Unlock()

	logger := klog.FromContext(ctx).V(2)
	if logger.Enabled() {
		logger.Info("Reflector", "resource", told.Name, "state", told.State, "reason", told.Reason,
			"version", told.Version, "tries", told.Tries, "err", t.err)
	}
	if r.opts.OnTransition != nil {
		r.opts.OnTransition(told)
	}
}
