package indexer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

const (
	accounts = 24
	total    = 1000
)

// testConcurrency has writers that move amounts between objects, so that only
// whole transactions keep the sum, and readers that check it in every way to
// read. In the middle indexes are added.
func testConcurrency(t *testing.T, create newStore) {
	s := makeStore(t, create, Indexes[*thing]{
		"everything": func(*thing) ([]string, error) { return []string{"all"}, nil },
		"color":      colorOf,
	})
	s.Update(func(tx Tx[*thing]) {
		for i := range accounts {
			amount := 0
			if i == 0 {
				amount = total
			}
			if err := tx.Put(entry(account(i), &thing{id: i, amount: amount, color: colorFor(amount)})); err != nil {
				t.Error(err)
			}
		}
		tx.SetVersion("0")
	})

	var writers, readers sync.WaitGroup
	var done atomic.Bool
	for seed := range uint64(2) {
		writers.Go(func() { move(t, s, rand.New(rand.NewPCG(seed, 3))) })
	}
	for reader := range 3 {
		readers.Go(func() {
			last := 0
			for !done.Load() && !t.Failed() {
				last = readAll(t, s, reader, last)
			}
		})
	}
	writers.Go(func() { addWhileUsed(t, s) })
	writers.Wait()
	done.Store(true)
	readers.Wait()
	wantSum(t, "in the end", s.List())
}

func account(i int) string { return fmt.Sprint("account-", i) }

func colorFor(amount int) string {
	if amount%2 == 0 {
		return "even"
	}
	return "odd"
}

// move makes transactions of two writes, and some that also delete an empty
// account and put it back.
func move(t *testing.T, s store, r *rand.Rand) {
	for range 1500 {
		from, to := r.IntN(accounts), r.IntN(accounts)
		if from == to {
			continue
		}
		s.Update(func(tx Tx[*thing]) {
			a, _ := tx.Entry(named(account(from)))
			b, _ := tx.Entry(named(account(to)))
			moved := r.IntN(a.Object.amount + 1)
			if r.IntN(4) == 0 {
				tx.Delete(b.Key)
			}
			for e, amount := range map[Entry[*thing]]int{a: a.Object.amount - moved, b: b.Object.amount + moved} {
				e.Object = &thing{id: e.Object.id, amount: amount, color: colorFor(amount)}
				if err := tx.Put(e); err != nil {
					t.Error(err)
				}
			}
			version, err := strconv.Atoi(s.Version())
			if err != nil {
				t.Error(err)
			}
			tx.SetVersion(strconv.Itoa(version + 1))
		})
	}
}

func wantSum(t *testing.T, how string, objs []*thing) {
	t.Helper()
	sum := 0
	for _, o := range objs {
		sum += o.amount
	}
	if sum != total || len(objs) != accounts {
		t.Errorf("%s: the sum of %d objects is %d, want %d of %d", how, len(objs), sum, total, accounts)
	}
}

// readAll reads in every way and returns the newest version seen.
func readAll(t *testing.T, s store, reader, last int) int {
	version, err := strconv.Atoi(s.Version())
	if err != nil || version < last {
		t.Errorf("reader %d: version %d (%v) after %d", reader, version, err, last)
	}
	wantSum(t, "List", s.List())
	wantSum(t, "All", slices.Collect(s.All()))
	entries := map[string]*thing{}
	for e := range s.Entries() {
		entries[e.Key.Name] = e.Object
	}
	wantSum(t, "Entries", slices.Collect(maps.Values(entries)))
	objs, err := s.ByIndex("everything", "all")
	if err != nil {
		t.Error(err)
	}
	wantSum(t, "ByIndex", objs)
	seq, err := s.AllByIndex("everything", "all")
	if err != nil {
		t.Error(err)
	}
	wantSum(t, "AllByIndex", slices.Collect(seq))
	if n := s.Len(); n != accounts {
		t.Errorf("Len is %d, want %d", n, accounts)
	}
	for _, color := range []string{"odd", "even"} {
		objs, err := s.ByIndex("color", color)
		if err != nil {
			t.Error(err)
		}
		for _, o := range objs {
			if o.color != color {
				t.Errorf("ByIndex(color, %s) has an object that is %s", color, o.color)
			}
		}
	}
	if o, ok := s.Get(named(account(reader))); !ok || o.id != reader {
		t.Errorf("Get = %v, %v; want the object of id %d", o, ok, reader)
	}
	return version
}

// addWhileUsed adds indexes and checks that each is complete at once and stays
// so.
func addWhileUsed(t *testing.T, s store) {
	for i := range 10 {
		name := fmt.Sprint("added-", i)
		failed, err := s.AddIndexes(Indexes[*thing]{
			name: func(*thing) ([]string, error) { return []string{"all"}, nil },
		})
		if err != nil || failed != nil {
			t.Errorf("AddIndexes = %v, %v", failed, err)
		}
		for j := range i + 1 {
			objs, err := s.ByIndex(fmt.Sprint("added-", j), "all")
			if err != nil {
				t.Error(err)
			}
			wantSum(t, "an added index", objs)
		}
	}
}
