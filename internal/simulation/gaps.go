package simulation

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// gaps are the objects that a streaming list did not bring before its end,
// although they were there: their frames came behind the end. An informer cannot
// know of them then. It is told by the late frame that the list was not complete,
// and reads the state again; until it has, they may be missing.
type gaps struct {
	view view

	mu sync.Mutex
	// allowed is set when the script makes frames change their places. Before
	// that no gap is an excuse.
	allowed bool
	// open are those of the last list, ever those of any.
	open, ever map[types.NamespacedName]bool
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
// is in seen.
func (g *gaps) streamed(version uint64, seen map[types.NamespacedName]bool) {
	open := make(map[types.NamespacedName]bool)
	for epoch := range g.view.truth.now() + 1 {
		for key := range g.view.at(epoch, version) {
			if !seen[key] {
				open[key] = true
			}
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = open
	maps.Copy(g.ever, open)
}

// listed notes the end of a list in pages.
func (g *gaps) listed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = nil
}

// excuse reports whether an object may be missing in the store until the next
// list.
func (g *gaps) excuse(key types.NamespacedName) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.allowed && g.open[key]
}

// excused reports whether an object may have been missing at some time.
func (g *gaps) excused(key types.NamespacedName) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.allowed && g.ever[key]
}
