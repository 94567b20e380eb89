package simulation

import (
	"fmt"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/reflector"
)

// keeper checks what a store holds.
type keeper struct {
	view  view
	gaps  *gaps
	place map[types.NamespacedName]int
	epoch int
}

func newKeeper(g *gaps, epoch int) *keeper {
	return &keeper{view: g.view, gaps: g, place: make(map[types.NamespacedName]int), epoch: epoch}
}

// check takes the state of the store at a moment of rest.
func (k *keeper) check(held map[types.NamespacedName]State, version string, state reflector.State) *Failure {
	for key, s := range held {
		place, found := k.view.find(key, k.place[key], func(at State) bool { return at == s })
		if !found {
			return &Failure{Check: checkStore, What: fmt.Sprintf("%s: %v; it was at %d of %s", key, s, k.place[key], k.view.history(key))}
		}
		k.place[key] = place
	}
	for key, from := range k.place {
		if _, there := held[key]; there || k.gaps.excuse(key) {
			continue
		}
		place, found := k.view.find(key, from, func(at State) bool { return !at.there() })
		if !found {
			return &Failure{Check: checkStore, What: fmt.Sprintf("%s: nothing; it was at %d of %s", key, from, k.view.history(key))}
		}
		k.place[key] = place
	}
	return k.whole(held, version, state)
}

// whole checks that all that is held was there at the version of the store, and
// all else was not, but for the gaps of an informer that has yet to read the state
// again: one that watches has been told of them and has done so.
func (k *keeper) whole(held map[types.NamespacedName]State, version string, state reflector.State) *Failure {
	v, _ := strconv.ParseUint(version, 10, 64)
	if v == 0 {
		if len(held) == 0 {
			return nil
		}
		return &Failure{Check: checkMixture, What: fmt.Sprintf("%d objects at no version", len(held))}
	}
	for epoch := k.epoch; epoch <= k.view.truth.now(); epoch++ {
		want := k.view.at(epoch, v)
		maps.DeleteFunc(want, func(key types.NamespacedName, _ State) bool {
			_, there := held[key]
			return !there && state != reflector.Watching && k.gaps.excuse(key)
		})
		if maps.Equal(want, held) {
			k.epoch = epoch
			return nil
		}
	}
	return &Failure{Check: checkMixture, What: fmt.Sprintf("at version %s of epoch %d: %s", version, k.epoch, difference(held, k.view.at(k.epoch, v)))}
}

// difference tells how what is there differs from what should be.
func difference(got, want map[types.NamespacedName]State) string {
	var out string
	for key, s := range got {
		if want[key] != s {
			out += fmt.Sprintf(" %s is %v and should be %v;", key, s, want[key])
		}
	}
	for key, s := range want {
		if _, there := got[key]; !there {
			out += fmt.Sprintf(" %s is missing and should be %v;", key, s)
		}
	}
	return out
}
