package main

import (
	"context"
	"fmt"
	"sync/atomic"
)

const (
	// stage is how often a handler tells of its progress, and what numbers of
	// events are rounded up to.
	stage = 512
	// window is how far a feeder runs ahead of the slowest handler. It keeps
	// Heliograph from folding changes of one object into one, which it does
	// when a handler falls too far behind: both sides must deliver the same
	// number of calls.
	window = 8 * stage
)

// counter counts the calls of one handler. Only the handler writes.
type counter struct {
	adds, updates, deletes atomic.Int64
	progress               chan<- struct{}
	// Counters of different handlers are kept on different cache lines.
	_ [128]byte
}

func (c *counter) add()    { c.adds.Add(1) }
func (c *counter) delete() { c.deletes.Add(1) }

func (c *counter) update() {
	if c.updates.Add(1)%stage == 0 {
		select {
		case c.progress <- struct{}{}:
		default: // a token is there; whoever takes it looks at all counters
		}
	}
}

// delivery is what all handlers have been told.
type delivery struct {
	counters []*counter
	progress chan struct{}
}

func newDelivery(handlers int) *delivery {
	d := &delivery{progress: make(chan struct{}, 1)}
	for range handlers {
		d.counters = append(d.counters, &counter{progress: d.progress})
	}
	return d
}

// await waits until every handler was told of n updates, a multiple of stage.
func (d *delivery) await(ctx context.Context, n int) error {
	for d.slowest() < int64(n) {
		select {
		case <-d.progress:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d updates arrived at the slowest handler: %w", d.slowest(), n, ctx.Err())
		}
	}
	return nil
}

func (d *delivery) slowest() int64 {
	least := d.counters[0].updates.Load()
	for _, c := range d.counters[1:] {
		least = min(least, c.updates.Load())
	}
	return least
}

// check fails unless every handler was told of exactly so many changes.
func (d *delivery) check(adds, updates int) error {
	for n, c := range d.counters {
		a, u, x := c.adds.Load(), c.updates.Load(), c.deletes.Load()
		if a != int64(adds) || u != int64(updates) || x != 0 {
			return fmt.Errorf("handler %d was told of %d adds, %d updates and %d deletes, want %d, %d and 0", n, a, u, x, adds, updates)
		}
	}
	return nil
}
