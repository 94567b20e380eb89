package endpoints

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"heliograph.example/apiserver/storage"
)

// catchUpPeriod is how often CatchUp looks at watches that lag.
const catchUpPeriod = time.Millisecond

// watchSet knows the open watches.
type watchSet struct {
	mu   sync.Mutex
	next int
	open map[int]*openWatch
}

// openWatch is one of them.
type openWatch struct {
	request Request
	end     context.CancelFunc

	mu     sync.Mutex
	events storage.Follower // nil until there are events to follow
}

// add remembers a watch until remove is called.
func (w *watchSet) add(q *request, end context.CancelFunc) (open *openWatch, remove func()) {
	open = &openWatch{request: q.record(200), end: end}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = make(map[int]*openWatch)
	}
	id := w.next
	w.next++
	w.open[id] = open
	return open, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.open, id)
	}
}

// all returns the open watches, in the order in which they were opened.
func (w *watchSet) all() []*openWatch {
	w.mu.Lock()
	defer w.mu.Unlock()
	open := make([]*openWatch, 0, len(w.open))
	for _, id := range slices.Sorted(maps.Keys(w.open)) {
		open = append(open, w.open[id])
	}
	return open
}

// follow says where the events of the watch come from.
func (w *openWatch) follow(events storage.Watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events, _ = events.(storage.Follower)
}

func (w *openWatch) follower() storage.Follower {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.events
}

// DropWatches ends all open watches of a resource, in all its versions, as a
// server does that closes its connections: the streams end cleanly. It returns
// how many there were, and does not wait for them.
func (h *Handler) DropWatches(resource schema.GroupResource) int {
	n := 0
	for _, w := range h.watches.all() {
		if w.request.Resource.GroupResource() == resource {
			w.end()
			n++
		}
	}
	return n
}

// CatchUp waits until the open watches whose requests which accepts (nil means
// all of them) have been told everything up to a version that the storage has
// reached, and a bookmark with it if they permit bookmarks. A watch that ends
// meanwhile is not waited for. The error names the watches that have not come
// so far when ctx ends. What clients do with what they were told is not known
// here.
func (h *Handler) CatchUp(ctx context.Context, version uint64, which func(Request) bool) error {
	tick := time.NewTicker(catchUpPeriod)
	defer tick.Stop()
	asked := make(map[*openWatch]bool)
	var lag error
	for {
		now := h.lagging(ctx, version, which, asked)
		if now == nil {
			return nil
		}
		if lag == nil || ctx.Err() == nil {
			// What is found when the time is up says less than what was
			// found before.
			lag = now
		}
		select {
		case <-ctx.Done():
			return errors.Join(lag, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// lagging tells of the watches that have not been told everything.
func (h *Handler) lagging(ctx context.Context, version uint64, which func(Request) bool, asked map[*openWatch]bool) error {
	var lag []error
	for _, w := range h.watches.all() {
		if which != nil && !which(w.request) {
			continue
		}
		if err := w.reach(ctx, version, asked); err != nil {
			lag = append(lag, err)
		}
	}
	return errors.Join(lag...)
}

// reach returns an error if the watch has not been told everything up to a
// version. The first time, it asks for a bookmark, too.
func (w *openWatch) reach(ctx context.Context, version uint64, asked map[*openWatch]bool) error {
	events := w.follower()
	if events == nil {
		return fmt.Errorf("watch %s of %q has not begun", w.request.target(), w.request.UserAgent)
	}
	if !asked[w] {
		if err := events.Advance(ctx, version); err != nil {
			return fmt.Errorf("watch %s of %q: %w", w.request.target(), w.request.UserAgent, err)
		}
		asked[w] = true
	}
	if told := events.Delivered(); told < version {
		return fmt.Errorf("watch %s of %q has been told everything up to %d, not yet up to %d",
			w.request.target(), w.request.UserAgent, told, version)
	}
	return nil
}
