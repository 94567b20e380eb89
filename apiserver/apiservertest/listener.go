package apiservertest

import (
	"context"
	"net"
	"sync"
)

// listener is a net.Listener whose connections are pipes in memory. Reading and
// writing them blocks in a way that testing/synctest understands.
type listener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newListener() *listener {
	return &listener{conns: make(chan net.Conn), done: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return memoryAddr{} }

// dial connects to the listener, whatever the address.
func (l *listener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// memoryAddr is the address of every listener here. The name is one that no
// network resolves.
type memoryAddr struct{}

// Network implements net.Addr.
func (memoryAddr) Network() string { return "memory" }

// String implements net.Addr.
func (memoryAddr) String() string { return "apiserver.test" }
