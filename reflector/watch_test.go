package reflector

import (
	"strconv"
	"testing"

	"heliograph.example/deltafifo"
)

// keeper is a sink that does what it must not: it keeps the slice.
type keeper struct {
	*recorder
	pushed [][]deltafifo.Delta[object]
}

func (k *keeper) Push(deltas []deltafifo.Delta[object]) error {
	k.pushed = append(k.pushed, deltas)
	return k.recorder.Push(deltas)
}

// delivering returns a reflector that can deliver events from version on.
func delivering(t *testing.T, version string) (*Reflector[object], *keeper) {
	t.Helper()
	sink := &keeper{recorder: newRecorder(t)}
	r, err := New[object](&script{}, Sink[object](sink), Options[object]{})
	if err != nil {
		t.Fatal(err)
	}
	r.version = version
	r.order = r.newOrder()
	return r, sink
}

func TestTheSliceOfADeliveryIsUsedAgainAndHoldsNothing(t *testing.T) {
	r, sink := delivering(t, "1")
	for _, events := range [][]Event[object]{
		{event(deltafifo.Added, "a", "u1", "2"), event(deltafifo.Added, "b", "u2", "3"), bookmark("4")},
		{event(deltafifo.Updated, "a", "u1", "5")},
	} {
		if _, err := r.deliver(t.Context(), events); err != nil {
			t.Fatal(err)
		}
	}
	if len(sink.pushed) != 2 || &sink.pushed[0][0] != &sink.pushed[1][0] {
		t.Fatalf("the slices are not the same: %v", sink.pushed)
	}
	for i, d := range sink.pushed[0] {
		if d.Object != nil || d.Version != "" || d.Key.Name != "" {
			t.Errorf("slot %d still holds %+v", i, d)
		}
	}
	if got := len(sink.deltas); got != 4 {
		t.Errorf("%d deltas were pushed, want 4", got)
	}
}

func TestTheSliceOfALargeDeliveryIsNotKept(t *testing.T) {
	r, _ := delivering(t, "1")
	events := make([]Event[object], 0, 2*maxBatch+1)
	for i := range cap(events) {
		events = append(events, event(deltafifo.Added, "n"+strconv.Itoa(i), "u", strconv.Itoa(i+2)))
	}
	if _, err := r.deliver(t.Context(), events); err != nil {
		t.Fatal(err)
	}
	if r.deltas != nil {
		t.Errorf("a slice of %d is kept", cap(r.deltas))
	}
}
