package indexer

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// stats are those of the store itself.
func stats(s store) Stats { return s.(*Indexer[*thing]).Stats() }

func TestASnapshotAnswersFromItsStateWhateverFollows(t *testing.T) {
	s := makeStore(t, newIndexer, things)
	mustPut(t, s, "a", &thing{id: 1, color: "red"})
	mustPut(t, s, "b", &thing{id: 2, color: "red"})
	s.Update(func(tx Tx[*thing]) { tx.SetVersion("5") })
	snapshot := s.Snapshot()
	remove(s, "a")
	mustPut(t, s, "b", &thing{id: 3, color: "blue"})
	mustPut(t, s, "c", &thing{id: 4, color: "red"})
	s.Update(func(tx Tx[*thing]) { tx.SetVersion("6") })
	if _, err := s.AddIndexes(Indexes[*thing]{"later": byAll}); err != nil {
		t.Fatal(err)
	}

	red, err := snapshot.ByIndex("color", "red")
	if err != nil || !slices.Equal(ids(red), []int{1, 2}) {
		t.Errorf("ByIndex = %v, %v; want 1 and 2", ids(red), err)
	}
	if n, err := snapshot.Count("color", "red"); n != 2 || err != nil {
		t.Errorf("Count = %d, %v; want 2", n, err)
	}
	if o, ok := snapshot.Get(named("b")); !ok || o.id != 2 {
		t.Errorf("Get = %v, %v; want the object of id 2", o, ok)
	}
	if _, ok := snapshot.Get(named("c")); ok || snapshot.Len() != 2 || snapshot.Version() != "5" {
		t.Errorf("Get finds a later object: %v; Len is %d, Version %q", ok, snapshot.Len(), snapshot.Version())
	}
	if _, err := snapshot.ByIndex("later", "all"); !errors.Is(err, ErrUnknownIndex) {
		t.Errorf("ByIndex of an index added later = %v, want ErrUnknownIndex", err)
	}
	snapshot.Close()
	wantSound(t, s)
	if got := stats(s); got.Retained != 0 || got.Snapshots != 0 {
		t.Errorf("after Close: %+v", got)
	}
}

func TestAClosedSnapshotIsEmpty(t *testing.T) {
	s := makeStore(t, newIndexer, things)
	mustPut(t, s, "a", &thing{id: 1, color: "red"})
	snapshot := s.Snapshot()
	other := snapshot.Snapshot()
	seq, err := snapshot.AllByIndex("color", "red")
	if err != nil {
		t.Fatal(err)
	}
	all := snapshot.All()
	snapshot.Close()
	snapshot.Close()
	if got := stats(s).Snapshots; got != 1 {
		t.Errorf("%d snapshots are open, want the other one", got)
	}
	for call, err := range map[string]error{
		"ByIndex":     errorOf(snapshot.ByIndex("color", "red")),
		"AllByIndex":  errorOf(snapshot.AllByIndex("color", "red")),
		"Select":      errorOf(snapshot.Select()),
		"Count":       errorOf(snapshot.Count("color", "red")),
		"IndexKeys":   errorOf(snapshot.IndexKeys("color", "red")),
		"IndexValues": errorOf(snapshot.IndexValues("color")),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s = %v, want ErrClosed", call, err)
		}
	}
	if n := len(slices.Collect(seq)) + len(slices.Collect(all)) + len(snapshot.List()); n != 0 {
		t.Errorf("%d objects were read", n)
	}
	for range snapshot.Entries() {
		t.Error("Entries yields something")
	}
	_, got := snapshot.Get(named("a"))
	_, entry := snapshot.Entry(named("a"))
	if got || entry || snapshot.Len() != 0 || snapshot.Version() != "" || snapshot.Indexes() != nil {
		t.Error("something is left")
	}
	if again := snapshot.Snapshot(); again.Len() != 0 {
		t.Error("a snapshot of a closed snapshot is open")
	}
	if o, ok := other.Get(named("a")); !ok || o.id != 1 {
		t.Errorf("the other snapshot has %v, %v", o, ok)
	}
	other.Close()
	if got := stats(s); got.Snapshots != 0 {
		t.Errorf("after the last Close: %+v", got)
	}
}

func TestASnapshotClosedWithinItsLoopLetsItEnd(t *testing.T) {
	s := makeStore(t, newIndexer, things)
	for i := range 3 {
		mustPut(t, s, fmt.Sprint(i), &thing{id: i})
	}
	snapshot := s.Snapshot()
	seen := []*thing{}
	for o := range snapshot.All() {
		snapshot.Close()
		for i := range 3 {
			mustPut(t, s, fmt.Sprint(i), &thing{id: 10 + i})
		}
		seen = append(seen, o)
	}
	if got := ids(seen); !slices.Equal(got, []int{0, 1, 2}) {
		t.Errorf("the loop saw %v", got)
	}
	if got := stats(s).Retained; got != 0 {
		t.Errorf("%d versions are retained", got)
	}
	wantSound(t, s)
}

