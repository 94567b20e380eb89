package simulation

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/reflector"
)

func TestWhatALateFrameChangesIsExcusedUntilTheStateIsReadAgain(t *testing.T) {
	a, b := types.NamespacedName{Namespace: "a", Name: "m1"}, types.NamespacedName{Namespace: "a", Name: "m2"}
	truth := newTruth()
	states := []State{{"ua", 2, "1", "red"}, {Version: 6}, {"ub", 3, "2", "red"}, {"ub", 5, "3", "red"}}
	for i, s := range states {
		truth.add(Point{Key: []types.NamespacedName{a, b}[i/2], State: s})
	}
	brought := held{version: "7", objects: map[types.NamespacedName]State{a: states[0], b: states[2]}}
	for name, c := range map[string]struct {
		allowed, listed bool
		state           reflector.State
		want            bool // that it is excused
	}{
		"until then":                    {allowed: true, state: reflector.BackingOff, want: true},
		"not while it watches":          {allowed: true, state: reflector.Watching},
		"not after the next list":       {allowed: true, listed: true, state: reflector.BackingOff},
		"not where frames are in order": {state: reflector.BackingOff},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGaps(view{truth: truth})
			if c.allowed {
				g.allow()
			}
			g.streamed(7, map[types.NamespacedName]uint64{a: 2, b: 3})
			if c.listed {
				g.listed()
			}
			h := brought
			h.reader.State = c.state
			if f := newKeeper(g, MirrorSpec{}, 0).check(h); (f == nil) != c.want {
				t.Errorf("%v", f)
			}
		})
	}
}
