package storage

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"heliograph.example/apiserver/storage/history"
)

// memoryBatch is the number of changes a watch looks at under the lock at once.
const memoryBatch = 64

// memoryWatch is a cursor on the history of a Memory. It has no goroutine and
// no queue. Its fields next, pending, progress and ended belong to the lock of
// the Memory.
type memoryWatch struct {
	memory *Memory
	ctx    context.Context
	prefix string
	after  uint64

	// pending says that the history holds changes for this watch at next or
	// later. While it is false nothing is owed, and compaction does no harm
	// however quiet the prefix is.
	pending  bool
	next     uint64
	progress bool
	// ended says that the history it reads has been replaced.
	ended bool

	signal   chan struct{}
	stopped  chan struct{}
	stopOnce sync.Once
	release  func() bool

	read    []*history.Change[KeyValue]
	changes []BackendChange
}

// Watch implements [Backend].
func (m *Memory) Watch(ctx context.Context, prefix string, after uint64) (BackendWatch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if floor := m.history.Floor(); after < floor {
		return nil, fmt.Errorf("watch %s: %w", prefix, &history.CompactedError{Revision: after, Compacted: floor})
	}
	w := &memoryWatch{
		memory: m, ctx: ctx, prefix: prefix, after: after,
		next:    m.history.After(after),
		signal:  make(chan struct{}, 1),
		stopped: make(chan struct{}),
		read:    make([]*history.Change[KeyValue], memoryBatch),
	}
	w.pending = w.next < m.history.Next()
	m.watches[w] = struct{}{}
	w.release = context.AfterFunc(ctx, w.unregister)
	return w, nil
}

// tell wakes the watches that a change of key concerns. The lock is held, and
// the change is the newest of the history.
func (m *Memory) tell(key string) {
	for w := range m.watches {
		if strings.HasPrefix(key, w.prefix) {
			if !w.pending {
				w.pending, w.next = true, m.history.Next()-1
			}
			w.wake()
		}
	}
}

func (w *memoryWatch) wake() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// Next implements [BackendWatch].
func (w *memoryWatch) Next() (Batch, error) {
	for {
		select {
		case <-w.stopped:
			return Batch{}, io.EOF
		default:
		}
		if err := w.ctx.Err(); err != nil {
			return Batch{}, err
		}
		b, more, err := w.collect()
		if err != nil || len(b.Changes) > 0 || b.Progress > 0 {
			return b, err
		}
		if more {
			continue
		}
		select {
		case <-w.signal:
		case <-w.stopped:
		case <-w.ctx.Done():
		}
	}
}

// collect takes the next changes from the history; more says that there are
// more behind them.
func (w *memoryWatch) collect() (b Batch, more bool, err error) {
	h := w.memory.history
	w.memory.mu.Lock()
	if w.ended {
		w.memory.mu.Unlock()
		return Batch{}, false, io.EOF
	}
	if w.pending {
		read, ok := h.Read(w.next, w.read)
		if !ok {
			err := &history.CompactedError{Revision: w.after, Compacted: h.Floor()}
			w.memory.mu.Unlock()
			return Batch{}, false, fmt.Errorf("watch %s: %w", w.prefix, err)
		}
		w.next += uint64(len(read))
		w.pending = w.next < h.Next()
		w.read = w.read[:len(read)]
	} else {
		w.read = w.read[:0]
	}
	if w.progress && !w.pending {
		w.progress, b.Progress = false, h.Revision()
	}
	more = w.pending
	w.memory.mu.Unlock()

	w.changes = w.changes[:0]
	for i, c := range w.read {
		if strings.HasPrefix(c.Key, w.prefix) && c.Revision > w.after {
			w.changes = append(w.changes, BackendChange{KeyValue: *c.After, Previous: c.Before, Deleted: c.Deleted})
			w.after = c.Revision
		}
		w.read[i] = nil
	}
	w.read = w.read[:cap(w.read)]
	b.Changes = w.changes
	return b, more, nil
}

// Stop implements [BackendWatch].
func (w *memoryWatch) Stop() {
	w.stopOnce.Do(func() { close(w.stopped) })
	w.release()
	w.unregister()
}

func (w *memoryWatch) unregister() {
	w.memory.mu.Lock()
	defer w.memory.mu.Unlock()
	delete(w.memory.watches, w)
}