// What is kept is bounded by the objects and the states that are looked at, not
// by the number of writes.
func TestAHotKeyKeepsOneVersionForEachOpenSnapshot(t *testing.T) {
	s := makeStore(t, newIndexer, things)
	var open []*Snapshot[*thing]
	write := func() {
		for i := range 1000 {
			mustPut(t, s, "hot", &thing{id: i, color: fmt.Sprint("color ", i%7)})
		}
	}
	write()
	for n := range 3 {
		open = append(open, s.Snapshot())
		write()
		// Short reads at every version must not leave anything between.
		for i := range 1000 {
			short := s.Snapshot()
			mustPut(t, s, "hot", &thing{id: i, color: fmt.Sprint("color ", i%7)})
			short.Close()
		}
		write()
		if got := stats(s).Retained; got != n+1 {
			t.Errorf("%d versions are retained for %d snapshots", got, n+1)
		}
		wantSound(t, s)
	}
	open[1].Close()
	if got := stats(s).Retained; got != 2 {
		t.Errorf("%d versions are retained for 2 snapshots", got)
	}
	open[0].Close()
	open[2].Close()
	if got := stats(s).Retained; got != 0 {
		t.Errorf("%d versions are retained for nobody", got)
	}
	wantSound(t, s)
}

// The writer has looked at the pins when the snapshot is closed, and then nobody
// writes or reads any more.
func TestASnapshotClosedDuringACommitLeavesNothingBehind(t *testing.T) {
	const objects = 2*tidySize + 5
	s := makeStore(t, newIndexer, things)
	for _, color := range []string{"red", "blue"} {
		snapshot := s.Snapshot()
		defer snapshot.Close()
		s.Update(func(tx Tx[*thing]) {
			for i := range objects {
				if err := tx.Put(entryOf(fmt.Sprint(i), &thing{color: color})); err != nil {
					t.Error(err)
				}
			}
		})
		if color == "red" {
			continue
		}
		c := s.(*Indexer[*thing]).core
		tx := c.begin()
		snapshot.Close()
		if got := stats(s).Retained; got != objects {
			t.Errorf("%d versions are retained, want %d", got, objects)
		}
		c.end(tx)
	}
	if got := stats(s); got.Retained != 0 || got.Snapshots != 1 {
		t.Errorf("after the commit: %+v", got)
	}
}

func TestClosingASnapshotCleansUpHoweverMuchThereIs(t *testing.T) {
	const objects = 3*tidySize + 5
	s := makeStore(t, newIndexer, things)
	fill := func(color string) {
		s.Update(func(tx Tx[*thing]) {
			for i := range objects {
				if err := tx.Put(entryOf(fmt.Sprint(i), &thing{color: color})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	fill("red")
	snapshot := s.Snapshot()
	fill("blue")
	if got := stats(s); got.Retained != objects || got.Snapshots != 1 {
		t.Errorf("with a snapshot: %+v", got)
	}
	if n, err := snapshot.Count("color", "red"); n != objects || err != nil {
		t.Errorf("the snapshot counts %d, %v", n, err)
	}
	snapshot.Close()
	if got := stats(s); got.Retained != 0 || got.Snapshots != 0 {
		t.Errorf("without: %+v", got)
	}
	wantSound(t, s)
}

func TestACursorFindsEachEntryOnceWhateverIsWrittenMeanwhile(t *testing.T) {
	s := makeStore(t, newIndexer, things)
	const objects = 500
	for i := range objects {
		mustPut(t, s, fmt.Sprint(i), &thing{id: i})
	}
	snapshot := s.Snapshot()
	cursor := snapshot.Cursor()
	seen := []*thing{}
	for n := 0; ; n++ {
		some := 0
		for e := range cursor.Next(7) {
			some++
			seen = append(seen, e.Object)
		}
		if some > 7 {
			t.Fatalf("%d entries were read, 7 were asked for", some)
		}
		if some == 0 {
			break
		}
		// The table grows, loses what was read and what is yet to be, and gets it
		// back.
		for i := range 20 {
			mustPut(t, s, fmt.Sprint("later", n, i), &thing{id: -1})
		}
		remove(s, fmt.Sprint(n))
		remove(s, fmt.Sprint(objects-1-n))
		mustPut(t, s, fmt.Sprint(n), &thing{id: -2})
	}
	if got := ids(seen); len(got) != objects || got[0] != 0 || len(slices.Compact(got)) != objects {
		t.Errorf("%d entries were read of %d, the first of %d", len(got), objects, got[0])
	}
	snapshot.Close()
	wantSound(t, s)
	for range cursor.Next(7) {
		t.Error("the end was not the end")
	}
	for range snapshot.Cursor().Next(7) {
		t.Error("a closed snapshot has something")
	}
}
