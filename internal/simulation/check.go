package simulation

import (
	"fmt"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/informer"
)

// Failure is a promise that was broken.
type Failure struct {
	// Mirror names the informer, empty if it concerns the simulation itself.
	Mirror string
	// Check names the promise.
	Check string
	// What tells the details.
	What string
}

// Error names all three.
func (f *Failure) Error() string { return fmt.Sprintf("%s: %s: %s", f.Mirror, f.Check, f.What) }

// The checks.
const (
	// checkChain: Old is the last New, an Added begins and a Deleted ends.
	checkChain = "the chain of a handler is broken"
	// checkOrder: what is told is in the history, and after what was told last.
	checkOrder = "a handler was told what the server never had, or no more"
	// checkStore: each object held is in the history, and never goes back.
	checkStore = "the store holds what the server never had, or no more"
	// checkMixture: all that is held together was there together.
	checkMixture = "the store is a mixture of states"
	// checkIndex: an index lists what its function says.
	checkIndex = "an index does not agree with the store"
	// checkAhead: what a handler is told, the store has.
	checkAhead = "a handler was told before the store knew"
	// checkEnd: in the end all is as the server has it.
	checkEnd = "the end is not reached"
	// checkBack: an informer follows a server that goes back in time.
	checkBack = "a server that went back is not followed"
	// checkSilence: a handler that was removed is told no more.
	checkSilence = "a handler was told after it was removed"
	// checkRun: an informer only stops when it is stopped.
	checkRun = "the informer has ended"
)

// told is one change as a handler got it. The references tell whether two
// objects are one and the same.
type told struct {
	change
	oldRef, newRef any
	// held is what the store had at that moment.
	held State
}

// change is the part of an informer.Change that goes into a record.
type change struct {
	Type    string               `json:"type"`
	Key     types.NamespacedName `json:"key"`
	UID     types.UID            `json:"uid,omitempty"`
	Version uint64               `json:"version,omitempty"`
	Old     *State               `json:"old,omitempty"`
	New     *State               `json:"new,omitempty"`
	Initial bool                 `json:"initial,omitempty"`
	Resync  bool                 `json:"resync,omitempty"`
	Unknown bool                 `json:"finalStateUnknown,omitempty"`
}

func (c *change) String() string {
	return fmt.Sprintf("%s %s old %v new %v version %d initial %v resync %v unknown %v", c.Type, c.Key, c.Old, c.New, c.Version, c.Initial, c.Resync, c.Unknown)
}

// follower checks what one handler is told.
type follower struct {
	view   view
	filter string // the colour it wants, empty is any
	// last is what it was told last of each key, and place where in the history
	// that is at the earliest.
	last  map[types.NamespacedName]lastTold
	place map[types.NamespacedName]int
}

type lastTold struct {
	State
	ref any
}

func newFollower(v view, filter string) *follower {
	return &follower{view: v, filter: filter, last: make(map[types.NamespacedName]lastTold), place: make(map[types.NamespacedName]int)}
}

func (f *follower) wants(s State) bool { return f.filter == "" || f.filter == s.Colour }

// check takes one more change.
func (f *follower) check(c *told) *Failure {
	last, known := f.last[c.Key]
	if problem := f.chain(c, last, known); problem != "" {
		return &Failure{Check: checkChain, What: fmt.Sprintf("%s: %v; told last: %v (%v)", problem, c, last.State, known)}
	}
	if c.Resync {
		return nil
	}
	from := 0
	if place, ok := f.place[c.Key]; ok {
		from = place + 1
	}
	place, found := f.view.find(c.Key, from, func(s State) bool { return f.fits(c, last.State, s) })
	if !found {
		return &Failure{Check: checkOrder, What: fmt.Sprintf("%v; it was at %d of %s", c, from-1, f.view.history(c.Key))}
	}
	f.place[c.Key] = place
	if c.Type != informer.Deleted.String() {
		f.last[c.Key] = lastTold{*c.New, c.newRef}
		return f.ahead(c, place)
	}
	delete(f.last, c.Key)
	if s := f.state(c.Key, place); s.there() && c.Unknown {
		// The object that has taken the place is yet to be told.
		f.place[c.Key] = place - 1
	}
	return f.ahead(c, place)
}

