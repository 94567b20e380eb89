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

	"k8s.io/apimachinery/pkg/types"
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
		"everything": byAll,
		"color":      byColor,
	})
	s.Update(func(tx Tx[*thing]) {
		for i := range accounts {
			amount := 0
			if i == 0 {
				amount = total
			}
			if err := tx.Put(entryOf(account(i), &thing{id: i, amount: amount, color: colorFor(amount)})); err != nil {
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
	if n, err := s.Count("everything", "all"); err != nil || n != accounts {
		t.Errorf("Count is %d, %v; want %d", n, err, accounts)
	}
	readColors(t, s)
	if o, ok := s.Get(named(account(reader))); !ok || o.id != reader {
		t.Errorf("Get = %v, %v; want the object of id %d", o, ok, reader)
	}
	return version
}

// readColors reads in several calls that must agree: of a snapshot.
func readColors(t *testing.T, s store) {
	snapshot := s.Snapshot()
	defer snapshot.Close()
	var parts, selected []*thing
	n := 0
	for _, color := range []string{"odd", "even"} {
		objs, err := snapshot.ByIndex("color", color)
		if err != nil {
			t.Error(err)
		}
		for _, o := range objs {
			if o.color != color {
				t.Errorf("ByIndex(color, %s) has an object that is %s", color, o.color)
			}
			if got, ok := snapshot.Get(named(account(o.id))); !ok || got != o {
				t.Errorf("Get = %v, %v; want %v, which ByIndex has", got, ok, o)
			}
		}
		parts = append(parts, objs...)
		seq, err := snapshot.Select(Equal("everything", "all"), Prefix("color", color))
		if err != nil {
			t.Error(err)
		}
		selected = slices.AppendSeq(selected, seq)
		counted, err := snapshot.Count("color", color)
		if err != nil {
			t.Error(err)
		}
		n += counted
	}
	wantSum(t, "ByIndex of both colors", parts)
	wantSum(t, "Select of both colors", selected)
	if n != accounts {
		t.Errorf("Count of both colors is %d", n)
	}
}

// TestReadersSeeWholeTransactionsInTheirOrder has a writer that gives all objects
// of a group the same version at once, and moves them from value to value, while
// others come and go. A reader must see each group whole, and never go back.
func TestReadersSeeWholeTransactionsInTheirOrder(t *testing.T) {
	const groups, size, batches = 4, 32, 500
	s := makeStore(t, newIndexer, things)
	key := func(group, i int) types.NamespacedName {
		return types.NamespacedName{Namespace: fmt.Sprint("group-", group), Name: fmt.Sprint(i)}
	}
	object := func(group, i, version int) *thing {
		return &thing{id: i, amount: version, color: fmt.Sprint("color-", (version+i)%4), values: []string{fmt.Sprint("group-", group)}}
	}
	write := func(tx Tx[*thing], group, version int) {
		for i := range size {
			if err := tx.Put(Entry[*thing]{Key: key(group, i), Object: object(group, i, version)}); err != nil {
				t.Error(err)
			}
		}
	}
	s.Update(func(tx Tx[*thing]) {
		for group := range groups {
			write(tx, group, 0)
		}
	})
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			var last [groups]int
			for n := 0; !done.Load() && !t.Failed(); n++ {
				group := n % groups
				last[group] = readGroup(t, s, key, group, size, last[group])
			}
		})
	}
	random := rand.New(rand.NewPCG(7, 7))
	for version := range batches {
		s.Update(func(tx Tx[*thing]) {
			write(tx, version%groups, version)
			for range 10 {
				k := types.NamespacedName{Namespace: "other", Name: fmt.Sprint(random.IntN(200))}
				if _, held := tx.Delete(k); held {
					continue
				}
				o := &thing{color: fmt.Sprint("color-", random.IntN(4)), values: []string{fmt.Sprint("other-", random.IntN(9))}}
				if err := tx.Put(Entry[*thing]{Key: k, Object: o}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Store(true)
	readers.Wait()
	for range 2 * stats(s).Retained / sweepSize { // calls clean up a little each
		s.Len()
	}
	if got := stats(s); got.Retained != 0 {
		t.Errorf("nobody reads any more, and %d versions are retained", got.Retained)
	}
	wantSound(t, s)
}

// readGroup returns the version that a group has.
func readGroup(t *testing.T, s store, key func(group, i int) types.NamespacedName, group, size, last int) int {
	objs, err := s.ByIndex("values", fmt.Sprint("group-", group))
	if err != nil || len(objs) != size {
		t.Errorf("the group has %d objects, %v; want %d", len(objs), err, size)
		return last
	}
	version := objs[0].amount
	for _, o := range objs {
		if o.amount != version {
			t.Errorf("the group has the versions %d and %d", version, o.amount)
		}
	}
	if version < last {
		t.Errorf("version %d after %d", version, last)
	}
	for i := range size {
		o, ok := s.Get(key(group, i))
		if !ok || o.id != i || o.amount < version {
			t.Errorf("Get = %v, %v; want object %d of version %d or newer", o, ok, i, version)
			return version
		}
		version = o.amount
	}
	return version
}

// addWhileUsed adds indexes and checks that each is complete at once and stays
// so.
func addWhileUsed(t *testing.T, s store) {
	for i := range 10 {
		name := fmt.Sprint("added-", i)
		failed, err := s.AddIndexes(Indexes[*thing]{
			name: byAll,
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

// All but a few objects leave a value and come back, each time in one transaction:
// whoever reads finds the few, or all.
func TestReadersMissNothingWhileABucketShrinksAndGrows(t *testing.T) {
	const all, few = 400, 5
	s := makeStore(t, newIndexer, things)
	recolor := func(from int, color string) {
		s.Update(func(tx Tx[*thing]) {
			for i := from; i < all; i++ {
				if err := tx.Put(entryOf(fmt.Sprint(i), &thing{id: i, color: color})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	recolor(0, "red")
	var readers sync.WaitGroup
	var done atomic.Bool
	for range 2 {
		readers.Go(func() {
			for !done.Load() && !t.Failed() {
				objs, err := s.ByIndex("color", "red")
				seq, seqErr := s.AllByIndex("color", "red")
				if err != nil || seqErr != nil {
					t.Error(err, seqErr)
					return
				}
				looped := len(slices.Collect(seq))
				if n := len(objs); n != all && n != few || looped != all && looped != few {
					t.Errorf("%d and %d objects are red, want %d or %d", n, looped, all, few)
				}
			}
		})
	}
	for range 200 {
		recolor(few, "blue")
		recolor(few, "red")
	}
	done.Store(true)
	readers.Wait()
	wantSound(t, s)
}
