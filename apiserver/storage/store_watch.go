package storage

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"heliograph.example/apiserver/storage/history"
)

// initialBatch is the number of initial events that are decoded at once.
const initialBatch = 64

// Watch implements [Interface]. The events before and after a resource version
// are those of [WatchStart]. Whatever goes wrong after the options were parsed
// is told by Next, as kube-apiserver tells it in the stream.
func (s *Store) Watch(ctx context.Context, opts WatchOptions) (Watch, error) {
	start, err := ParseWatch(opts)
	if err != nil {
		return nil, err
	}
	w := &storeWatch{store: s, ctx: ctx, selection: opts.Selection, bookmarks: opts.Bookmarks}
	if err := w.open(start); err != nil {
		w.err = streamError(err)
		return w, nil
	}
	if w.bookmarks {
		w.remindLater()
	}
	return w, nil
}

// WatchStart says where a watch begins.
type WatchStart struct {
	// Initial asks for the state, not older than After, as Added events in the
	// order of their keys, then the bookmark that ends them, then what changes.
	Initial bool
	// Consistent, with Initial, asks for the newest state.
	Consistent bool
	// After is the version after which changes are told. If it is 0 and
	// Initial is false, they are told from now on.
	After uint64
}

// ParseWatch applies the rules of kube-apiserver to the options of a watch:
// without sendInitialEvents, an empty version and "0" begin with the state, and
// others with what changed after them.
func ParseWatch(opts WatchOptions) (WatchStart, error) {
	version, err := ParseVersion(opts.ResourceVersion)
	if err != nil {
		return WatchStart{}, err
	}
	initial := version == 0
	if opts.SendInitialEvents != nil {
		initial = *opts.SendInitialEvents
	}
	return WatchStart{Initial: initial, Consistent: initial && opts.ResourceVersion == "", After: version}, nil
}

// storeWatch tells the changes of a backend as events. Only the goroutine that
// calls Next touches its fields, but for the timer.
type storeWatch struct {
	store     *Store
	ctx       context.Context
	selection Selection
	bookmarks bool

	initial    []KeyValue
	initialEnd bool
	// told is the version that the receiver has come to.
	told uint64
	// passed is the version up to which nothing is left to tell, and delivered
	// what the receiver has confirmed of it.
	passed    uint64
	delivered atomic.Uint64
	backend   BackendWatch
	events    []Event
	err       error

	mu      sync.Mutex
	stopped bool
	timer   *time.Timer
}

func (w *storeWatch) open(start WatchStart) error {
	s := w.store
	current, err := s.backend.CurrentRevision(w.ctx)
	if err != nil {
		return err
	}
	w.told = start.After
	if start.Initial {
		if start.After > current {
			return NewTooLargeError(start.After, current, 1)
		}
		state, err := s.backend.List(w.ctx, s.prefix+w.selection.scope(), RangeOptions{})
		if err != nil {
			return err
		}
		w.initial, w.initialEnd, w.told = state.Items, w.bookmarks, state.Revision
	} else if start.After == 0 {
		w.told = current
	}
	w.backend, err = s.backend.Watch(w.ctx, s.prefix+w.selection.scope(), w.told)
	return err
}

// streamError is what a client is told of an error that ends its watch.
func streamError(err error) error {
	var compacted *history.CompactedError
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &compacted):
		return NewTooOldError(compacted.Revision, compacted.Compacted)
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.As(err, &status), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return apierrors.NewInternalError(err)
}

// Next implements [Watch].
func (w *storeWatch) Next() ([]Event, error) {
	clear(w.events)
	w.events = w.events[:0]
	for w.err == nil && len(w.events) == 0 {
		if err := w.ctx.Err(); err != nil {
			w.err = err
		} else if err := w.fill(); err != nil {
			w.err = streamError(err)
		}
	}
	if len(w.events) > 0 {
		return w.events, nil
	}
	return nil, w.err
}

// fill appends the next events, waiting for them. Events that it appends before
// an error are still to be told.
func (w *storeWatch) fill() error {
	if w.isStopped() {
		return io.EOF
	}
	if len(w.initial) > 0 {
		return w.fillInitial()
	}
	if w.initialEnd {
		w.initialEnd = false
		return w.bookmark(w.told, true)
	}
	w.passed = max(w.passed, w.told)
	w.delivered.Store(w.passed)
	batch, err := w.backend.Next()
	if err != nil {
		return err
	}
	w.passed = max(w.passed, batch.Progress)
	for _, c := range batch.Changes {
		if err := w.change(c); err != nil {
			return err
		}
	}
	if w.bookmarks && batch.Progress > w.told {
		return w.bookmark(batch.Progress, false)
	}
	return nil
}

func (w *storeWatch) fillInitial() error {
	n := min(len(w.initial), initialBatch)
	for _, kv := range w.initial[:n] {
		obj, err := w.store.selected(w.selection, kv)
		if err != nil {
			return err
		}
		if obj != nil {
			w.events = append(w.events, Event{Type: watch.Added, Object: obj})
		}
	}
	w.initial = w.initial[n:]
	return nil
}

func (w *storeWatch) bookmark(version uint64, initialEnd bool) error {
	e, err := NewBookmark(w.store.opts.NewFunc(), version, initialEnd)
	if err != nil {
		return err
	}
	w.told = version
	w.events = append(w.events, e)
	return nil
}

// change appends the event that a change is for this watch, if it is one: what
// starts to match is added, and what stops to match is deleted, with the content
// it had and the version of the change.
func (w *storeWatch) change(c BackendChange) error {
	var now, before runtime.Object
	var err error
	if !c.Deleted {
		if now, err = w.store.selected(w.selection, c.KeyValue); err != nil {
			return err
		}
	}
	// The content of the state before matters only for selectors and deletes.
	existed := c.Previous != nil
	if existed && (now == nil || w.selection.ByContent()) {
		old := *c.Previous
		old.Revision = c.Revision
		if before, err = w.store.selected(w.selection, old); err != nil {
			return err
		}
		existed = before != nil
	}
	switch {
	case now != nil && existed:
		w.events = append(w.events, Event{Type: watch.Modified, Object: now})
	case now != nil:
		w.events = append(w.events, Event{Type: watch.Added, Object: now})
	case existed:
		w.events = append(w.events, Event{Type: watch.Deleted, Object: before})
	default:
		return nil
	}
	w.told = c.Revision
	return nil
}

// Stop implements [Watch].
func (w *storeWatch) Stop() {
	w.mu.Lock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	if w.backend != nil {
		w.backend.Stop()
	}
}

// Advance implements [Follower].
func (w *storeWatch) Advance(ctx context.Context, _ uint64) error {
	return w.store.backend.RequestProgress(ctx, w.store.prefix+w.selection.scope())
}

// Delivered implements [Follower].
func (w *storeWatch) Delivered() uint64 { return w.delivered.Load() }

func (w *storeWatch) isStopped() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stopped
}

// remindLater asks the backend for progress when the next bookmark is due. The
// answer comes by Next, so that it cannot overtake an event. The timer ends with
// the context.
func (w *storeWatch) remindLater() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || w.ctx.Err() != nil {
		return
	}
	now := time.Now()
	deadline, _ := w.ctx.Deadline()
	w.timer = time.AfterFunc(NextBookmark(now, deadline).Sub(now), func() {
		// The only thing lost with an error is a bookmark, and a backend that
		// is broken says so in the watch.
		_ = w.store.backend.RequestProgress(w.ctx, w.store.prefix+w.selection.scope())
		w.remindLater()
	})
}
