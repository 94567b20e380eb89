// Package versionclock says how far somebody has come in the resource versions
// of one collection, and tells those who wait for a version.
//
// A waiter costs a place in a heap: no goroutine, no timer, and nothing while
// the clock stays below its version.
package versionclock

import (
	"container/heap"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// What ends a wait without success.
var (
	// ErrVersion marks a version to wait for that is no version: it must be a
	// positive decimal number without leading zeros, as Kubernetes promises
	// since 1.35 that it can be compared.
	ErrVersion = errors.New("not a resource version that can be compared")
	// ErrIncomparable marks a collection whose versions have no order.
	ErrIncomparable = errors.New("the versions of the collection cannot be compared")
	// ErrEpoch marks a server that went back in time.
	ErrEpoch = errors.New("the server went back in time, versions from before mean nothing")
)

// Clock is the newest version that was reached. The zero value has reached
// none. Its methods are safe for concurrent use.
type Clock struct {
	mu      sync.Mutex
	version string
	// unordered is set once a version came that cannot be compared.
	unordered bool
	waiting   waiting
}

// Waiter is somebody who waits for a version.
type Waiter struct {
	version string
	tell    func(error)
	// place is the index in the heap, or gone.
	place int
}

const gone = -1

// Check returns an error that wraps ErrVersion if nobody can wait for version.
func Check(version string) error {
	if _, err := resourceversion.CompareResourceVersion(version, version); err != nil {
		return fmt.Errorf("%w: %q", ErrVersion, version)
	}
	return nil
}

// Version returns the version that was reached last, empty if none was.
func (c *Clock) Version() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// Advance moves the clock to version, never back, and tells those who waited
// for that. A version that cannot be compared ends all waits.
func (c *Clock) Advance(version string) {
	c.mu.Lock()
	if c.unordered = Check(version) != nil; c.unordered {
		c.version = version
		c.failAndUnlock(ErrIncomparable)
		return
	}
	if order, err := resourceversion.CompareResourceVersion(version, c.version); err == nil && order < 0 {
		c.mu.Unlock()
		return
	}
	c.version = version
	if len(c.waiting) == 0 || !reaches(version, c.waiting[0].version) {
		c.mu.Unlock()
		return
	}
	var due []*Waiter
	for len(c.waiting) > 0 && reaches(version, c.waiting[0].version) {
		due = append(due, heap.Pop(&c.waiting).(*Waiter))
	}
	c.mu.Unlock()
	for _, w := range due {
		w.tell(nil)
	}
}

// Restart begins a new epoch at version: all waits end with ErrEpoch.
func (c *Clock) Restart(version string) {
	c.mu.Lock()
	c.version, c.unordered = version, Check(version) != nil
	c.failAndUnlock(ErrEpoch)
}

// Fail ends all waits with err.
func (c *Clock) Fail(err error) {
	c.mu.Lock()
	c.failAndUnlock(err)
}

func (c *Clock) failAndUnlock(err error) {
	failed := c.waiting
	c.waiting = nil
	for _, w := range failed {
		w.place = gone
	}
	c.mu.Unlock()
	for _, w := range failed {
		w.tell(err)
	}
}

// Await calls tell once: with nil when version is reached, at once if it is, or
// with what ended the wait. tell is called without a lock, by whoever moves the
// clock, and must not block. A version that is none is an error, and then tell
// is not called.
func (c *Clock) Await(version string, tell func(error)) (*Waiter, error) {
	if err := Check(version); err != nil {
		return nil, err
	}
	w := &Waiter{version: version, tell: tell, place: gone}
	c.mu.Lock()
	switch {
	case c.unordered:
		c.mu.Unlock()
		tell(ErrIncomparable)
	case reaches(c.version, version):
		c.mu.Unlock()
		tell(nil)
	default:
		heap.Push(&c.waiting, w)
		c.mu.Unlock()
	}
	return w, nil
}

// Forget ends a wait, and reports whether tell has not been called and will
// not be.
func (c *Clock) Forget(w *Waiter) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.place == gone {
		return false
	}
	heap.Remove(&c.waiting, w.place)
	return true
}

// reaches reports whether a clock at version is as far as wanted. A clock that
// has no version yet is nowhere.
func reaches(version, wanted string) bool {
	order, err := resourceversion.CompareResourceVersion(version, wanted)
	return err == nil && order >= 0
}

// waiting is a heap by version.
type waiting []*Waiter

// Len, Less, Swap, Push and Pop are those of container/heap.
func (h waiting) Len() int { return len(h) }

func (h waiting) Less(i, j int) bool {
	order, _ := resourceversion.CompareResourceVersion(h[i].version, h[j].version)
	return order < 0
}

func (h waiting) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *waiting) Push(w any) {
	w.(*Waiter).place = len(*h)
	*h = append(*h, w.(*Waiter))
}

func (h *waiting) Pop() any {
	last := len(*h) - 1
	w := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	w.place = gone
	return w
}
