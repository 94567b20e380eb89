package informer

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

type number = Change[int]

func numberKey(n int) types.NamespacedName { return types.NamespacedName{Name: fmt.Sprint(n)} }

func TestFoldingKeepsTheStepFromWhatWasToldToTheNewest(t *testing.T) {
	k := numberKey(1)
	add := func(v int) number { return number{Type: Added, Key: k, New: v} }
	update := func(from, to int) number { return number{Type: Updated, Key: k, Old: from, New: to} }
	del := func(last int) number { return number{Type: Deleted, Key: k, Old: last, New: last + 100} }
	resync := func(v int) number { return number{Type: Updated, Key: k, Old: v, New: v, Resync: true} }
	initial := number{Type: Added, Key: k, New: 1, Initial: true}
	for name, c := range map[string]struct{ in, want []number }{
		"updates become one":                             {[]number{update(1, 2), update(2, 3)}, []number{update(1, 3)}},
		"an update of something new stays an add":        {[]number{add(1), update(1, 2)}, []number{add(2)}},
		"an initial add stays initial":                   {[]number{initial, update(1, 2)}, []number{{Type: Added, Key: k, New: 2, Initial: true}}},
		"what came and went is not told":                 {[]number{add(1), update(1, 2), del(2)}, nil},
		"a delete keeps what was told and the end":       {[]number{update(1, 2), del(2)}, []number{{Type: Deleted, Key: k, Old: 1, New: 102}}},
		"a delete and an add stay two":                   {[]number{update(1, 2), del(2), add(3), update(3, 4)}, []number{{Type: Deleted, Key: k, Old: 1, New: 102}, add(4)}},
		"of several ends the first is told":              {[]number{del(1), add(2), del(2), add(3)}, []number{del(1), add(3)}},
		"a resync alone stays one":                       {[]number{resync(1), resync(1)}, []number{resync(1)}},
		"a change after a resync is a change":            {[]number{resync(1), update(1, 2)}, []number{update(1, 2)}},
		"a resync after a change adds nothing":           {[]number{update(1, 2), resync(2)}, []number{update(1, 2)}},
		"a delete after a resync is of what was told":    {[]number{resync(1), del(1)}, []number{del(1)}},
		"a resync of something new is part of its being": {[]number{add(1), resync(1)}, []number{add(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFolded[int]()
			for i := range c.in {
				f.add(&c.in[i], 1)
			}
			if f.len() != len(c.want) {
				t.Errorf("len is %d, want %d", f.len(), len(c.want))
			}
			if got := f.take(10); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("folded to\n%v, want\n%v", got, c.want)
			}
			if f.len() != 0 || len(f.byKey) != 0 || f.order.Len() != 0 {
				t.Error("something is left behind")
			}
		})
	}
}

// TestPendingAgainstAnUnboundedList pushes random histories through pending in
// random batches, takes and gives back at random, and checks the chain of what
// comes out, its end, the count of initial changes and the bound.
func TestPendingAgainstAnUnboundedList(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { pendingModel(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func pendingModel(t *testing.T, rnd *rand.Rand) {
	const keys = 8
	limit := 1 + rnd.IntN(30)
	var p pending[int]
	server, told := map[types.NamespacedName]int{}, map[types.NamespacedName]int{}
	initial, next := 0, 0
	history := map[types.NamespacedName][]dated{}
	deliver := func(c number) {
		old, had := told[c.Key]
		if (c.Type == Added) == had || had && c.Old != old {
			t.Fatalf("%+v breaks the chain: told %d, %v", c, old, had)
		}
		if c.Type == Deleted {
			delete(told, c.Key)
		} else {
			told[c.Key] = c.New
		}
	}
	for range 400 {
		checkTold(t, p.told(), history, told)
		if rnd.IntN(3) > 0 {
			var batch []number
			for range 1 + rnd.IntN(6) {
				next++
				k := numberKey(rnd.IntN(keys))
				batch = append(batch, randomChange(rnd, server, k, next))
				history[k] = append(history[k], dated{p.pushed + 1, server[k]})
			}
			for _, c := range batch {
				if c.Initial {
					p.initial++
				}
			}
			before := p.len()
			p.push(batch, limit)
			if p.folded != nil && p.len() > 2*keys || p.folded == nil && before > limit {
				t.Fatalf("%d changes wait for %d keys at limit %d", p.len(), keys, limit)
			}
			continue
		}
		batch := p.take()
		checkTold(t, p.told(), history, told)
		n := rnd.IntN(len(batch) + 1)
		for _, c := range batch[:n] {
			if c.Initial {
				initial++
				p.initial--
			}
			deliver(c)
		}
		p.giveBack(batch[n:])
	}
	for batch := p.take(); batch != nil; batch = p.take() {
		for _, c := range batch {
			if c.Initial {
				p.initial--
			}
			deliver(c)
		}
	}
	if p.told() != p.pushed {
		t.Errorf("%d of %d batches are told", p.told(), p.pushed)
	}
	if fmt.Sprint(told) != fmt.Sprint(server) {
		t.Errorf("told %v, the server has %v", told, server)
	}
	if p.initial != 0 || p.len() != 0 {
		t.Errorf("%d initial changes and %d changes are left", p.initial, p.len())
	}
}

// dated is what the server had under a key after a change in a batch.
type dated struct {
	batch uint64
	value int
}

// checkTold checks that what was told of each key is its state after the last
// batch that counts as told, or a later one.
func checkTold(t *testing.T, batch uint64, history map[types.NamespacedName][]dated, told map[types.NamespacedName]int) {
	t.Helper()
	for k, states := range history {
		fits := false
		for n, s := range states {
			// The state that a later one had replaced by then does not count.
			replaced := n+1 < len(states) && states[n+1].batch <= batch
			fits = fits || !replaced && s.value == told[k]
		}
		if fits = fits || states[0].batch > batch && told[k] == 0; !fits {
			t.Fatalf("%v was told as %d, which is older than what counts as told", k, told[k])
		}
	}
}

// randomChange changes the server and tells how.
func randomChange(rnd *rand.Rand, server map[types.NamespacedName]int, k types.NamespacedName, next int) number {
	old, had := server[k]
	switch {
	case !had:
		server[k] = next
		return number{Type: Added, Key: k, New: next, Initial: rnd.IntN(2) == 0}
	case rnd.IntN(4) == 0:
		delete(server, k)
		return number{Type: Deleted, Key: k, Old: old, New: old}
	case rnd.IntN(6) == 0:
		return number{Type: Updated, Key: k, Old: old, New: old, Resync: true}
	}
	server[k] = next
	return number{Type: Updated, Key: k, Old: old, New: next}
}
