package indexer

import (
	"errors"
	"runtime"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func testOwnWrites(t *testing.T, create newStore) {
	s := makeStore(t, create, things)
	mustPut(t, s, "a", &thing{id: 1, values: []string{"x"}})
	mustPut(t, s, "d", &thing{id: 4, values: []string{"x", "y"}})
	want := func(tx Tx[*thing], name string, id int) {
		t.Helper()
		e, ok := tx.Entry(named(name))
		if ok != (id != 0) || ok && (e.Object.id != id || e.Key != named(name)) {
			t.Errorf("the transaction has %v, %v under %s; want id %d", e, ok, name, id)
		}
	}
	s.Update(func(tx Tx[*thing]) {
		want(tx, "a", 1)
		want(tx, "b", 0)
		for _, e := range []Entry[*thing]{
			entryOf("a", &thing{id: 10, values: []string{"y"}}),
			entryOf("b", &thing{id: 20, values: []string{"x"}}),
			entryOf("b", &thing{id: 21, values: []string{"y", "z"}}),
			entryOf("c", &thing{id: 30, values: []string{"x"}}),
		} {
			if err := tx.Put(e); err != nil {
				t.Error(err)
			}
			want(tx, e.Key.Name, e.Object.id)
		}
		tx.Delete(named("c"))
		want(tx, "c", 0)
		tx.Delete(named("d"))
		if err := tx.Put(entryOf("d", &thing{id: 40, values: []string{"x"}})); err != nil {
			t.Error(err)
		}
		want(tx, "d", 40)
	})
	if got := ids(s.List()); !slices.Equal(got, []int{10, 21, 40}) || s.Len() != 3 {
		t.Errorf("List has %v, Len is %d", got, s.Len())
	}
	wantIndex(t, s, "values", "x", 40)
	wantIndex(t, s, "values", "y", 10, 21)
	wantIndex(t, s, "values", "z", 21)
}

func testNotSeenBefore(t *testing.T, create newStore) {
	s := makeStore(t, create, things)
	mustPut(t, s, "a", &thing{id: 1, values: []string{"x"}})
	s.Update(func(tx Tx[*thing]) {
		if err := tx.Put(entryOf("b", &thing{id: 2, values: []string{"x"}})); err != nil {
			t.Error(err)
		}
		tx.Delete(named("a"))
		tx.SetVersion("9")
		wantIndex(t, s, "values", "x", 1)
		if _, ok := s.Get(named("b")); ok || s.Len() != 1 || s.Version() != "" {
			t.Errorf("within: Get finds it: %v, Len is %d, Version is %q", ok, s.Len(), s.Version())
		}
	})
	wantIndex(t, s, "values", "x", 2)
	if s.Version() != "9" {
		t.Errorf("after: Version is %q", s.Version())
	}
}

func testPanickingTransaction(t *testing.T, create newStore) {
	s := makeStore(t, create, things)
	mustPut(t, s, "a", &thing{id: 1, values: []string{"x"}})
	writeAnd := func(end func()) func(Tx[*thing]) {
		return func(tx Tx[*thing]) {
			if err := tx.Put(entryOf("b", &thing{id: 2, values: []string{"x"}})); err != nil {
				t.Error(err)
			}
			tx.Delete(named("a"))
			tx.SetVersion("9")
			end()
		}
	}
	func() {
		defer func() {
			if v := recover(); v != "halt" {
				t.Errorf("recovered %v, want the panic of the transaction", v)
			}
		}()
		s.Update(writeAnd(func() { panic("halt") }))
	}()
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Update(writeAnd(runtime.Goexit))
	}()
	<-done
	wantIndex(t, s, "values", "x", 1)
	if s.Len() != 1 || s.Version() != "" {
		t.Errorf("Len is %d, Version is %q", s.Len(), s.Version())
	}
	mustPut(t, s, "c", &thing{id: 3})
	if got := ids(s.List()); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("after another transaction List has %v", got)
	}
}

func testEndedTransaction(t *testing.T, create newStore) {
	s := makeStore(t, create, things)
	var ended Tx[*thing]
	s.Update(func(tx Tx[*thing]) { ended = tx })
	mustPut(t, s, "a", &thing{id: 1})
	s.Update(func(Tx[*thing]) {
		if err := ended.Put(entryOf("b", &thing{id: 2})); !errors.Is(err, ErrTxDone) {
			t.Errorf("Put = %v, want ErrTxDone", err)
		}
		if _, ok := ended.Delete(named("a")); ok {
			t.Error("Delete found something")
		}
		if _, ok := ended.Entry(named("a")); ok {
			t.Error("Entry found something")
		}
		ended.Expect([]types.NamespacedName{named("a")})
		ended.SetVersion("9")
	})
	if got := ids(s.List()); !slices.Equal(got, []int{1}) || s.Version() != "" {
		t.Errorf("List has %v, Version is %q", got, s.Version())
	}
}

func testVersion(t *testing.T, create newStore) {
	s := makeStore(t, create, nil)
	s.Update(func(tx Tx[*thing]) {
		tx.SetVersion("4")
		tx.SetVersion("5")
	})
	mustPut(t, s, "a", &thing{})
	if got := s.Version(); got != "5" {
		t.Errorf("Version is %q, want 5", got)
	}
	s.Update(func(tx Tx[*thing]) { tx.SetVersion("") })
	if got := s.Version(); got != "" {
		t.Errorf("Version is %q after it was set to nothing", got)
	}
}

// If a lock were held, this would not end.
func testNoLocks(t *testing.T, create newStore) {
	var s store
	reads := 0
	read := Index[*thing]{Values: func(*thing, []string) ([]string, error) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			s.Get(named("a"))
			s.List()
			_, _ = s.IndexValues("color")
		}()
		<-done
		reads++
		return nil, nil
	}}
	s = makeStore(t, create, Indexes[*thing]{"color": byColor, "read": read})
	mustPut(t, s, "a", &thing{color: "red"})
	if _, err := s.AddIndexes(Indexes[*thing]{"more": read}); err != nil {
		t.Fatal(err)
	}
	if reads != 2 {
		t.Errorf("%d index functions ran, want 2", reads)
	}
	for range s.All() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := put(s, "b", &thing{}); err != nil {
				t.Error(err)
			}
		}()
		<-done
	}
	if s.Len() != 2 {
		t.Errorf("Len is %d, want 2", s.Len())
	}
}
