package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"heliograph.example/apiserver/storage/history"
)

// put writes without regard to what is there.
func put(t *testing.T, m *Memory, key, value string) uint64 {
	t.Helper()
	old, err := m.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	kv, ok, err := m.Put(t.Context(), key, []byte(value), old.Revision)
	if err != nil || !ok {
		t.Fatalf("put %s: %v, %v", key, ok, err)
	}
	return kv.Revision
}

func watchMemory(t *testing.T, m *Memory, prefix string, after uint64) BackendWatch {
	t.Helper()
	w, err := m.Watch(t.Context(), prefix, after)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

func TestAWriteHappensOnlyAtTheExpectedRevision(t *testing.T) {
	m := NewMemory()
	kv, ok, err := m.Put(t.Context(), "/a", []byte("1"), 0)
	if err != nil || !ok || kv.Revision != 2 {
		t.Fatalf("first put: %v, %v, %v", kv, ok, err)
	}
	for _, expected := range []uint64{0, 1, 3} {
		if kv, ok, err := m.Put(t.Context(), "/a", []byte("2"), expected); ok || err != nil || string(kv.Value) != "1" {
			t.Errorf("put at %d: %v, %v, %v", expected, kv, ok, err)
		}
		if kv, ok, err := m.Delete(t.Context(), "/a", expected); ok || err != nil || string(kv.Value) != "1" {
			t.Errorf("delete at %d: %v, %v, %v", expected, kv, ok, err)
		}
	}
	if _, ok, _ := m.Delete(t.Context(), "/none", 0); ok {
		t.Error("what does not exist was deleted")
	}
	if kv, ok, err := m.Delete(t.Context(), "/a", 2); !ok || err != nil || kv.Revision != 3 {
		t.Errorf("delete: %v, %v, %v", kv, ok, err)
	}
}

func TestAListCountsWhatRemainsAtItsRevision(t *testing.T) {
	m := NewMemory()
	for i := range 10 {
		put(t, m, fmt.Sprintf("/r/%d", i), "x")
	}
	put(t, m, "/s/0", "x")
	r, err := m.List(t.Context(), "/r/", RangeOptions{Start: "/r/3", Limit: 4, Revision: 9})
	if err != nil {
		t.Fatal(err)
	}
	// At revision 9 there were the keys 0 to 7.
	if len(r.Items) != 4 || r.Items[0].Key != "/r/3" || r.Items[3].Key != "/r/6" || r.Remaining != 1 || r.Revision != 9 {
		t.Errorf("range %+v", r)
	}
	var future *history.FutureError
	if _, err := m.List(t.Context(), "/r/", RangeOptions{Revision: 100}); !errors.As(err, &future) || future.Current != 12 {
		t.Errorf("a future revision: %v", err)
	}
}

func TestCompactForgetsAndMovesTheRevision(t *testing.T) {
	m := NewMemory()
	first := put(t, m, "/a", "1")
	second := put(t, m, "/a", "2")
	if err := m.Compact(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if now, _ := m.CurrentRevision(t.Context()); now != second+1 {
		t.Errorf("revision %d after compaction, want %d", now, second+1)
	}
	var compacted *history.CompactedError
	if _, err := m.List(t.Context(), "/", RangeOptions{Revision: first}); !errors.As(err, &compacted) || compacted.Compacted != second {
		t.Errorf("list at a compacted revision: %v", err)
	}
	if _, err := m.Watch(t.Context(), "/", first); !errors.As(err, &compacted) {
		t.Errorf("watch from a compacted revision: %v", err)
	}
	if r, err := m.List(t.Context(), "/", RangeOptions{Revision: second}); err != nil || string(r.Items[0].Value) != "2" {
		t.Errorf("list at the revision of the compaction: %v, %v", r, err)
	}
	w := watchMemory(t, m, "/", second)
	third := put(t, m, "/a", "3")
	if b, err := w.Next(); err != nil || len(b.Changes) != 1 || b.Changes[0].Revision != third || string(b.Changes[0].Previous.Value) != "2" {
		t.Errorf("watch from the revision of the compaction: %+v, %v", b, err)
	}
	if err := m.Compact(t.Context(), 1000); err == nil {
		t.Error("the future was compacted")
	}
}

func TestAWatchTellsEveryChangeOfItsPrefixOnce(t *testing.T) {
	m := NewMemory()
	w := watchMemory(t, m, "/a/", 1)
	var want []uint64
	for i := range 500 {
		put(t, m, fmt.Sprintf("/b/%d", i), "x")
		want = append(want, put(t, m, fmt.Sprintf("/a/%d", i%7), fmt.Sprint(i)))
	}
	old, _ := m.Get(t.Context(), "/a/3")
	end, _, _ := m.Delete(t.Context(), "/a/3", old.Revision)
	want = append(want, end.Revision)
	var last BackendChange
	for len(want) > 0 {
		b, err := w.Next()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range b.Changes {
			if c.Revision != want[0] {
				t.Fatalf("told of revision %d, want %d", c.Revision, want[0])
			}
			want, last = want[1:], c
		}
	}
	if !last.Deleted || last.Value != nil || last.Previous == nil || last.Previous.Revision != old.Revision {
		t.Errorf("the delete was told as %+v", last)
	}
}

func TestAQuietWatchOutlivesCompactionAndASlowOneDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		quiet := watchMemory(t, m, "/quiet/", 1)
		slow := watchMemory(t, m, "/busy/", 1)
		for range 300 {
			put(t, m, "/busy/x", "x")
		}
		now, _ := m.CurrentRevision(t.Context())
		if err := m.Compact(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		var compacted *history.CompactedError
		if _, err := slow.Next(); !errors.As(err, &compacted) {
			t.Errorf("the slow watch: %v", err)
		}
		revision := put(t, m, "/quiet/x", "x")
		if b, err := quiet.Next(); err != nil || len(b.Changes) != 1 || b.Changes[0].Revision != revision {
			t.Errorf("the quiet watch: %+v, %v", b, err)
		}
	})
}