// state is the one at a place of the history.
func (f *follower) state(key types.NamespacedName, place int) (s State) {
	f.view.find(key, place, func(at State) bool { s = at; return true })
	return s
}

// ahead checks that the store had what is told, or something newer.
func (f *follower) ahead(c *told, place int) *Failure {
	_, found := f.view.find(c.Key, place, func(s State) bool {
		return s == c.held || !s.there() && !c.held.there()
	})
	if found {
		return nil
	}
	return &Failure{Check: checkAhead, What: fmt.Sprintf("%v; the store had %v, of %s", c, c.held, f.view.history(c.Key))}
}

// chain says what is wrong with the order of changes; empty if nothing is.
func (f *follower) chain(c *told, last lastTold, known bool) string {
	if c.Type == informer.Added.String() {
		switch {
		case known:
			return "added twice"
		case c.Old != nil || c.Resync:
			return "an added with a past"
		}
	} else {
		switch {
		case !known:
			return "it was never told of it"
		case c.Initial:
			return "initial, but not added"
		case c.oldRef != last.ref:
			return "old is not what was told last"
		case c.UID != last.UID:
			return "another object"
		}
	}
	switch {
	case c.Unknown && (c.New != nil || c.Type != informer.Deleted.String()):
		return "a final state that is unknown and there"
	case !c.Unknown && (c.New == nil || c.New.UID != c.UID || c.New.Version != c.Version):
		return "new is not what the change is about"
	case c.Resync && (c.newRef != last.ref || c.Type != informer.Updated.String()):
		return "a resync with a change"
	case c.Type != informer.Deleted.String() && !f.wants(*c.New):
		return "its filter does not want that"
	}
	return ""
}

// fits reports whether a point of the history is what the change tells.
func (f *follower) fits(c *told, last, s State) bool {
	switch {
	case c.Type != informer.Deleted.String():
		return s == *c.New
	case c.Unknown:
		return !s.there() || s.UID != last.UID
	case s.there():
		return s == *c.New && !f.wants(s)
	}
	return s.Version == c.Version
}

// keeper checks what a store holds.
type keeper struct {
	view  view
	place map[types.NamespacedName]int
	epoch int
	// disordered says that frames were sent out of order: then the store may be
	// a mixture for a while.
	disordered bool
}

func newKeeper(v view, epoch int) *keeper {
	return &keeper{view: v, place: make(map[types.NamespacedName]int), epoch: epoch}
}

// check takes the state of the store at a moment of rest.
func (k *keeper) check(held map[types.NamespacedName]State, version string) *Failure {
	for key, s := range held {
		place, found := k.view.find(key, k.place[key], func(at State) bool { return at == s })
		if !found {
			return &Failure{Check: checkStore, What: fmt.Sprintf("%s: %v; it was at %d of %s", key, s, k.place[key], k.view.history(key))}
		}
		k.place[key] = place
	}
	for key, from := range k.place {
		if _, there := held[key]; there {
			continue
		}
		place, found := k.view.find(key, from, func(at State) bool { return !at.there() })
		if !found {
			return &Failure{Check: checkStore, What: fmt.Sprintf("%s: nothing; it was at %d of %s", key, from, k.view.history(key))}
		}
		k.place[key] = place
	}
	return k.whole(held, version)
}

// whole checks that all that is held was there at the version of the store.
func (k *keeper) whole(held map[types.NamespacedName]State, version string) *Failure {
	v, _ := strconv.ParseUint(version, 10, 64)
	if v == 0 {
		if len(held) == 0 {
			return nil
		}
		return &Failure{Check: checkMixture, What: fmt.Sprintf("%d objects at no version", len(held))}
	}
	for epoch := k.epoch; epoch <= k.view.truth.now(); epoch++ {
		if maps.Equal(k.view.at(epoch, v), held) {
			k.epoch = epoch
			return nil
		}
	}
	if k.disordered {
		return nil
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
