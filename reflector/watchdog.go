package reflector

import (
	"sync"
	"sync/atomic"
	"time"
)

// watchdog barks once nothing has come for too long. A touch costs no lock and
// no timer, so that each read of a socket may be one.
type watchdog struct {
	began time.Time
	// last is the time of the last touch, since began.
	last atomic.Int64

	mu    sync.Mutex
	limit time.Duration // 0 while it rests
	bark  func()
	timer *time.Timer
}

// watch makes a new watchdog bark once limit has passed without a touch.
func (w *watchdog) watch(limit time.Duration, bark func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began.IsZero() {
		w.began = time.Now()
	}
	w.touch()
	w.limit, w.bark = limit, bark
	if w.timer == nil {
		w.timer = time.AfterFunc(limit, w.check)
		return
	}
	w.timer.Reset(limit)
}

// touch tells that something has come.
func (w *watchdog) touch() { w.last.Store(int64(time.Since(w.began))) }

// rest makes it wait for the next watch. It does not bark any more when rest has
// returned.
func (w *watchdog) rest() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit, w.bark = 0, nil
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil // most watches are not watched after they have begun
	}
}

// check barks, or looks again when the last touch will be old enough.
func (w *watchdog) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.limit == 0 {
		return
	}
	if left := w.limit - (time.Since(w.began) - time.Duration(w.last.Load())); left > 0 {
		w.timer.Reset(left)
		return
	}
	w.limit = 0
	w.bark()
}
