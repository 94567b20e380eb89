package apiserver

import (
	"net"
	"net/http"
	"sync"
)

// connections follows the state of the connections of an http.Server, so that
// stopping can wait until answers are out, and then until all are gone. (The
// Shutdown of http.Server polls, and waits seconds for a connection on which
// nothing was ever sent.)
type connections struct {
	mu     sync.Mutex
	states map[net.Conn]http.ConnState
	active int // connections in the middle of a request
	// changed is closed and replaced when a connection leaves a state that
	// someone may be waiting for the end of.
	changed chan struct{}
}

func newConnections() *connections {
	return &connections{states: make(map[net.Conn]http.ConnState), changed: make(chan struct{})}
}

// track is the ConnState hook of the server.
func (c *connections) track(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.states[conn] == http.StateActive {
		c.active--
	}
	if state == http.StateActive {
		c.active++
	}
	if state == http.StateClosed || state == http.StateHijacked {
		delete(c.states, conn)
	} else {
		c.states[conn] = state
	}
	if state != http.StateActive && state != http.StateNew {
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

// quiet reports whether no connection is in the middle of a request, and gives
// a channel that is closed when that may have changed.
func (c *connections) quiet() (bool, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.active == 0, c.changed
}

// none is quiet for all connections, whatever they do.
func (c *connections) none() (bool, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.states) == 0, c.changed
}

// wait waits until ready says true or giveUp is closed; a nil giveUp never is.
func wait(ready func() (bool, <-chan struct{}), giveUp <-chan struct{}) {
	for {
		ok, changed := ready()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-giveUp:
			return
		}
	}
}
