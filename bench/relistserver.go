package main

import (
	"context"
	"sync"
)

// changedEvery is how many objects there are to one that has changed by the time
// of a relist: 0.1 %.
const changedEvery = 1000

// isChanged says which objects those are, and relistVersion what version they
// have then.
func isChanged(i int) bool { return i%changedEvery == 0 }

func relistVersion(i int) string { return liveVersion(i + 1) }

// relist is a collection that forgets its past, after which a thousandth of its
// objects is new.
type relist struct {
	changed map[int][]byte // frames by their place in the stream

	mu   sync.Mutex
	over chan struct{} // closed when the past is forgotten
}

func newRelist(w *wire) (*relist, error) {
	l := &relist{changed: make(map[int][]byte), over: make(chan struct{})}
	for i := 0; i < w.size; i += changedEvery {
		obj := w.set.object(i)
		obj.SetResourceVersion(relistVersion(i))
		frame, err := w.event("ADDED", obj)
		if err != nil {
			return nil, err
		}
		l.changed[i] = frame
	}
	end, err := w.bookmark(liveBase + w.size + 1)
	l.changed[w.size] = end
	return l, err
}

// frame is the i-th of the streaming list as it is now.
func (l *relist) frame(i int, first []byte) []byte {
	if changed := l.changed[i]; changed != nil && l.forgotten() {
		return changed
	}
	return first
}

// forget ends watches; what they have read is too old from then on. The second
// call brings the past back for the next informer.
func (l *relist) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.over:
		l.over = make(chan struct{})
	default:
		close(l.over)
	}
}

func (l *relist) forgotten() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// wait returns when ctx ends, or when the past is forgotten that was not yet.
func (l *relist) wait(ctx context.Context) {
	l.mu.Lock()
	over := l.over
	l.mu.Unlock()
	if l.forgotten() {
		<-ctx.Done()
		return
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
}
