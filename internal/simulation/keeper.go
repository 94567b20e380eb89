package simulation

import (
	"fmt"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/reflector"
)

// held is what a store holds at a moment of rest, and what its informer says of it.
type held struct {
	objects map[types.NamespacedName]State
	version string
	reader  reflector.Status
	// broken are the objects that are marked as older than the server's.
	broken []reflector.BrokenObject
}

// keeper checks what a store holds.
type keeper struct {
	view  view
	gaps  *gaps
	place map[types.NamespacedName]int
	epoch int
	// parts says that a list may be pushed in parts.
	parts bool
	// floor is a version that the store may not be before in the first epoch.
	floor uint64
	first int
	// marked are the objects that were marked the last time, and what was held of
	// them.
	marked map[types.NamespacedName]marked
}

type marked struct {
	version string // that cannot be used
	held    State
}

func newKeeper(g *gaps, spec MirrorSpec, epoch int) *keeper {
	k := &keeper{view: g.view, gaps: g, place: make(map[types.NamespacedName]int), epoch: epoch, first: epoch, parts: spec.RelistBudget > 0}
	k.floor, _ = strconv.ParseUint(spec.Minimum, 10, 64)
	return k
}

// check takes the state of the store at a moment of rest.
func (k *keeper) check(h held) *Failure {
	for key, s := range h.objects {
		place, found := k.view.find(key, k.place[key], func(at State) bool { return at == s })
		if !found {
			return &Failure{Check: checkStore, What: fmt.Sprintf("%s: %v; it was at %d of %s", key, s, k.place[key], k.view.history(key))}
		}
		k.place[key] = place
	}
	for key, from := range k.place {
		if _, there := h.objects[key]; there || k.gaps.excuse(key) {
			continue
		}
		place, found := k.view.find(key, from, func(at State) bool { return !at.there() })
		if !found {
			return &Failure{Check: checkStore, What: fmt.Sprintf("%s: nothing; it was at %d of %s", key, from, k.view.history(key))}
		}
		k.place[key] = place
	}
	return k.whole(h)
}

// whole checks that all that is held was there at the version of the store, and
// all else was not, but for what is excused. While the informer says that its store
// is a mixture, after a list that was pushed in parts, it is one.
func (k *keeper) whole(h held) *Failure {
	v, _ := strconv.ParseUint(h.version, 10, 64)
	if v == 0 {
		if len(h.objects) == 0 {
			return nil
		}
		return &Failure{Check: checkMixture, What: fmt.Sprintf("%d objects at no version", len(h.objects))}
	}
	if h.reader.Mixed && k.parts && h.reader.State != reflector.Watching {
		k.marked = nil
		return nil
	}
	var low *Failure
	for epoch := k.epoch; epoch <= k.view.truth.now(); epoch++ {
		want := k.view.at(epoch, v)
		marks := k.marks(h, want, v)
		k.fill(h, want)
		if maps.Equal(want, h.objects) {
			if v < k.floor && epoch == k.first {
				low = &Failure{Check: checkFloor, What: fmt.Sprintf("%d is before %d", v, k.floor)}
				continue
			}
			k.epoch = epoch
			return marks
		}
	}
	if low != nil {
		return low
	}
	want := k.view.at(k.epoch, v)
	_ = k.marks(h, want, v)
	return &Failure{Check: checkMixture, What: fmt.Sprintf("at version %s of epoch %d: %s", h.version, k.epoch, difference(h.objects, want))}
}

// fill excuses the gaps of an informer that has yet to read the state again: one
// that watches has been told of them and has done so.
func (k *keeper) fill(h held, want map[types.NamespacedName]State) {
	for key, s := range h.objects {
		if h.reader.State != reflector.Watching && k.gaps.outdated(key, s.Version) {
			want[key] = s
		}
	}
	maps.DeleteFunc(want, func(key types.NamespacedName, _ State) bool {
		_, there := h.objects[key]
		return !there && h.reader.State != reflector.Watching && k.gaps.excuse(key)
	})
}

// marks excuses what is marked, and tells of a mark that is wrong: the state that
// it is about must be the present one, or a later one that a list has shown, and
// poisonous, and what is held must be older and stay.
func (k *keeper) marks(h held, want map[types.NamespacedName]State, v uint64) *Failure {
	var first *Failure
	before := k.marked
	k.marked = make(map[types.NamespacedName]marked)
	for _, b := range h.broken {
		key := b.Err.Key
		held, there := h.objects[key]
		now := want[key]
		if want[key] = held; !there {
			delete(want, key)
		}
		version, _ := strconv.ParseUint(b.Err.Version, 10, 64)
		if version > v || h.reader.State != reflector.Watching && k.gaps.outdated(key, version) {
			continue
		}
		wrong := ""
		switch last, again := before[key]; {
		case now.UID != b.Err.UID || now.Version != version || !now.poisonous():
			wrong = "it is not broken"
		case held == now:
			wrong = "it is held as it is"
		case again && last.version == b.Err.Version && last.held != held:
			wrong = fmt.Sprintf("what was held of it has changed from %v", last.held)
		}
		if wrong != "" && first == nil {
			first = &Failure{Check: checkMark, What: fmt.Sprintf("%v: %s: it is %v, and held is %v", b.Err, wrong, now, held)}
		}
		k.marked[key] = marked{b.Err.Version, held}
	}
	return first
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
