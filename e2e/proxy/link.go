package proxy

import (
	"net"
	"time"
)

// link is a connection with its two halves.
type link struct {
	proxy          *Proxy
	client, server net.Conn
	ended          chan struct{} // closed when it is cut

	// What follows is guarded by the proxy's lock.

	isCut     bool
	forgotten bool
	brought   int64 // bytes from the target, for CutAfter
}

// cut breaks both halves. The caller holds the proxy's lock.
func (l *link) cut() {
	if l.isCut {
		return
	}
	l.isCut = true
	close(l.ended)
	reset(l.client)
	if l.server != nil {
		reset(l.server)
	}
}

// reset closes a connection so that the peer does not take it for an orderly end.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it closes either way
	}
	_ = c.Close() // nothing is left that could be lost
}

// pass passes on what comes from one half until an end of either, or until the
// link is cut. An orderly end of one half is one of the other too; a forgotten
// link waits to be cut.
func (l *link) pass(from, to net.Conn, fromServer bool) {
	buf := make([]byte, pieceSize)
	for {
		n, err := from.Read(buf)
		deliver := n
		if n > 0 {
			if deliver = l.admit(n, fromServer); deliver < 0 {
				return
			}
		}
		if deliver > 0 {
			if _, failed := to.Write(buf[:deliver]); failed != nil && err == nil {
				err = failed
			}
		}
		if err != nil {
			l.end(to)
			return
		}
	}
}

// admit waits for the pause and returns how many of n bytes may pass: 0 if they
// are lost, and less than 0 if the link was cut.
func (l *link) admit(n int, fromServer bool) int {
	p := l.proxy
	p.mu.Lock()
	pause := p.pause
	p.mu.Unlock()
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.ended:
			return -1
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case l.isCut:
		return -1
	case l.forgotten:
		return 0
	case !fromServer:
		return n
	}
	l.brought += int64(n)
	if p.cuts > 0 && l.brought >= p.limit {
		p.cuts--
		l.cut()
		return -1
	}
	return n
}

// end ends the other half in good order after what has passed, unless the link is
// forgotten: then nobody is told until it is cut.
func (l *link) end(other net.Conn) {
	l.proxy.mu.Lock()
	forgotten := l.forgotten
	l.proxy.mu.Unlock()
	if forgotten {
		<-l.ended
		return
	}
	if tcp, ok := other.(*net.TCPConn); ok {
		_ = tcp.CloseWrite() // a peer that is gone needs no end
	}
}
