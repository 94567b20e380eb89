package deltafifo

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestNewRefusesNegativeOptions(t *testing.T) {
	for _, opts := range []Options{{BatchSize: -1}, {Budget: -1}} {
		if q, err := New[string](opts); q != nil || !errors.Is(err, ErrInvalidOptions) {
			t.Errorf("New(%+v) = %v, %v; want ErrInvalidOptions", opts, q, err)
		}
	}
}

func TestZeroOptionsMeanDefaults(t *testing.T) {
	q := newQueue(t, Options{})
	if q.opts.BatchSize != DefaultBatchSize || q.opts.Budget != DefaultBudget {
		t.Errorf("BatchSize and Budget are %d and %d, want %d and %d",
			q.opts.BatchSize, q.opts.Budget, DefaultBatchSize, DefaultBudget)
	}
}

func TestPushRefusesDeltasThatMakeNoSense(t *testing.T) {
	key := types.NamespacedName{Name: "web"}
	ok := Delta[string]{Type: Added, Key: key}
	replaced := func(items ...Delta[string]) Delta[string] {
		return Delta[string]{Type: Replaced, Items: items}
	}
	for name, test := range map[string]struct {
		delta  Delta[string]
		item   int
		reason string
	}{
		"no type":                       {Delta[string]{Key: key}, -1, "no such type"},
		"an unknown type":               {Delta[string]{Type: 77, Key: key}, -1, "no such type"},
		"no key":                        {Delta[string]{Type: Updated}, -1, "names no object"},
		"a namespace alone":             {Delta[string]{Type: Added, Key: types.NamespacedName{Namespace: "a"}}, -1, "names no object"},
		"items on an Added":             {Delta[string]{Type: Added, Key: key, Items: []Delta[string]{ok}}, -1, "only a Replaced has items"},
		"items on a Bookmark":           {Delta[string]{Type: Bookmark, Version: "1", Items: []Delta[string]{}}, -1, "only a Replaced has items"},
		"an Added of unknown state":     {Delta[string]{Type: Added, Key: key, FinalStateUnknown: true}, -1, "only a Deleted"},
		"a Bookmark with a key":         {Delta[string]{Type: Bookmark, Key: key, Version: "1"}, -1, "not about one object"},
		"a Bookmark without a version":  {Delta[string]{Type: Bookmark}, -1, "no version"},
		"a Replaced with a UID":         {Delta[string]{Type: Replaced, UID: "u"}, -1, "not about one object"},
		"a Replaced within a Replaced":  {replaced(ok, replaced()), 1, "change of one object"},
		"a Bookmark within a Replaced":  {replaced(Delta[string]{Type: Bookmark, Version: "1"}), 0, "change of one object"},
		"an item without a key":         {replaced(ok, Delta[string]{Type: Added}), 1, "names no object"},
		"an item without a type":        {replaced(Delta[string]{Key: key}), 0, "no such type"},
		"a Deleted item after an Added": {replaced(ok, Delta[string]{Type: Deleted, Key: key}), 1, "before all that is not Deleted"},
	} {
		t.Run(name+" is refused", func(t *testing.T) {
			q := newQueue(t, Options{})
			err := q.Push([]Delta[string]{ok, test.delta})
			var invalid *InvalidDeltaError
			if !errors.As(err, &invalid) {
				t.Fatalf("Push = %v, want an InvalidDeltaError", err)
			}
			if invalid.Index != 1 || invalid.Item != test.item || !strings.Contains(invalid.Reason, test.reason) {
				t.Errorf("Push = %+v, want index 1, item %d, reason %q", invalid, test.item, test.reason)
			}
			if n := q.Len(); n != 0 {
				t.Errorf("%d deltas of a refused batch were queued", n)
			}
		})
	}
}

func TestInvalidDeltaErrorNamesTheDelta(t *testing.T) {
	q := newQueue(t, Options{})
	err := q.Push([]Delta[string]{{Type: Replaced, Items: []Delta[string]{
		{Type: Updated, Key: types.NamespacedName{Namespace: "a", Name: "b"}, FinalStateUnknown: true},
	}}})
	want := `invalid delta 0, item 0 (Updated "a/b"): only a Deleted can have an unknown final state`
	if err == nil || err.Error() != want {
		t.Errorf("Push = %v, want %s", err, want)
	}
}

func TestAClosedQueueRefusesAPush(t *testing.T) {
	q := newQueue(t, Options{})
	q.Close()
	q.Close()
	if err := q.Push(parse(t, "A web/u1@1")); !errors.Is(err, ErrClosed) {
		t.Errorf("Push = %v, want ErrClosed", err)
	}
	if q.Len() != 0 {
		t.Error("a refused delta was queued")
	}
}

func TestAPushedSliceCanBeUsedAgain(t *testing.T) {
	q := newQueue(t, Options{})
	deltas := parse(t, "A web/u1@1 A job/u2@2")
	if err := q.Push(deltas); err != nil {
		t.Fatal(err)
	}
	clear(deltas)
	if got := pop(t, q); got != "A web/u1@1 A job/u2@2" {
		t.Errorf("popped %s after the pushed slice was cleared", got)
	}
}

func TestStatsFollowADeltaThroughTheQueue(t *testing.T) {
	q := newQueue(t, Options{Budget: 2, BatchSize: 2})
	push(t, q, "A a/u1@1 A b/u2@2")
	push(t, q, "U a/u1@3 U b/u2@4 U a/u1@5")
	want := Stats{Length: 2, HighWater: 5, Pushed: 5, Compactions: 1, Compacted: 3}
	if got := q.Stats(); got != want {
		t.Errorf("after a compaction: %+v, want %+v", got, want)
	}
	pop(t, q)
	want.Length, want.InFlight = 0, 2
	if got := q.Stats(); got != want {
		t.Errorf("in flight: %+v, want %+v", got, want)
	}
	push(t, q, "B@9")
	pop(t, q)
	q.Close()
	want.InFlight, want.Pushed, want.Acknowledged, want.Closed = 1, 6, 5, true
	if got := q.Stats(); got != want {
		t.Errorf("at the end: %+v, want %+v", got, want)
	}
}
