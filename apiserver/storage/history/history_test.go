package history

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// state collects a view as a map.
func state(v *View[int]) map[string]int {
	m := map[string]int{}
	for k, p := range v.Prefix("", "") {
		m[k] = *p
	}
	return m
}

func TestEveryStateWithinReachIsTheOneThatWas(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		h := New[int](5, Limits{Min: 100, Max: 300, Age: time.Hour})
		h.keep = 1 + rnd.IntN(100) // so that states before, between and after kept ones are asked for
		now := map[string]int{}
		was := map[uint64]map[string]int{}
		for i := range rnd.IntN(5) {
			k := fmt.Sprint("loaded", i)
			h.Load(k, &i)
			now[k] = i
		}
		was[5] = maps.Clone(now)
		revision := uint64(5)
		for i := range 1000 {
			revision += 1 + rnd.Uint64N(3)
			key := fmt.Sprint("k", rnd.IntN(30))
			switch n := rnd.IntN(100); {
			case n < 60:
				before, had := now[key]
				c := h.Set(revision, key, &i)
				if had != (c.Before != nil) || had && *c.Before != before {
					t.Fatalf("seed %d: the change of %s does not hold what was before", seed, key)
				}
				now[key] = i
			case n < 90:
				_, had := now[key]
				if c := h.Delete(revision, key, nil); had != (c != nil) {
					t.Fatalf("seed %d: the delete of %s: %v, but it existed: %v", seed, key, c, had)
				} else if c == nil {
					revision = h.Revision()
				}
				delete(now, key)
			case n < 98:
				h.Advance(revision)
			default:
				revision = h.Revision()
				if err := h.Compact(h.Floor() + rnd.Uint64N(revision-h.Floor()+1)); err != nil {
					t.Fatal(err)
				}
			}
			was[revision] = maps.Clone(now)
			check(t, seed, h, was, rnd)
		}
	}
}

func check(t *testing.T, seed uint64, h *History[int], was map[uint64]map[string]int, rnd *rand.Rand) {
	t.Helper()
	at := rnd.Uint64N(h.Revision() + 2)
	v, err := h.At(at)
	var compacted *CompactedError
	var future *FutureError
	switch {
	case at < h.Floor():
		if !errors.As(err, &compacted) || compacted.Compacted != h.Floor() {
			t.Fatalf("seed %d: at %d below the floor %d: %v", seed, at, h.Floor(), err)
		}
		return
	case at > h.Revision():
		if !errors.As(err, &future) || future.Current != h.Revision() {
			t.Fatalf("seed %d: at %d above %d: %v", seed, at, h.Revision(), err)
		}
		return
	case err != nil:
		t.Fatalf("seed %d: at %d: %v", seed, at, err)
	}
	want, known := was[at]
	for r := at; !known; want, known = was[r] {
		r--
	}
	if got := state(v); !maps.Equal(got, want) || v.Revision != at || v.Len() != len(want) {
		t.Fatalf("seed %d: at %d: %v, want %v", seed, at, got, want)
	}
	replay(t, seed, h, at, want)
}

// replay applies the changes after a state and expects the newest.
func replay(t *testing.T, seed uint64, h *History[int], from uint64, state0 map[string]int) {
	t.Helper()
	got := maps.Clone(state0)
	last := from
	buf := make([]*Change[int], 7)
	for seq := h.After(from); ; {
		read, ok := h.Read(seq, buf)
		if !ok {
			t.Fatalf("seed %d: changes after %d fell off although the floor is %d", seed, from, h.Floor())
		}
		if len(read) == 0 {
			break
		}
		seq += uint64(len(read))
		for _, c := range read {
			if c.Revision <= last {
				t.Fatalf("seed %d: change %d after %d", seed, c.Revision, last)
			}
			last = c.Revision
			if c.Deleted {
				delete(got, c.Key)
			} else {
				got[c.Key] = *c.After
			}
		}
	}
	if want := state(h.Now()); !maps.Equal(got, want) {
		t.Fatalf("seed %d: replayed from %d: %v, want %v", seed, from, got, want)
	}
}

func TestLimitsKeepAMinimumAndThenWhatIsYoung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New[int](0, Limits{Min: 100, Max: 400, Age: time.Minute})
		revision := uint64(0)
		write := func(n int) uint64 {
			for range n {
				revision++
				h.Set(revision, "k", new(int))
			}
			return h.Next() - h.First()
		}
		if n := write(300); n != 300 {
			t.Errorf("kept %d young changes of 300", n)
		}
		if n := write(1000); n < 400 || n > 400+trimEvery {
			t.Errorf("kept %d changes, want no more than the maximum of 400", n)
		}
		time.Sleep(time.Hour)
		if n := h.Next() - h.First(); n < 400 {
			t.Errorf("kept %d changes after an hour without a change", n)
		}
		if n := write(trimEvery); n < 100 || n > 100+trimEvery {
			t.Errorf("kept %d changes, want the minimum of 100", n)
		}
	})
}

func TestAReaderFallsOffWhenItsPlaceIsForgotten(t *testing.T) {
	h := New[int](1, Limits{Min: 10, Max: 10})
	seq := h.Next()
	h.Set(2, "a", new(int))
	h.Set(3, "a", new(int))
	if err := h.Compact(2); err != nil {
		t.Fatal(err)
	}
	if _, ok := h.Read(seq, make([]*Change[int], 1)); ok {
		t.Error("a place before the floor can still be read")
	}
	if read, ok := h.Read(seq+1, make([]*Change[int], 2)); !ok || len(read) != 1 || read[0].Revision != 3 {
		t.Errorf("the place after the floor gave %v, %v", read, ok)
	}
	at := h.Next()
	h.Reset(1)
	if _, ok := h.Read(at, make([]*Change[int], 1)); ok {
		t.Error("a place from before a reset can still be read")
	}
}

func TestAViewDoesNotSeeLaterChanges(t *testing.T) {
	h := New[int](1, Limits{Min: 1000, Max: 1000})
	for i := range 500 {
		h.Set(uint64(i+2), fmt.Sprintf("%03d", i), &i)
	}
	v := h.Now()
	want := state(v)
	for i := range 500 {
		h.Delete(uint64(i+502), fmt.Sprintf("%03d", i), nil)
	}
	if !maps.Equal(state(v), want) {
		t.Error("a view changed after it was taken")
	}
	if h.Len() != 0 {
		t.Errorf("%d keys are left", h.Len())
	}
}

func TestWhoAsksIsToldOfEachChangeThatFallsOutOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New[int](0, Limits{Min: 100, Max: 200, Age: time.Hour})
		var dropped []uint64
		h.Dropped = func(c *Change[int]) { dropped = append(dropped, c.Revision) }
		for i := range 1000 {
			h.Set(uint64(i+1), fmt.Sprint(i%7), &i)
		}
		if err := h.Compact(900); err != nil {
			t.Fatal(err)
		}
		if len(dropped) != 900 {
			t.Errorf("told of %d changes, want 900", len(dropped))
		}
		h.Reset(5)
		if len(dropped) != 1000 {
			t.Errorf("told of %d changes after a reset, want 1000", len(dropped))
		}
		for i, revision := range dropped {
			if revision != uint64(i+1) {
				t.Fatalf("change %d has revision %d", i, revision)
			}
		}
	})
}
