package storage

import (
	"fmt"

	"heliograph.example/apiserver/storage/history"
)

// Snapshot is the state of a [Memory] at one revision, as a backup of etcd keeps
// it. It never changes, and costs the memory of what has changed since.
type Snapshot struct {
	view *history.View[KeyValue]
}

// Revision is the revision of the state; 0 if there is none.
func (s *Snapshot) Revision() uint64 {
	if s == nil || s.view == nil {
		return 0
	}
	return s.view.Revision
}

// Snapshot returns the state as it is now, for [Memory.Restore].
func (m *Memory) Snapshot() *Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Snapshot{m.history.Now()}
}

// Restore goes back in time: state and revision become those of a snapshot, be
// it of this Memory or of another, all history is gone, and all open watches end
// with io.EOF. Revisions that were given after the snapshot are given again, to
// other changes. This is what restoring a backup of etcd does unless its revision
// is bumped (etcdutl snapshot restore). A nil snapshot is an error that wraps
// [ErrInvalidOptions].
func (m *Memory) Restore(s *Snapshot) error {
	if s == nil || s.view == nil {
		return fmt.Errorf("%w: no snapshot to restore", ErrInvalidOptions)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.history.Reset(s.view.Revision)
	for key, kv := range s.view.Prefix("", "") {
		m.history.Load(key, kv)
	}
	for w := range m.watches {
		w.ended = true
		w.wake()
	}
	return nil
}
