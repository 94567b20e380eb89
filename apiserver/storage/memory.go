package storage

import (
	"context"
	"fmt"
	"sync"
	"time"

	"heliograph.example/apiserver/storage/history"
)

// memoryLimits bound the history of [Memory]. kube-apiserver compacts etcd every
// five minutes and thereby keeps five to ten minutes; the counts keep a busy
// test from filling the memory, and a short burst from cutting off a watch.
var memoryLimits = history.Limits{Min: 10_000, Max: 100_000, Age: 5 * time.Minute}

// Memory is a [Backend] in memory. It compacts itself: it remembers the last
// 10,000 changes in any case, up to 100,000 while they are younger than five
// minutes, and forgets older ones as new ones come. It needs no closing.
type Memory struct {
	mu      sync.Mutex
	history *history.History[KeyValue]
	watches map[*memoryWatch]struct{}
}

// NewMemory returns an empty backend. Its first revision is 1, that of an empty
// etcd.
func NewMemory() *Memory {
	return &Memory{
		history: history.New[KeyValue](1, memoryLimits),
		watches: make(map[*memoryWatch]struct{}),
	}
}

var _ Backend = (*Memory)(nil)

// Get implements [Backend].
func (m *Memory) Get(ctx context.Context, key string) (KeyValue, error) {
	if err := ctx.Err(); err != nil {
		return KeyValue{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.get(key), nil
}

func (m *Memory) get(key string) KeyValue {
	if kv := m.history.Get(key); kv != nil {
		return *kv
	}
	return KeyValue{Key: key}
}

// List implements [Backend].
func (m *Memory) List(ctx context.Context, prefix string, opts RangeOptions) (Range, error) {
	if err := ctx.Err(); err != nil {
		return Range{}, err
	}
	view, err := m.view(opts.Revision)
	if err != nil {
		return Range{}, fmt.Errorf("list %s: %w", prefix, err)
	}
	r := Range{Revision: view.Revision}
	for _, kv := range view.Prefix(prefix, opts.Start) {
		if opts.Limit > 0 && len(r.Items) >= opts.Limit {
			r.Remaining++
			continue
		}
		r.Items = append(r.Items, *kv)
	}
	return r, nil
}

func (m *Memory) view(revision uint64) (*history.View[KeyValue], error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if revision == 0 {
		return m.history.Now(), nil
	}
	return m.history.At(revision)
}

// Put implements [Backend].
func (m *Memory) Put(ctx context.Context, key string, value []byte, expected uint64) (KeyValue, bool, error) {
	if err := ctx.Err(); err != nil {
		return KeyValue{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.get(key); old.Revision != expected {
		return old, false, nil
	}
	kv := KeyValue{Key: key, Value: value, Revision: m.history.Revision() + 1}
	m.history.Set(kv.Revision, key, &kv)
	m.tell(key)
	return kv, true, nil
}

// Delete implements [Backend].
func (m *Memory) Delete(ctx context.Context, key string, expected uint64) (KeyValue, bool, error) {
	if err := ctx.Err(); err != nil {
		return KeyValue{}, false, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.get(key); old.Revision != expected || expected == 0 {
		return old, false, nil
	}
	end := KeyValue{Key: key, Revision: m.history.Revision() + 1}
	m.history.Delete(end.Revision, key, &end)
	m.tell(key)
	return end, true, nil
}

// CurrentRevision implements [Backend].
func (m *Memory) CurrentRevision(ctx context.Context) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.history.Revision(), ctx.Err()
}

// CompactRevision implements [Backend].
func (m *Memory) CompactRevision(ctx context.Context) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.history.Floor(), ctx.Err()
}

// Compact implements [Backend]. It also raises the revision by one, without a
// change: kube-apiserver's compactor writes a key of its own each time, which is
// why resource versions grow on a quiet cluster, too.
func (m *Memory) Compact(ctx context.Context, revision uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.history.Compact(revision); err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	m.history.Advance(m.history.Revision() + 1)
	for w := range m.watches {
		if w.pending && w.next < m.history.First() {
			w.wake()
		}
	}
	return nil
}

// RequestProgress implements [Backend].
func (m *Memory) RequestProgress(ctx context.Context, prefix string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for w := range m.watches {
		if w.prefix == prefix {
			w.progress = true
			w.wake()
		}
	}
	return nil
}
