package cacher

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"heliograph.example/apiserver/storage"
	"heliograph.example/apiserver/storage/history"
)

const (
	// readBatch is the number of changes that a watcher takes at once. One that
	// is behind, as in a burst of writes, sends them together, which costs far
	// less than one by one.
	readBatch = 32
	// initialBatch is the number of initial events told at once.
	initialBatch = 64
	// progressGrace is how long a bookmark that is due waits for the store to
	// say how far it has come.
	progressGrace = time.Second
)

// Watch implements [storage.Interface]. It waits until the cache is ready, and
// for an initial state until it is fresh enough. Only an unparsable version and
// a cache that does not become ready are errors of Watch itself; all others come
// from Next, where a client of kube-apiserver meets them.
func (c *Cacher) Watch(ctx context.Context, opts storage.WatchOptions) (storage.Watch, error) {
	start, err := storage.ParseWatch(opts)
	if err != nil {
		return nil, err
	}
	w := &watcher{
		cache: c, ctx: ctx, selection: opts.Selection, bookmarks: opts.Bookmarks,
		hurry: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	newest := opts.ResourceVersion == ""
	if newest {
		if start.After, err = c.store.CurrentRevision(ctx); err != nil {
			return nil, err
		}
	}
	// Changes can be told from a version that the cache has yet to reach.
	version := uint64(0)
	if start.Initial {
		version = start.After
	}
	if err := c.wait(ctx, version); err != nil {
		if !tooLarge(err) {
			return nil, err
		}
		w.err = err
		return w, nil
	}
	if c.begin(w, start, newest) {
		return w, nil
	}
	return c.store.Watch(ctx, opts)
}

// begin sets w to its start, unless that predates the cache.
func (c *Cacher) begin(w *watcher, start storage.WatchStart, newest bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if newest {
		// What has been forgotten since is not from now on.
		start.After = max(start.After, c.window.Floor())
	}
	if c.predates(start) {
		return false
	}
	w.begin(start)
	return true
}

// predates reports whether a watch begins before the cache did. Because a cache
// starts when it is first needed, a client may well come with a version from
// before, say of an object that it has created; the store still knows what
// happened since. The lock is held.
func (c *Cacher) predates(start storage.WatchStart) bool {
	return !start.Initial && start.After > 0 && start.After < c.began && c.began == c.window.Floor()
}

// watcher is a cursor on the window of the cache. It has no goroutine and no
// queue. Its fields belong to the goroutine that calls Next.
type watcher struct {
	cache     *Cacher
	ctx       context.Context
	selection storage.Selection
	bookmarks bool

	// initial is the state to tell first, from the key next on; nil when that
	// is done.
	initial    *history.View[entry]
	next       string
	initialEnd bool
	// cursor is the place in the window, and told the version that the
	// receiver has come to, after it began: what is not newer is not told.
	cursor      uint64
	told, began uint64
	// opened is the end of the window when the watch was opened. What it has
	// to catch up with by then is no backlog.
	opened uint64

	// due is when the next bookmark should go out, and asked says that the
	// store has been asked for progress because of it.
	due   time.Time
	asked bool
	timer *time.Timer

	// delivered and hurry are for [storage.Follower]: how far the receiver has
	// come for sure, and a wish to look again and tell a bookmark.
	delivered atomic.Uint64
	hurry     chan struct{}

	// room is where changes are read to; nil while the watcher waits.
	room *room
	err  error

	stopped  chan struct{}
	stopOnce sync.Once
}

// room is what a watcher needs to read changes and to tell events. Watchers that
// wait lend it to others: of thousands only a few are at work at a time.
type room struct {
	read   [readBatch]*history.Change[entry]
	events []storage.Event
}

// enter gives the watcher an empty room.
func (w *watcher) enter() {
	if w.room == nil {
		w.room, _ = w.cache.rooms.Get().(*room)
	}
	if w.room == nil {
		w.room = &room{}
	}
	clear(w.room.events)
	w.room.events = w.room.events[:0]
}

// leave gives the room away. It must hold no events.
func (w *watcher) leave() {
	w.cache.rooms.Put(w.room)
	w.room = nil
}

// begin sets the watcher to its start. The cache is locked.
func (w *watcher) begin(start storage.WatchStart) {
	window := w.cache.window
	w.opened = window.Next()
	switch {
	case start.Initial:
		w.initial = window.Now()
		w.initialEnd = w.bookmarks
		w.told = window.Revision()
		w.cursor = window.Next()
	case start.After == 0:
		w.told = window.Revision()
		w.cursor = window.Next()
	case start.After < window.Floor():
		w.err = storage.NewTooOldError(start.After, window.Floor())
	default:
		w.told = start.After
		w.cursor = window.After(start.After)
	}
	w.began = w.told
	if w.bookmarks {
		w.due = w.nextBookmark(time.Now())
	}
}

// Stop implements [storage.Watch].
func (w *watcher) Stop() { w.stopOnce.Do(func() { close(w.stopped) }) }

// Next implements [storage.Watch]. At the end of the cache, and when the
// watcher has fallen off the window or behind its backlog, it returns io.EOF.
func (w *watcher) Next() ([]storage.Event, error) {
	w.enter()
	for w.err == nil && len(w.room.events) == 0 {
		w.err = w.step()
	}
	if len(w.room.events) > 0 {
		return w.room.events, nil
	}
	w.leave()
	w.initial = nil
	return nil, w.err
}

// step tells the next events, or waits for something to tell.
func (w *watcher) step() error {
	select {
	case <-w.stopped:
		return io.EOF
	default:
	}
	if err := w.ctx.Err(); err != nil {
		return err
	}
	if w.initial != nil {
		return w.tellInitial()
	}
	c := w.cache
	c.mu.RLock()
	changes, ok := c.window.Read(w.cursor, w.room.read[:])
	ok = ok && !w.tooSlow()
	revision, changed, end := c.window.Revision(), c.changed, c.stopped
	c.mu.RUnlock()
	switch {
	case !ok:
		return io.EOF
	case len(changes) > 0:
		return w.tell(changes)
	case end:
		return io.EOF
	}
	// Everything up to revision has been told.
	w.delivered.Store(revision)
	if told, err := w.tellBookmark(revision); told || err != nil {
		return err
	}
	return w.sleep(changed)
}

// tooSlow reports whether more is to be told than Options.Backlog allows. The
// cache is locked.
func (w *watcher) tooSlow() bool {
	window, limit := w.cache.window, w.cache.backlog
	seq := max(w.cursor, w.opened)
	if limit == 0 || window.Next() <= seq+uint64(limit) {
		return false
	}
	var read [readBatch]*history.Change[entry]
	pending := 0
	for {
		changes, ok := window.Read(seq, read[:])
		if !ok || len(changes) == 0 {
			return false
		}
		for _, change := range changes {
			if change.Revision > w.told && w.selection.Includes(change.After.key) {
				pending++
			}
		}
		if pending > limit {
			return true
		}
		seq += uint64(len(changes))
	}
}

// tellInitial tells the next part of the initial state.
func (w *watcher) tellInitial() error {
	done := true
	q := storage.ListQuery{Selection: w.selection}
	for key, e := range w.initial.Prefix(q.Prefix(), w.next) {
		if len(w.room.events) == initialBatch {
			w.next, done = key, false
			break
		}
		if !w.selection.Includes(e.key) {
			continue
		}
		ok, err := e.selectedBy(w.selection, w.cache.of.Attributes)
		if err != nil {
			return err
		}
		if ok {
			w.room.events = append(w.room.events, storage.Event{Type: watch.Added, Object: e.object, Encoded: &e.encoded})
		}
	}
	if !done {
		return nil
	}
	w.initial = nil
	if w.initialEnd {
		return w.bookmark(w.told, true)
	}
	return nil
}

// tell appends the events that changes are for this watcher.
func (w *watcher) tell(changes []*history.Change[entry]) error {
	w.cursor += uint64(len(changes))
	for i, change := range changes {
		if change.Revision > w.told && w.selection.Includes(change.After.key) {
			if err := w.tellChange(change); err != nil {
				return err
			}
		}
		changes[i] = nil
	}
	return nil
}

// tellChange follows the object into and out of the selection.
func (w *watcher) tellChange(change *history.Change[entry]) error {
	attributes := w.cache.of.Attributes
	now, before := !change.Deleted, change.Before != nil
	var err error
	if now {
		if now, err = change.After.selectedBy(w.selection, attributes); err != nil {
			return err
		}
	}
	if before {
		if before, err = change.Before.selectedBy(w.selection, attributes); err != nil {
			return err
		}
	}
	told := change.After
	event := storage.Event{Type: watch.Modified}
	switch {
	case now && before:
	case now:
		event.Type = watch.Added
	case before:
		event.Type = watch.Deleted
		if !change.Deleted {
			if told, err = told.leaving(change.Before); err != nil {
				return apierrors.NewInternalError(err)
			}
		}
	default:
		return nil
	}
	event.Object, event.Encoded = told.object, &told.encoded
	w.room.events = append(w.room.events, event)
	w.told = change.Revision
	return nil
}

// Advance implements [storage.Follower].
func (w *watcher) Advance(ctx context.Context, version uint64) error {
	if err := w.cache.wait(ctx, version); err != nil {
		return err
	}
	select {
	case w.hurry <- struct{}{}:
	default: // It is asked already.
	}
	return nil
}

// Delivered implements [storage.Follower].
func (w *watcher) Delivered() uint64 { return w.delivered.Load() }

// sleep waits for changes, or for the next bookmark to be due.
func (w *watcher) sleep(changed <-chan struct{}) error {
	w.leave()
	defer w.enter()
	var due <-chan time.Time
	if w.bookmarks {
		wait := time.Until(w.due)
		if w.timer == nil {
			w.timer = time.NewTimer(wait)
		} else {
			w.timer.Reset(wait)
		}
		defer w.timer.Stop()
		due = w.timer.C
	}
	select {
	case <-changed:
	case <-due:
	case <-w.hurry:
		w.due = time.Now()
	case <-w.stopped:
		return io.EOF
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
	return nil
}
