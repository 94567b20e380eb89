package fault_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"heliograph.example/apiserver/fault"
)

// pipe is a listener that gives out one end of a net.Pipe.
type pipe struct{ server net.Conn }

func (p pipe) Accept() (net.Conn, error) { return p.server, nil }
func (pipe) Close() error                { return nil }
func (pipe) Addr() net.Addr              { return &net.UnixAddr{} }

// connect returns both ends of a connection of a network.
func connect(t *testing.T) (n *fault.Network, server, client net.Conn) {
	t.Helper()
	inner, client := net.Pipe()
	n = fault.NewNetwork(pipe{inner})
	server, err := n.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		n.Abandon()
		server.Close()
		client.Close()
	})
	return n, server, client
}

// async does something that may not come to its end at once.
func async(do func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	return done
}

func readByte(c net.Conn, b *byte) func() error {
	return func() error {
		buf := make([]byte, 1)
		_, err := c.Read(buf)
		*b = buf[0]
		return err
	}
}

func writeByte(c net.Conn, b byte) func() error {
	return func() error {
		_, err := c.Write([]byte{b})
		return err
	}
}

// quiet fails if something has come to its end.
func quiet(t *testing.T, what string, done <-chan error) {
	t.Helper()
	time.Sleep(time.Hour)
	select {
	case err := <-done:
		t.Errorf("%s came to its end: %v", what, err)
	default:
	}
}

func TestABlackHoleHoldsBytesUntilItIsNoneAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, server, client := connect(t)
		var got, told byte
		// The server waits in a read when the hole opens.
		read := async(readByte(server, &got))
		synctest.Wait()
		n.BlackHole(true)
		sent := async(writeByte(client, 'q'))
		write := async(writeByte(server, 'a'))
		heard := async(readByte(client, &told))
		quiet(t, "a read of the server", read)
		quiet(t, "a write of the server", write)
		quiet(t, "a read of the client", heard)
		n.BlackHole(false)
		for name, done := range map[string]<-chan error{"read": read, "write": write, "heard": heard, "sent": sent} {
			if err := <-done; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got != 'q' || told != 'a' {
			t.Errorf("the server got %q, the client %q", got, told)
		}
	})
}

func TestABlackHoleHidesThatASideHasClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, server, client := connect(t)
		n.BlackHole(true)
		heard := async(readByte(client, new(byte)))
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := readByte(server, new(byte))(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a read after the server's own close: %v", err)
		}
		quiet(t, "a read of the client", heard)
		n.BlackHole(false)
		if err := <-heard; !errors.Is(err, io.EOF) {
			t.Errorf("the client is told %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		n, server, client := connect(t)
		read := async(readByte(server, new(byte)))
		synctest.Wait()
		n.BlackHole(true)
		client.Close()
		quiet(t, "a read of the server", read)
		n.BlackHole(false)
		if err := <-read; !errors.Is(err, io.EOF) {
			t.Errorf("the server is told %v", err)
		}
	})
}

func TestDeadlinesOfTheServerHoldInABlackHole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, server, client := connect(t)
		n.BlackHole(true)
		begin := time.Now()
		if err := server.SetDeadline(begin.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		for name, do := range map[string]func() error{"read": readByte(server, new(byte)), "write": writeByte(server, 'x')} {
			if err := do(); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if d := time.Since(begin); d != time.Minute {
			t.Errorf("it took %v", d)
		}
		// A deadline that is moved wakes who waits already, as the one that an
		// http.Server ends its read in the background with.
		if err := server.SetReadDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		read := async(readByte(server, new(byte)))
		quiet(t, "a read without a deadline", read)
		if err := server.SetReadDeadline(time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a read whose deadline is moved: %v", err)
		}
		// And afterwards the connection works.
		if err := errors.Join(server.SetReadDeadline(time.Time{}), server.SetWriteDeadline(time.Time{})); err != nil {
			t.Fatal(err)
		}
		n.BlackHole(false)
		sent := async(writeByte(client, 'y'))
		var got byte
		if err := errors.Join(readByte(server, &got)(), <-sent); err != nil || got != 'y' {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestOneConnectionIsABlackHoleForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, server, client := connect(t)
		if fault.BlackHole(t.Context()) {
			t.Error("a request without a connection became a black hole")
		}
		if !fault.BlackHole(fault.ConnContext(t.Context(), server)) {
			t.Fatal("the connection was not found")
		}
		n.BlackHole(true)
		n.BlackHole(false)
		heard := async(readByte(client, new(byte)))
		write := async(writeByte(server, 'a'))
		quiet(t, "a read of the client", heard)
		quiet(t, "a write of the server", write)
		n.Abandon()
		if err := <-write; !errors.Is(err, net.ErrClosed) {
			t.Errorf("the server's write: %v", err)
		}
		if err := <-heard; !errors.Is(err, io.EOF) {
			t.Errorf("the client's read: %v", err)
		}
	})
}

func TestConnectionsOfAPlainListenerCannotBecomeBlackHoles(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if fault.BlackHole(fault.ConnContext(context.Background(), a)) {
		t.Error("it did")
	}
}
