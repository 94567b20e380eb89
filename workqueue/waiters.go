package workqueue

import "context"

// waiter is a Get that waits. Its channel has room for the one signal that it
// is sent, so that sending never waits.
type waiter struct {
	ch chan struct{}
	// index is the place among the sleeping waiters; -1 after it was chosen
	// to be woken.
	index int
}

// wake sends the signal to a waiter that was chosen. It is called without the
// lock of the queue. A nil waiter is nobody.
func (w *waiter) wake() {
	if w != nil {
		w.ch <- struct{}{}
	}
}

// wait waits to be woken, or for the context to end, and reports which.
func (w *waiter) wait(ctx context.Context) (woken bool) {
	select {
	case <-w.ch:
		return true
	case <-ctx.Done():
		return false
	}
}

// waiters are the Gets that wait. Whoever makes a key available wakes one; one
// who got an answer while there are more to have wakes the next. So while there
// are answers and anybody sleeps, somebody is on the way.
type waiters struct {
	sleeping []*waiter
	// waking is the number of those chosen who have not yet looked.
	waking int
	free   []*waiter
}

// join adds a waiter.
func (ws *waiters) join() *waiter {
	var w *waiter
	if n := len(ws.free); n > 0 {
		w = ws.free[n-1]
		ws.free = ws.free[:n-1]
	} else {
		w = &waiter{ch: make(chan struct{}, 1)}
	}
	w.index = len(ws.sleeping)
	ws.sleeping = append(ws.sleeping, w)
	return w
}

// next chooses a waiter to be woken, if more answers are available than waiters
// are on their way to take them.
func (ws *waiters) next(available int) *waiter {
	if len(ws.sleeping) == 0 || ws.waking >= available {
		return nil
	}
	w := ws.sleeping[len(ws.sleeping)-1]
	ws.remove(w)
	ws.waking++
	return w
}

// leave ends the wait of a waiter; woken says whether it got its signal.
func (ws *waiters) leave(w *waiter, woken bool) {
	switch {
	case w.index >= 0:
		ws.remove(w)
	case woken:
		ws.waking--
	default:
		// Its context ended when it was chosen already. The signal is still
		// to come, into a channel that nobody will listen to again.
		ws.waking--
		return
	}
	ws.free = append(ws.free, w)
}

func (ws *waiters) remove(w *waiter) {
	n := len(ws.sleeping) - 1
	last := ws.sleeping[n]
	ws.sleeping[w.index] = last
	last.index = w.index
	ws.sleeping[n] = nil
	ws.sleeping = ws.sleeping[:n]
	w.index = -1
}
