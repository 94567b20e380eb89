package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
)

// carrierHead is the size of what precedes data on a carrier: the number of the
// connection and the length of the data, four bytes each. No data means that the
// connection is closed.
const carrierHead = 8

func putCarrierHead(head []byte, id uint32, size int) {
	binary.BigEndian.PutUint32(head, id)
	binary.BigEndian.PutUint32(head[4:], uint32(size))
}

// carrierListener is a listener on TCP whose connections also come over carriers:
// sockets that have many connections in them, because few systems let a process
// have a file for each of 20,000.
type carrierListener struct {
	net.Listener // of ordinary connections
	carriers     net.Listener

	conns   chan net.Conn
	done    chan struct{}
	once    sync.Once
	running sync.WaitGroup
}

func listenCarriers() (*carrierListener, error) {
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	carriers, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, plain.Close())
	}
	l := &carrierListener{Listener: plain, carriers: carriers, conns: make(chan net.Conn), done: make(chan struct{})}
	l.running.Go(func() { l.accept(plain, l.give) })
	l.running.Go(func() {
		l.accept(carriers, func(conn net.Conn) {
			l.running.Go(func() { l.carry(&carrier{conn: conn}) })
		})
	})
	return l, nil
}

// accept takes connections until from is closed.
func (l *carrierListener) accept(from net.Listener, take func(net.Conn)) {
	for {
		conn, err := from.Accept()
		if err != nil {
			return
		}
		take(conn)
	}
}

// give hands a connection to the server.
func (l *carrierListener) give(conn net.Conn) {
	select {
	case l.conns <- conn:
	case <-l.done:
		conn.Close()
	}
}

// Accept implements net.Listener.
func (l *carrierListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Carriers go on until their clients close them;
// wait waits for that.
func (l *carrierListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return errors.Join(l.Listener.Close(), l.carriers.Close())
}

func (l *carrierListener) wait() { l.running.Wait() }

// carry passes on what comes over a carrier until it is closed, and makes a
// connection of each new number.
func (l *carrierListener) carry(c *carrier) {
	defer c.conn.Close()
	clients := make(map[uint32]net.Conn)
	defer func() {
		for _, client := range clients {
			client.Close()
		}
	}()
	in := bufio.NewReader(c.conn)
	var head [carrierHead]byte
	for {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return
		}
		id, size := binary.BigEndian.Uint32(head[:]), int64(binary.BigEndian.Uint32(head[4:]))
		client := clients[id]
		if client == nil {
			var served net.Conn
			client, served = net.Pipe()
			clients[id] = client
			l.give(&carriedConn{Conn: served, carrier: c, id: id})
		}
		if _, err := io.CopyN(client, in, size); err != nil {
			return
		}
	}
}

// carrier is a socket that carries connections.
type carrier struct {
	conn net.Conn

	mu    sync.Mutex
	head  [carrierHead]byte
	parts [2][]byte
}

// write sends data of a connection.
func (c *carrier) write(id uint32, data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	putCarrierHead(c.head[:], id, len(data))
	c.parts = [2][]byte{c.head[:], data}
	all := net.Buffers(c.parts[:])
	_, err := all.WriteTo(c.conn)
	return err
}

// carriedConn is the server's side of a connection. It is read from a pipe, which
// has the deadlines that an http.Server needs for reading, and written to the
// carrier.
type carriedConn struct {
	net.Conn
	carrier *carrier
	id      uint32
	closed  sync.Once
}

// Write implements net.Conn.
func (c *carriedConn) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if err := c.carrier.write(c.id, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Close implements net.Conn. A client that has gone cannot be told.
func (c *carriedConn) Close() error {
	c.closed.Do(func() { _ = c.carrier.write(c.id, nil) })
	return c.Conn.Close()
}
