package simulation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/informer"
)

// follower checks what one handler is told.
type follower struct {
	view   view
	gaps   *gaps
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

func newFollower(g *gaps, filter string) *follower {
	return &follower{view: g.view, gaps: g, filter: filter, last: make(map[types.NamespacedName]lastTold), place: make(map[types.NamespacedName]int)}
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
	if c.Unknown && f.gaps.excused(c.Key) {
		// It was missing in a list, and may come back as it was.
		delete(f.last, c.Key)
		f.place[c.Key] = from - 2
		return nil
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
	if found || !c.held.there() && f.gaps.excused(c.Key) {
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
