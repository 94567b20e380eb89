package proxy_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"heliograph.example/e2e/proxy"
)

// patience is ample for what happens on one machine. It only ends a test that
// has failed.
const patience = 30 * time.Second

// echo is a server that sends back what it gets. It returns its address.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer c.Close()
				io.Copy(c, c) // its end is that of the test
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		running.Wait()
	})
	return listener.Addr().String()
}

func start(t *testing.T, target string) *proxy.Proxy {
	t.Helper()
	p, err := proxy.Start(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func dial(t *testing.T, p *proxy.Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c
}

// talk says something and returns an error unless it comes back.
func talk(c net.Conn, said []byte) error {
	var wrote error
	var writing sync.WaitGroup
	writing.Go(func() { _, wrote = c.Write(said) })
	heard := make([]byte, len(said))
	_, err := io.ReadFull(c, heard)
	writing.Wait()
	if err == nil && !bytes.Equal(said, heard) {
		err = errors.New("something else came back")
	}
	return errors.Join(wrote, err)
}

// ended waits for the end of a connection.
func ended(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the connection does not end")
	}
}

// turnedAway opens a connection that is expected to be broken at once, which the
// dialer may see already.
func turnedAway(t *testing.T, p *proxy.Proxy) {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		return
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	ended(t, c)
}

func TestAProxyPassesOnWhatIsSaidAndItsEnd(t *testing.T) {
	p := start(t, echo(t))
	c := dial(t, p)
	if err := talk(c, bytes.Repeat([]byte("0123456789"), 100_000)); err != nil {
		t.Error(err)
	}
	if open, accepted := p.Open(), p.Accepted(); open != 1 || accepted != 1 {
		t.Errorf("%d of %d connections are open, want 1 of 1", open, accepted)
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(c); len(rest) > 0 || err != nil {
		t.Errorf("after the end there is %q, %v", rest, err)
	}
}

func TestACutBreaksWhatIsOpenAndNothingElse(t *testing.T) {
	p := start(t, echo(t))
	first := dial(t, p)
	if err := talk(first, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if n := p.Cut(); n != 1 {
		t.Errorf("%d connections were cut, want 1", n)
	}
	if _, err := first.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the connection ended with %v, want a reset", err)
	}
	if err := talk(dial(t, p), []byte("hello again")); err != nil {
		t.Errorf("the next connection: %v", err)
	}
}

func TestConnectionsAreCutAfterWhatTheyHaveBrought(t *testing.T) {
	p := start(t, echo(t))
	c := dial(t, p)
	said := make([]byte, 60_000)
	if err := talk(c, said); err != nil {
		t.Fatal(err)
	}
	// The open one counts from now.
	p.CutAfter(2, 100_000)
	if err := talk(c, said); err != nil {
		t.Errorf("it was cut after 60,000 bytes: %v", err)
	}
	if err := talk(c, said); err == nil {
		t.Error("it was not cut after 120,000 bytes")
	}
	if err := talk(dial(t, p), make([]byte, 200_000)); err == nil {
		t.Error("the second one was not cut")
	}
	if err := talk(dial(t, p), make([]byte, 200_000)); err != nil {
		t.Errorf("the third one was cut: %v", err)
	}
}

func TestAForgottenConnectionIsSilentForBothSides(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	p := start(t, listener.Addr().String())
	client := dial(t, p)
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if _, err := client.Write([]byte("a")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(server, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if n := p.Forget(); n != 1 || p.Open() != 0 {
		t.Errorf("%d connections were forgotten, and %d are open; want 1 and 0", n, p.Open())
	}
	if _, err := client.Write(make([]byte, 1<<20)); err != nil {
		t.Errorf("what the client says is not taken: %v", err)
	}
	client.Close()
	// What is said, and the end, would have come by now if they came at all: a
	// connection that was opened later gets through.
	later := dial(t, p)
	if _, err := later.Write([]byte("b")); err != nil {
		t.Fatal(err)
	}
	second, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if _, err := io.ReadFull(second, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := server.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := server.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the server was told %d bytes, %v", n, err)
	}
}

func TestADeniedClientIsTurnedAwayUntilItIsNot(t *testing.T) {
	p := start(t, echo(t))
	c := dial(t, p)
	if err := talk(c, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	p.Deny(true)
	ended(t, c)
	turnedAway(t, p)
	p.Deny(false)
	if err := talk(dial(t, p), []byte("hello")); err != nil {
		t.Error(err)
	}
	if n := p.Accepted(); n != 3 {
		t.Errorf("%d connections were accepted, want 3", n)
	}
}

func TestAPauseIsMadeBeforeEachPiece(t *testing.T) {
	p := start(t, echo(t))
	c := dial(t, p)
	const pause = 30 * time.Millisecond
	p.Pause(pause)
	began := time.Now()
	// At least four pieces to the server, and four pieces back, one of each
	// at the same time at best.
	if err := talk(c, make([]byte, 64<<10)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 5*pause {
		t.Errorf("it took %v, want at least %v", took, 5*pause)
	}
	p.Pause(0)
	if err := talk(c, make([]byte, 64<<10)); err != nil {
		t.Error(err)
	}
}

func TestAServerThatIsNotThereEndsTheConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	turnedAway(t, start(t, listener.Addr().String()))
}

func TestAProxyCanBeClosedWhileAllIsOpen(t *testing.T) {
	p := start(t, echo(t))
	forgotten := dial(t, p)
	if err := talk(forgotten, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	p.Forget()
	forgotten.Close()
	open := dial(t, p)
	if err := talk(open, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	p.Pause(time.Hour)
	paused := dial(t, p)
	if _, err := paused.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // closing twice is no error
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	ended(t, open)
	ended(t, paused)
}
