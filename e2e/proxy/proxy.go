package proxy

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// pieceSize is the most that is passed on at once.
const pieceSize = 16 << 10

// Proxy is a running proxy. Its methods may be called by any number of
// goroutines.
type Proxy struct {
	listener net.Listener
	target   string
	running  sync.WaitGroup // what Close waits for

	mu       sync.Mutex
	links    map[*link]struct{} // that are open
	accepted int
	closed   bool
	denied   bool
	pause    time.Duration
	// cuts is how many connections are still to be cut, each when it has
	// brought limit bytes.
	cuts  int
	limit int64
}

// Start makes a proxy that passes on all connections to target, an address as
// net.Dial takes it. It listens on 127.0.0.1.
func Start(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{listener: listener, target: target, links: make(map[*link]struct{})}
	p.running.Go(p.accept)
	return p, nil
}

// Addr is the address to dial in place of the target.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Accepted returns the number of connections that clients have opened so far,
// those that were denied included.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Open returns the number of connections through which something can pass.
func (p *Proxy) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for l := range p.links {
		if !l.forgotten {
			n++
		}
	}
	return n
}

// Pause makes the proxy wait before it passes on a piece of at most 16 KiB, in
// either direction. Zero ends that.
func (p *Proxy) Pause(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pause = d
}

// Cut breaks all open connections with a reset on both sides, wherever they are
// in what they say, and returns their number.
func (p *Proxy) Cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.links)
	for l := range p.links {
		l.cut()
	}
	return n
}

// CutAfter breaks a connection when it has brought that many bytes from the
// target, counted from now on or from its beginning, and does so times times.
func (p *Proxy) CutAfter(times int, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cuts, p.limit = times, bytes
	for l := range p.links {
		l.brought = 0
	}
}

// Forget turns all open connections into black holes, for good: they stay open,
// what is sent is taken and lost, and neither side is told of anything, not even
// of the end of the other. Connections that are opened later are not concerned.
// It returns their number.
func (p *Proxy) Forget() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for l := range p.links {
		if !l.forgotten {
			l.forgotten = true
			n++
		}
	}
	return n
}

// Deny breaks all open connections if on is true, and each new one at once, until
// it is called with false.
func (p *Proxy) Deny(on bool) {
	p.mu.Lock()
	p.denied = on
	p.mu.Unlock()
	if on {
		p.Cut()
	}
}

// Close breaks all connections and returns when nothing of the proxy runs any
// more.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.listener.Close()
	p.Cut()
	p.running.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil // it was closed before
	}
	return err
}

// accept takes connections until the listener is closed.
func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.running.Go(func() { p.serve(client) })
	}
}

// serve passes on one connection until it ends.
func (p *Proxy) serve(client net.Conn) {
	l := &link{proxy: p, client: client, ended: make(chan struct{})}
	if !p.enter(l) {
		return
	}
	defer p.leave(l)
	server, err := net.Dial("tcp", p.target)
	if err != nil || !p.join(l, server) {
		return // nobody is there: the client sees that in a reset
	}
	var both sync.WaitGroup
	both.Go(func() { l.pass(client, server, false) })
	both.Go(func() { l.pass(server, client, true) })
	both.Wait()
}

// enter counts a connection, and takes it in unless it is denied.
func (p *Proxy) enter(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accepted++
	if p.denied || p.closed {
		l.cut()
		return false
	}
	p.links[l] = struct{}{}
	return true
}

// join adds the connection to the target, unless l was cut meanwhile.
func (p *Proxy) join(l *link, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.server = server
	if l.isCut {
		reset(server)
	}
	return !l.isCut
}

func (p *Proxy) leave(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.cut()
	delete(p.links, l)
}
