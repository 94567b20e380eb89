package deltafifo

import (
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func itoa(i int) string { return strconv.Itoa(i) }

func TestCompaction(t *testing.T) {
	const anything = "anything"
	for name, test := range map[string]struct {
		held     string // what the store holds: keys of one letter
		inFlight string
		queued   string
		want     string
	}{
		"the newest state wins at its own place": {
			held:   "ab",
			queued: "U a/u1@1 U b/u2@2 U a/u1@3 U a/u1@4",
			want:   "U b/u2@2 U a/u1@4",
		},
		"Added and Updated become Added": {
			queued: "A a/u1@1 U a/u1@2 U a/u1@3",
			want:   "A a/u1@3",
		},
		"Updated and Deleted become Deleted": {
			held:   "a",
			queued: "U a/u1@1 U a/u1@2 D a/u1@3",
			want:   "D a/u1@3",
		},
		"a delete and a new UID stay two": {
			held:   "a",
			queued: "U a/u1@1 D a/u1@2 A a/u2@3 U a/u2@4",
			want:   "D a/u1@2 A a/u2@4",
		},
		"a life in the middle is skipped": {
			held:   "a",
			queued: "D a/u1@1 A a/u2@2 D a/u2@3 A a/u3@4",
			want:   "D a/u1@1 A a/u3@4",
		},
		"leaving a selection and coming back stays two": {
			held:   "a",
			queued: "U a/u1@1 D a/u1@2 A a/u1@3",
			want:   "D a/u1@2 A a/u1@3",
		},
		"an Updated after a Deleted is an Added": {
			held:   "a",
			queued: "D a/u1@1 A a/u2@2 U a/u2@3",
			want:   "D a/u1@1 A a/u2@3",
		},
		"another UID without a delete is an Added": {
			held:   "a",
			queued: "U a/u1@1 U a/u2@2 U a/u2@3",
			want:   "A a/u2@3",
		},
		"a frame that is sent again is no new object": {
			held:   "a",
			queued: "U a/u1@1 A a/u1@2",
			want:   "U a/u1@2",
		},
		"a life that nobody saw leaves its version": {
			queued: "A a/u1@1 U a/u1@2 D a/u1@3",
			want:   "B@3",
		},
		"a life that nobody saw leaves nothing if newer versions follow": {
			queued: "A a/u1@1 D a/u1@2 A b/u2@3",
			want:   "A b/u2@3",
		},
		"a life that nobody saw is no delete before the next": {
			queued: "A a/u1@1 D a/u1@2 A a/u2@3",
			want:   "A a/u2@3",
		},
		"a Deleted of what is not held tells nothing": {
			queued: "D a/u1@1 U b/u2@2",
			want:   "U b/u2@2",
		},
		"without Holds every Deleted stays": {
			held:   anything,
			queued: "A a/u1@1 U a/u1@2 D a/u1@3",
			want:   "D a/u1@3",
		},
		"a key in flight may reach the store": {
			inFlight: "A a/u1@1",
			queued:   "U a/u1@2 D a/u1@3",
			want:     "D a/u1@3",
		},
		"a key in a list in flight may reach the store": {
			inFlight: "R@1[A a/u1@1]",
			queued:   "U a/u1@2 D a/u1@3",
			want:     "D a/u1@3",
		},
		"a key before a list may reach the store": {
			queued: "A a/u1@1 R@2 U a/u1@3 D a/u1@4",
			want:   "A a/u1@1 R@2 D a/u1@4",
		},
		"a key in a list may reach the store": {
			queued: "R@2[A a/u1@2] U a/u1@3 D a/u1@4",
			want:   "R@2[A a/u1@2] D a/u1@4",
		},
		"a life that was forgotten before a list cannot": {
			queued: "A a/u1@1 D a/u1@2 R@2 A a/u2@3 D a/u2@4",
			want:   "B@2 R@2 B@4",
		},
		"nothing is compacted across a list": {
			held:   "a",
			queued: "U a/u1@1 U a/u1@2 R@2[U b/u2@2] U a/u1@3 U a/u1@4 R@5 U a/u1@6",
			want:   "U a/u1@2 R@2[U b/u2@2] U a/u1@4 R@5 U a/u1@6",
		},
		"the newest bookmark stays": {
			held:   "a",
			queued: "U a/u1@1 B@2 U a/u1@3 B@4 B@5",
			want:   "U a/u1@3 B@5",
		},
		"a bookmark before a newer version is needless": {
			held:   "a",
			queued: "B@2 U a/u1@3 U a/u1@4",
			want:   "U a/u1@4",
		},
		"bookmarks on both sides of a list stay": {
			queued: "B@2 B@3 R@4 B@5 B@6",
			want:   "B@3 R@4 B@6",
		},
		"a frame that is older than one before it is dropped": {
			held:   "a",
			queued: "U a/u1@9 U a/u1@10 U a/u1@9 U b/u2@11",
			want:   "U a/u1@10 U b/u2@11",
		},
		"a delete that is older than what follows it is dropped": {
			held:   "a",
			queued: "U a/u2@10 D a/u1@9 B@11",
			want:   "U a/u2@10 B@11",
		},
		"a bookmark outlives a late change of an older version": {
			held:   "a",
			queued: "B@9 B@10 U a/u1@8",
			want:   "B@10 U a/u1@8",
		},
		"the version of a forgotten life outlives a late change": {
			held:   "b",
			queued: "A a/u1@9 D a/u1@10 U b/u2@8",
			want:   "B@10 U b/u2@8",
		},
		"versions that do not compare come as they arrive": {
			held:   "a",
			queued: "U a/u1@z U a/u1@y B@x",
			want:   "U a/u1@y B@x",
		},
		"deltas without versions": {
			held:   "a",
			queued: "B@1 U a/u1 U a/u1 A b/u2 D b/u2",
			want:   "B@1 U a/u1",
		},
		"keys differ in their namespace": {
			held:   "a",
			queued: "U a/u1@1 U b/u1@2 U a/u1@3",
			want:   "U b/u1@2 U a/u1@3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			opts := Options{Budget: 2, Holds: func(key types.NamespacedName) bool { return key.Name == test.held }}
			if len(test.held) == 2 {
				opts.Holds = func(key types.NamespacedName) bool { return true }
			}
			if test.held == anything {
				opts.Holds = nil
			}
			q := newQueue(t, opts)
			if test.inFlight != "" {
				push(t, q, test.inFlight)
				pop(t, q)
			}
			push(t, q, test.queued)
			if q.compactions == 0 {
				q.compact()
			}
			if got := format(q.buf.queued()); got != test.want {
				t.Errorf("compacted %s\n got %s\nwant %s", test.queued, got, test.want)
			}
			if got, want := q.weight, weight(q.buf.queued()); got != want {
				t.Errorf("the weight is %d, want %d", got, want)
			}
			// Once is enough.
			q.compact()
			if got := format(q.buf.queued()); got != test.want {
				t.Errorf("compacted twice\n got %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestKeysOfTwoNamespacesAreNotFolded(t *testing.T) {
	q := newQueue(t, Options{Budget: 1})
	one := types.NamespacedName{Namespace: "one", Name: "a"}
	two := types.NamespacedName{Namespace: "two", Name: "a"}
	if err := q.Push([]Delta[string]{
		{Type: Updated, Key: one, Version: "1"},
		{Type: Updated, Key: two, Version: "2"},
		{Type: Updated, Key: one, Version: "3"},
	}); err != nil {
		t.Fatal(err)
	}
	queued := q.buf.queued()
	if len(queued) != 2 || queued[0].Key != two || queued[1].Key != one {
		t.Errorf("queued %+v, want two/a and then one/a", queued)
	}
}

func TestNothingIsCompactedWithinTheBudget(t *testing.T) {
	q := newQueue(t, Options{Budget: 3})
	push(t, q, "U a/u1@1 U a/u1@2 U a/u1@3")
	if q.Len() != 3 {
		t.Fatalf("%d deltas are queued, want 3", q.Len())
	}
	push(t, q, "U a/u1@4")
	if q.Len() != 1 {
		t.Errorf("%d deltas are queued past the budget, want 1", q.Len())
	}
}

func TestItemsOfAListCountForTheBudget(t *testing.T) {
	q := newQueue(t, Options{Budget: 3})
	push(t, q, "U a/u1@1 U a/u1@2")
	push(t, q, "R@3[A b/u2@3]")
	if got, want := pop(t, q), "U a/u1@2 R@3[A b/u2@3]"; got != want {
		t.Errorf("popped %s, want %s", got, want)
	}
}

func TestWhatACompactionLeftIsPoppedTogether(t *testing.T) {
	q := newQueue(t, Options{Budget: 4, BatchSize: 2})
	push(t, q, "U a/u1@1 U b/u2@2 U c/u3@3 U d/u4@4 U a/u1@5")
	push(t, q, "U b/u2@6")
	// Without b@2 there is no state between versions 3 and 5 to show.
	for _, want := range []string{"U b/u2@2 U c/u3@3 U d/u4@4 U a/u1@5", "U b/u2@6"} {
		if got := pop(t, q); got != want {
			t.Errorf("popped %s, want %s", got, want)
		}
	}
}

func TestAWholeQueueThatVanishesIsSettled(t *testing.T) {
	q := newQueue(t, Options{Budget: 1, Holds: func(types.NamespacedName) bool { return false }})
	push(t, q, "A a/u1 D a/u1")
	if q.Len() != 0 {
		t.Fatalf("%d deltas are queued, want none", q.Len())
	}
	if err := q.Settled(t.Context()); err != nil {
		t.Errorf("Settled = %v", err)
	}
	if s := q.Stats(); s.Pushed != 2 || s.Acknowledged != 2 {
		t.Errorf("stats are %+v, want 2 pushed and 2 acknowledged", s)
	}
}

func TestAQueueThatVanishesBehindABatchSettlesWithIt(t *testing.T) {
	q := newQueue(t, Options{Budget: 1, Holds: func(types.NamespacedName) bool { return false }})
	push(t, q, "A b/u2@1")
	pop(t, q)
	push(t, q, "A a/u1 D a/u1")
	if s := q.Stats(); s.Length != 0 || s.Acknowledged != 0 {
		t.Fatalf("stats are %+v, want nothing queued or acknowledged", s)
	}
	push(t, q, "B@2")
	pop(t, q)
	if s := q.Stats(); s.Acknowledged != 3 {
		t.Errorf("stats are %+v, want 3 acknowledged", s)
	}
}

func TestAPanicOfHoldsLeavesTheQueueUsable(t *testing.T) {
	broken := true
	q := newQueue(t, Options{Budget: 2, Holds: func(types.NamespacedName) bool {
		if broken {
			panic("no store")
		}
		return false
	}})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		push(t, q, "U b/u2@1 U b/u2@2 D a/u1@3")
	}()
	if got, want := format(q.buf.queued()), "U b/u2@1 U b/u2@2 D a/u1@3"; got != want {
		t.Errorf("queued %s, want %s", got, want)
	}
	broken = false
	push(t, q, "B@4")
	if got, want := pop(t, q), "U b/u2@2 B@4"; got != want {
		t.Errorf("popped %s, want %s", got, want)
	}
}

// The work of all compactions is a small multiple of the number of deltas, for
// any pattern of pushes and pops.
func TestCompactionCostsAConstantForEachDelta(t *testing.T) {
	const n, keys = 20000, 3000
	for name, popEvery := range map[string]int{"no pops": n + 1, "some pops": 500, "many pops": 50} {
		t.Run(name, func(t *testing.T) {
			q := newQueue(t, Options{Budget: 64, BatchSize: 16})
			work, seen := 0, uint64(0)
			for i := range n {
				before := q.buf.len() + 1
				push(t, q, "U k"+itoa(i%keys)+"/u@"+itoa(i))
				if q.compactions != seen {
					seen = q.compactions
					work += before
				}
				if i%popEvery == popEvery-1 {
					pop(t, q)
				}
			}
			if seen == 0 {
				t.Fatal("nothing was compacted")
			}
			if work > 3*n {
				t.Errorf("%d compactions went over %d deltas for %d pushes", seen, work, n)
			}
		})
	}
}
