package fault

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// direction is that of bytes as a server sees them.
type direction int

const (
	reading direction = iota
	writing
)

// conn is the server's side of a connection of a [Network].
type conn struct {
	net.Conn
	network *Network

	mu sync.Mutex
	// hole is set while the network is a black hole, lost when this
	// connection is one for good.
	hole, lost bool
	// closed says that the server has closed its side, which the client of a
	// black hole is not told.
	closed    bool
	deadlines [2]time.Time
	timers    [2]*time.Timer
	// changed is closed and replaced whenever something above changes.
	changed chan struct{}

	// kept is what arrived when the connection was a black hole already. It
	// belongs to the goroutine that reads.
	kept    []byte
	keptErr error

	released sync.Once
}

// set changes the state of the connection, and wakes who waits for that. If the
// server has closed it, and the client can be told, that is done.
func (c *conn) set(change func()) {
	c.mu.Lock()
	change()
	close(c.changed)
	c.changed = make(chan struct{})
	release := c.closed && !c.hole && !c.lost
	c.mu.Unlock()
	if release {
		c.released.Do(func() {
			c.network.remove(c)
			// The server has finished with it: nobody is left to be told.
			_ = c.Conn.Close()
		})
	}
}

// pass waits while the connection is a black hole. The error is that of the
// server's deadline, or of its own closing.
func (c *conn) pass(d direction) error {
	for {
		c.mu.Lock()
		closed, hole, deadline, changed := c.closed, c.hole || c.lost, c.deadlines[d], c.changed
		c.mu.Unlock()
		switch {
		case closed:
			return net.ErrClosed
		case !hole:
			return nil
		case !deadline.IsZero() && !time.Now().Before(deadline):
			return os.ErrDeadlineExceeded
		}
		<-changed
	}
}

// isHole reports whether nothing may pass now.
func (c *conn) isHole() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hole || c.lost
}

// Read implements [net.Conn].
func (c *conn) Read(b []byte) (int, error) {
	for {
		if err := c.pass(reading); err != nil {
			return 0, err
		}
		if len(c.kept) > 0 || c.keptErr != nil {
			n := copy(b, c.kept)
			c.kept = c.kept[n:]
			if n > 0 || len(b) == 0 {
				return n, nil
			}
			return 0, c.keptErr
		}
		n, err := c.Conn.Read(b)
		if !c.isHole() || n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		// It came too late.
		c.kept, c.keptErr = append([]byte(nil), b[:n]...), err
	}
}

// Write implements [net.Conn].
func (c *conn) Write(b []byte) (int, error) {
	if err := c.pass(writing); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// Close implements [net.Conn]. The client of a black hole is not told.
func (c *conn) Close() error {
	c.set(func() {
		c.closed = true
		for _, timer := range c.timers {
			if timer != nil {
				timer.Stop()
			}
		}
	})
	return nil
}

// CloseWrite lets an http.Server end its side first, where that is possible.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && !c.isHole() {
		return half.CloseWrite()
	}
	return nil
}

// SetDeadline implements [net.Conn].
func (c *conn) SetDeadline(t time.Time) error {
	c.setDeadline(t, reading, writing)
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline implements [net.Conn].
func (c *conn) SetReadDeadline(t time.Time) error {
	c.setDeadline(t, reading)
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline implements [net.Conn].
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.setDeadline(t, writing)
	return c.Conn.SetWriteDeadline(t)
}

// setDeadline keeps a deadline for when the connection is a black hole.
func (c *conn) setDeadline(t time.Time, directions ...direction) {
	c.set(func() {
		for _, d := range directions {
			c.deadlines[d] = t
			if c.timers[d] != nil {
				c.timers[d].Stop()
				c.timers[d] = nil
			}
			if wait := time.Until(t); !t.IsZero() && wait > 0 && !c.closed {
				c.timers[d] = time.AfterFunc(wait, func() { c.set(func() {}) })
			}
		}
	})
}
