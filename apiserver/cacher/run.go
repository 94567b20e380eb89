package cacher

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"heliograph.example/reflector"
)

// reading is one run of a reader.
type reading struct {
	ctx   context.Context
	end   context.CancelFunc
	ended chan struct{}
}

// Run keeps the cache until ctx ends; then all watches end, and requests that
// need the cache are refused. It must be called exactly once, in a goroutine
// that the caller waits for. Until a request needs the cache, Run only waits for
// one: a resource that nobody reads costs one parked goroutine.
func (c *Cacher) Run(ctx context.Context) error {
	c.mu.Lock()
	again := c.running
	c.running = true
	c.mu.Unlock()
	if again {
		return fmt.Errorf("%s: %w", c.resource, ErrRunning)
	}
	defer c.stop()
	select {
	case <-c.wanted:
	case <-ctx.Done():
		return nil
	}
	for ctx.Err() == nil {
		reader, run := c.beginReading(ctx)
		if reader == nil {
			break
		}
		err := reader.Run(run.ctx)
		if err == nil && ctx.Err() == nil {
			// Suspend has ended it.
			err = c.renew()
		}
		run.end()
		close(run.ended)
		if err != nil {
			return fmt.Errorf("watch cache of %s: %w", c.resource, err)
		}
	}
	return nil
}

// beginReading waits until the cache may read. It returns nil if ctx ends before
// that.
func (c *Cacher) beginReading(ctx context.Context) (*reflector.Reflector[runtime.Object], *reading) {
	for {
		c.mu.Lock()
		resumed := c.suspended
		if resumed == nil {
			defer c.mu.Unlock()
			run := &reading{ended: make(chan struct{})}
			run.ctx, run.end = context.WithCancel(ctx)
			c.reading = run
			return c.reader, run
		}
		c.mu.Unlock()
		select {
		case <-resumed:
		case <-ctx.Done():
			return nil, nil
		}
	}
}

// renew forgets the state, if there is one, and makes a new reader, which begins
// with a list. All watchers fall off.
func (c *Cacher) renew() error {
	reader, err := reflector.New(source{c.store}, sink{c}, reflector.Options[runtime.Object]{
		// A part of a list has no place in the window.
		Name: c.resource, RelistBudget: -1,
	})
	if err != nil {
		return fmt.Errorf("watch cache of %s: %w", c.resource, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reader, c.reading, c.ready, c.began, c.unready = reader, nil, false, 0, time.Now()
	c.window.Reset(0)
	c.wakeWatchers()
	c.wakeReaders()
	return nil
}
