package simulation

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// gaps are the objects that a streaming list did not bring before its end as they
// were: their last frames came behind the end. An informer cannot know of that then.
// It is told by the late frame that the list was not complete, and reads the state
// again; until it has, they may be missing, or as the list had them.
type gaps struct {
	view view

	mu sync.Mutex
	// allowed is set when the script makes frames change their places. Before
	// that no gap is an excuse.
	allowed bool
	// open are those of the last list that it did not bring at all, ever those of
	// any. old are those that it brought at an older version.
	open, ever map[types.NamespacedName]bool
	old        map[types.NamespacedName]uint64
}

func newGaps(v view) *gaps { return &gaps{view: v, ever: make(map[types.NamespacedName]bool)} }

// allow makes gaps an excuse from now on.
func (g *gaps) allow() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.allowed = true
}

func (g *gaps) isAllowed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.allowed
}

// streamed notes the end of a streaming list at a version, which has brought what
// is in seen, at these versions.
func (g *gaps) streamed(version uint64, seen map[types.NamespacedName]uint64) {
	open, old := make(map[types.NamespacedName]bool), make(map[types.NamespacedName]uint64)
	now := g.view.truth.now()
	for epoch := range now + 1 {
		for key := range g.view.at(epoch, version) {
			if _, brought := seen[key]; !brought {
				open[key] = true
			}
		}
	}
	want := g.view.at(now, version)
	for key, brought := range seen {
		// Without the object its last change, too late, was its delete.
		if s := want[key]; brought <= version && (!s.there() || brought < s.Version) {
			old[key] = brought
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open, g.old = open, old
	maps.Copy(g.ever, open)
}

// listed notes the end of a list in pages.
func (g *gaps) listed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open, g.old = nil, nil
}

// excuse reports whether an object may be missing in the store until the next
// list.
func (g *gaps) excuse(key types.NamespacedName) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.allowed && g.open[key]
}

// outdated reports whether an object may be at a version that is too old until the
// next list.
func (g *gaps) outdated(key types.NamespacedName, version uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	brought, old := g.old[key]
	return g.allowed && old && brought == version
}

// excused reports whether an object may have been missing at some time.
func (g *gaps) excused(key types.NamespacedName) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.allowed && g.ever[key]
}
