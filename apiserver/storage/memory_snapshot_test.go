package storage

import (
	"errors"
	"io"
	"testing"

	"heliograph.example/apiserver/storage/history"
)

func TestRestoreGoesBackToTheStateAndRevisionOfASnapshot(t *testing.T) {
	m := NewMemory()
	put(t, m, "/a", "1")
	put(t, m, "/b", "1")
	snapshot := m.Snapshot()
	if snapshot.Revision() != 3 {
		t.Fatalf("the snapshot is of revision %d", snapshot.Revision())
	}
	put(t, m, "/a", "2")
	put(t, m, "/c", "1")
	pending := watchMemory(t, m, "/", 4)
	quiet := watchMemory(t, m, "/", 5)
	for range 2 { // a snapshot can be restored more than once
		if err := m.Restore(snapshot); err != nil {
			t.Fatal(err)
		}
		if kv, err := m.Get(t.Context(), "/a"); err != nil || string(kv.Value) != "1" || kv.Revision != 2 {
			t.Errorf("a is %+v, %v", kv, err)
		}
		r, err := m.List(t.Context(), "/", RangeOptions{})
		if err != nil || len(r.Items) != 2 || r.Revision != 3 {
			t.Errorf("list: %+v, %v", r, err)
		}
		var future *history.FutureError
		if _, err := m.List(t.Context(), "/", RangeOptions{Revision: 4}); !errors.As(err, &future) {
			t.Errorf("a list at a lost revision: %v", err)
		}
		var compacted *history.CompactedError
		if _, err := m.List(t.Context(), "/", RangeOptions{Revision: 2}); !errors.As(err, &compacted) {
			t.Errorf("a list at a revision before the snapshot: %v", err)
		}
		after := watchMemory(t, m, "/", 3)
		if revision := put(t, m, "/d", "1"); revision != 4 {
			t.Errorf("the next write has revision %d", revision)
		}
		if b, err := after.Next(); err != nil || len(b.Changes) != 1 || b.Changes[0].Key != "/d" {
			t.Errorf("a new watch tells %+v, %v", b, err)
		}
	}
	for name, w := range map[string]BackendWatch{"pending": pending, "quiet": quiet} {
		if b, err := w.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("a %s watch from before: %+v, %v", name, b, err)
		}
	}
	if err := m.Restore(nil); !errors.Is(err, ErrInvalidOptions) {
		t.Errorf("no snapshot: %v", err)
	}
	if err := m.Restore(&Snapshot{}); !errors.Is(err, ErrInvalidOptions) {
		t.Errorf("an empty snapshot: %v", err)
	}
}

func TestASnapshotRestoresIntoAnotherMemory(t *testing.T) {
	m, other := NewMemory(), NewMemory()
	put(t, m, "/a", "1")
	if err := other.Restore(m.Snapshot()); err != nil {
		t.Fatal(err)
	}
	put(t, other, "/a", "2")
	put(t, other, "/b", "1")
	if r, err := m.List(t.Context(), "/", RangeOptions{}); err != nil || len(r.Items) != 1 || string(r.Items[0].Value) != "1" {
		t.Errorf("the first has %+v, %v", r, err)
	}
	if r, err := other.List(t.Context(), "/", RangeOptions{}); err != nil || len(r.Items) != 2 || string(r.Items[0].Value) != "2" {
		t.Errorf("the second has %+v, %v", r, err)
	}
}
