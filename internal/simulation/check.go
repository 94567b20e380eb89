package simulation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
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
	// checkMark: an object is marked as old if and only if its newest state cannot
	// be used.
	checkMark = "an object is marked as broken and is not"
	// checkIndex: an index lists what its function says.
	checkIndex = "an index does not agree with the store"
	// checkSnapshot: a snapshot shows the state of its beginning.
	checkSnapshot = "a snapshot has changed"
	// checkFloor: nothing older than the minimum is ever held.
	checkFloor = "the store holds what is older than its minimum"
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
