package indexer

import (
	"fmt"
	"testing"
)

func TestValuesThatStayAreNotStoredAgain(t *testing.T) {
	s, err := New(things)
	if err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, "a", &thing{color: "red", values: []string{"y", "x"}})
	before := s.items[named("a")].values
	mustPut(t, s, "a", &thing{color: "red", values: []string{"x", "y", "x"}})
	after := s.items[named("a")].values
	if &before[0] != &after[0] || &before[1][0] != &after[1][0] {
		t.Error("a new version with the same values made new slices")
	}
	mustPut(t, s, "a", &thing{color: "blue", values: []string{"x", "y"}})
	after = s.items[named("a")].values
	if &before[0] == &after[0] || before[0][0] != "red" || &before[1][0] != &after[1][0] {
		t.Error("a new version must share the values of the other index, and leave those of the old version")
	}
}

func TestALargeTransactionLeavesNoMemoryBehind(t *testing.T) {
	s, err := New(things)
	if err != nil {
		t.Fatal(err)
	}
	fill := func(n int) {
		s.Update(func(tx Tx[*thing]) {
			for i := range n {
				if err := tx.Put(entry(fmt.Sprint(i), &thing{})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	fill(scratchSize + 1)
	if s.scratch.writes != nil || s.scratch.at != nil {
		t.Errorf("memory for %d writes is kept", cap(s.scratch.writes))
	}
	fill(scratchSize)
	if cap(s.scratch.writes) < scratchSize {
		t.Error("the memory of a small transaction is not kept")
	}
	for _, w := range s.scratch.writes[:cap(s.scratch.writes)] {
		if w.entry != nil || w.values != nil || w.item != nil {
			t.Fatalf("the write of %v is still held", w.key)
		}
	}
	if len(s.scratch.at) != 0 {
		t.Errorf("the places of %d writes are still held", len(s.scratch.at))
	}
}

func TestTheMemoryOfABurstIsGivenBackAfterAFewSmallTransactions(t *testing.T) {
	s, err := New(things)
	if err != nil {
		t.Fatal(err)
	}
	s.Update(func(tx Tx[*thing]) {
		for i := range scratchSize {
			if err := tx.Put(entry(fmt.Sprint(i), &thing{})); err != nil {
				t.Error(err)
			}
		}
	})
	for range scratchPatience - 1 {
		mustPut(t, s, "a", &thing{})
		if cap(s.scratch.writes) < scratchSize {
			t.Fatal("the memory was given back at once")
		}
	}
	mustPut(t, s, "a", &thing{})
	if s.scratch.writes != nil || s.scratch.at != nil {
		t.Errorf("memory for %d writes is kept", cap(s.scratch.writes))
	}
}

func TestATransactionThatPanicsLeavesNoMarkOnWhatItWrote(t *testing.T) {
	s, err := New(things)
	if err != nil {
		t.Fatal(err)
	}
	mustPut(t, s, "held", &thing{color: "red"})
	func() {
		defer func() { _ = recover() }()
		s.Update(func(tx Tx[*thing]) {
			tx.Delete(named("held"))
			if err := tx.Put(entry("new", &thing{color: "blue"})); err != nil {
				t.Error(err)
			}
			panic("on purpose")
		})
	}()
	s.Update(func(tx Tx[*thing]) {
		// Another key first, so that marks which were left would lead to it.
		if err := tx.Put(entry("other", &thing{color: "green"})); err != nil {
			t.Error(err)
		}
		if e, ok := tx.Entry(named("held")); !ok || e.Object.color != "red" {
			t.Errorf("held is %v, %v", e, ok)
		}
		if e, ok := tx.Entry(named("new")); ok {
			t.Errorf("new is %v", e)
		}
		if err := tx.Put(entry("held", &thing{color: "black"})); err != nil {
			t.Error(err)
		}
	})
	for name, color := range map[string]string{"held": "black", "other": "green"} {
		if obj, ok := s.Get(named(name)); !ok || obj.color != color {
			t.Errorf("%s is %v, %v, want %s", name, obj, ok, color)
		}
	}
}
