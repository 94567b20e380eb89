package cacher

import (
	"context"
	"time"
)

// faults are what tests do to a cache. The lock of the cache guards them.
type faults struct {
	// thawed is closed by the end of a freeze; nil if there is none.
	thawed chan struct{}
	// suspended is closed by Resume; nil while the cache may read.
	suspended chan struct{}
	// refusing makes requests fail at once while the cache is not ready.
	refusing bool
}

// Freeze first lets the cache come as far as the store is now, and then holds
// back whatever its reader brings, until [Cacher.Thaw]: the cache of a replica
// that has lost touch with etcd. Reads at any version and open watches stay as
// they are; what needs a newer state fails as with a cache that lags. A cache
// that cannot catch up is an error, and then is not frozen.
func (c *Cacher) Freeze(ctx context.Context) error {
	current, err := c.store.CurrentRevision(ctx)
	if err != nil {
		return err
	}
	c.mu.RLock()
	frozen := c.thawed != nil
	c.mu.RUnlock()
	if frozen {
		return nil
	}
	if err := c.wait(ctx, current); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.thawed == nil {
		c.thawed = make(chan struct{})
	}
	return nil
}

// CatchUp lets the cache come as far as the store is now, with the errors of a
// read that must be as new. A cache that is frozen or suspended stays as it is,
// without an error.
func (c *Cacher) CatchUp(ctx context.Context) error {
	current, err := c.store.CurrentRevision(ctx)
	if err != nil {
		return err
	}
	c.mu.RLock()
	held := c.thawed != nil || c.suspended != nil
	c.mu.RUnlock()
	if held {
		return nil
	}
	return c.wait(ctx, current)
}

// Thaw ends a freeze. What was held back is told now, in order.
func (c *Cacher) Thaw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.thawed != nil {
		close(c.thawed)
		c.thawed = nil
	}
}

// Suspend makes the cache forget its state and read nothing until
// [Cacher.Resume]; watches end. When it returns, nothing that was read before
// can come any more. Requests that need the cache wait for it as usual, or, if
// refuse is true, fail at once with the 429 of a cache that is not ready. A
// cache that is suspended already stays as it is, and Suspend returns false.
func (c *Cacher) Suspend(refuse bool) bool {
	c.mu.Lock()
	if c.suspended != nil {
		c.mu.Unlock()
		return false
	}
	c.suspended, c.refusing, c.unready = make(chan struct{}), refuse, time.Now()
	run := c.reading
	c.wakeReaders()
	c.mu.Unlock()
	if run != nil {
		run.end()
		<-run.ended
	}
	return true
}

// Resume ends a suspension: the cache reads its state anew.
func (c *Cacher) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusing = false
	if c.suspended != nil {
		close(c.suspended)
		c.suspended = nil
	}
}

// lockThawed takes the lock when the cache is not frozen. The error, without the
// lock, is that of the end of reading.
func (c *Cacher) lockThawed() error {
	for {
		c.mu.Lock()
		thawed, run := c.thawed, c.reading
		if thawed == nil {
			return nil
		}
		c.mu.Unlock()
		select {
		case <-thawed:
		case <-run.ctx.Done():
			return run.ctx.Err()
		}
	}
}