func TestProgressComesAfterWhatItCovers(t *testing.T) {
	m := NewMemory()
	w := watchMemory(t, m, "/a/", 1)
	other := watchMemory(t, m, "/a", 1)
	for range 200 {
		put(t, m, "/a/x", "x")
	}
	now := put(t, m, "/b", "x")
	if err := m.RequestProgress(t.Context(), "/a/"); err != nil {
		t.Fatal(err)
	}
	seen := uint64(0)
	for {
		b, err := w.Next()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range b.Changes {
			seen = c.Revision
		}
		if b.Progress != 0 {
			if b.Progress != now || seen != now-1 {
				t.Errorf("progress %d after %d, want %d after %d", b.Progress, seen, now, now-1)
			}
			break
		}
	}
	if b, err := other.Next(); err != nil || b.Progress != 0 {
		t.Errorf("a watch of another prefix was told of progress: %v, %v", b.Progress, err)
	}
}

func TestAWatchOfMemoryEndsByStopAndByItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMemory()
		ctx, cancel := context.WithCancel(t.Context())
		stopped, err := m.Watch(ctx, "/", 1)
		if err != nil {
			t.Fatal(err)
		}
		canceled, err := m.Watch(ctx, "/", 1)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, stopped.Stop)
		if _, err := stopped.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("after Stop: %v", err)
		}
		time.AfterFunc(time.Second, cancel)
		if _, err := canceled.Next(); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of the context: %v", err)
		}
		synctest.Wait()
		if len(m.watches) != 0 {
			t.Errorf("%d ended watches are still told of changes", len(m.watches))
		}
		if _, err := m.Watch(ctx, "/", 1); !errors.Is(err, context.Canceled) {
			t.Errorf("a watch with an ended context: %v", err)
		}
		if _, err := m.Get(ctx, "/a"); !errors.Is(err, context.Canceled) {
			t.Errorf("a get with an ended context: %v", err)
		}
		if _, _, err := m.Put(ctx, "/a", nil, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("a put with an ended context: %v", err)
		}
	})
}

func TestMemoryBoundsItsHistory(t *testing.T) {
	m := NewMemory()
	m.history = history.New[KeyValue](1, history.Limits{Min: 100, Max: 200, Age: time.Hour})
	for range 5000 {
		put(t, m, "/a", "x")
	}
	floor, _ := m.CompactRevision(t.Context())
	now, _ := m.CurrentRevision(t.Context())
	if kept := now - floor; kept < 200 || kept > 300 {
		t.Errorf("%d revisions are kept", kept)
	}
}
