package fault

import (
	"context"
	"net"
	"slices"
	"sync"
	"sync/atomic"
)

// Network is a listener whose connections can turn into black holes: they stay
// open, but nothing is read or written any more, and neither side is told. It
// stands between a server and its real listener. Make one with [NewNetwork].
type Network struct {
	net.Listener

	hole  atomic.Bool
	mu    sync.Mutex
	conns []*conn // that are open towards the client
}

// NewNetwork returns a network over a listener.
func NewNetwork(l net.Listener) *Network { return &Network{Listener: l} }

// Accept implements [net.Listener].
func (n *Network) Accept() (net.Conn, error) {
	inner, err := n.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: inner, network: n, changed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	c.hole = n.hole.Load()
	n.conns = append(n.conns, c)
	return c, nil
}

// BlackHole turns all connections, and those that will be accepted, into black
// holes, or, if on is false, back into what they were: what was on its way then
// arrives. A connection that [BlackHole] was called for stays one.
func (n *Network) BlackHole(on bool) {
	n.hole.Store(on)
	for _, c := range n.open() {
		c.set(func() { c.hole = n.hole.Load() })
	}
}

// Abandon closes all connections that are black holes, on both sides. A server
// that stops calls it, because nothing else ends them.
func (n *Network) Abandon() {
	for _, c := range n.open() {
		c.set(func() { c.closed = c.closed || c.hole || c.lost; c.hole, c.lost = false, false })
	}
}

func (n *Network) open() []*conn {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.conns)
}

func (n *Network) remove(c *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := slices.Index(n.conns, c); i >= 0 {
		n.conns = slices.Delete(n.conns, i, i+1)
	}
}

type connKey struct{}

// ConnContext is the hook of that name of an http.Server over a Network. It lets
// [BlackHole] find the connection of a request.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// BlackHole turns the connection of a request, known by its context, into a
// black hole for good. It reports whether it could: a server without a Network
// has no such connections.
func BlackHole(request context.Context) bool {
	c, ok := request.Value(connKey{}).(*conn)
	if ok {
		c.set(func() { c.lost = true })
	}
	return ok
}
