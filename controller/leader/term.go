package leader

import (
	"fmt"
	"time"

	"heliograph.example/controller"
)

// tenure is the time for which this process holds the lease once. The lock of the
// election guards it.
type tenure struct {
	*Election
	// renewed is when the request for the last renewal was sent: whoever sees the
	// renewal sees it later. timer runs at the renew deadline after it.
	renewed time.Time
	timer   *time.Timer
	// expired is closed when the lease is lost, and lost then says why.
	expired chan struct{}
	lost    error
	// over is closed when nobody may act any more, as the lease is lost or the
	// election ends, and err then says why.
	over chan struct{}
	err  error
	// members is the number of those who were given a term and have not left it.
	// dirty says that one has left with work going on. Once closing, nobody comes,
	// and left is closed when nobody is there any more.
	members        int
	dirty, closing bool
	left           chan struct{}
}

// term is the part that one controller has in a tenure.
type term struct {
	*tenure
	gone bool
}

func (t *term) Lost() <-chan struct{} { return t.over }

func (t *term) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

func (t *term) Valid() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.check(time.Now())
	return t.err == nil
}

func (t *term) Leave(ended bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.gone {
		t.gone = true
		t.leave(ended)
	}
}

// beginTenure starts a tenure with the renewal that was sent at a time. The lock must
// be held, as for all that follows.
func (e *Election) beginTenure(sent time.Time) {
	t := &tenure{Election: e, renewed: sent, expired: make(chan struct{}), over: make(chan struct{}), left: make(chan struct{})}
	t.timer = time.AfterFunc(e.options.RenewDeadline-time.Since(sent), t.ring)
	e.tenure = t
	if e.phase == Stopping {
		t.close()
		return
	}
	e.enter(Leading)
}

// ring is called at the renew deadline as it was when the timer was set.
func (t *tenure) ring() {
	t.hook()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.check(time.Now())
}

// check ends the tenure if its renew deadline has passed.
func (t *tenure) check(now time.Time) {
	if t.lost != nil || !t.past(now) {
		return
	}
	err := fmt.Errorf("%w for %v", errNotRenewed, now.Sub(t.renewed).Round(time.Millisecond))
	if t.failed != nil {
		err = fmt.Errorf("%w: %w", err, t.failed)
	}
	t.lose(err)
}

// past reports whether the renew deadline has passed, by the clock that never jumps or
// by the one on the wall: the first stands still while a machine is suspended.
func (t *tenure) past(now time.Time) bool {
	deadline := t.options.RenewDeadline
	return now.Sub(t.renewed) >= deadline || now.Round(0).Sub(t.renewed.Round(0)) >= deadline
}

// renew notes a renewal that was sent at a time.
func (t *tenure) renew(sent time.Time) {
	t.renewed = sent
	t.timer.Reset(t.options.RenewDeadline - time.Since(sent))
}

// lose ends the tenure because the lease is lost.
func (t *tenure) lose(err error) {
	if t.lost != nil {
		return
	}
	t.lost = fmt.Errorf("lease %s: %w", t.name(), err)
	t.timer.Stop()
	close(t.expired)
	t.finish(t.lost)
}

// finish tells all who act under the tenure that it is over.
func (t *tenure) finish(err error) {
	if t.err == nil {
		t.err = err
		close(t.over)
	}
}

// admit gives somebody a term, unless it is too late for that.
func (t *tenure) admit() (controller.Term, bool) {
	if t.check(time.Now()); t.err != nil || t.closing {
		return nil, false
	}
	t.members++
	return &term{tenure: t}, true
}

// close lets nobody in any more.
func (t *tenure) close() {
	t.closing = true
	if t.members == 0 {
		close(t.left)
	}
}

// leave is called for each member once.
func (t *tenure) leave(ended bool) {
	t.members--
	t.dirty = t.dirty || !ended
	if t.members == 0 && t.closing {
		close(t.left)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
