package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
)

// crowdCarriers is how many sockets carry the connections of a crowd.
const crowdCarriers = 4

// crowd is very many clients that watch over carried connections. They decode
// nothing, but see to it that every event comes once and in order.
type crowd struct {
	watchers []crowdWatcher
	marks    [][]byte
	carriers []net.Conn
	reading  sync.WaitGroup

	// opened and told are closed when all watches are open and when all have
	// been told of every write. failed has the first error of each carrier.
	opened, told chan struct{}
	failed       chan error
	missing      [2]atomic.Int64 // watchers, for opened and for told
	bytes        atomic.Int64    // of events
}

// crowdWatcher is one of them. It belongs to the goroutine that reads its carrier.
type crowdWatcher struct {
	// rest is the beginning of a line of HTTP or, in a chunk, of an event.
	rest, event []byte
	// chunk is how much of a chunk is yet to come.
	chunk int
	// code says that there was a good status line, open that the header has
	// ended.
	code, open bool
	told       int
}

// line takes a line off data. If its end is not there, rest keeps what is, and
// ok is false. The line is valid until the next call.
func line(data []byte, rest *[]byte) (line, after []byte, ok bool) {
	end := bytes.IndexByte(data, '\n')
	if end < 0 {
		*rest = append(*rest, data...)
		return nil, nil, false
	}
	line = data[:end]
	if len(*rest) > 0 {
		*rest = append(*rest, line...)
		line, *rest = *rest, (*rest)[:0]
	}
	return line, data[end+1:], true
}

func newCrowd(n int) *crowd {
	c := &crowd{
		watchers: make([]crowdWatcher, n),
		opened:   make(chan struct{}), told: make(chan struct{}),
		failed: make(chan error, crowdCarriers),
	}
	for i := range c.missing {
		c.missing[i].Store(int64(n))
	}
	for i := range watcherWrites {
		c.marks = append(c.marks, fmt.Appendf(nil, "%q:%q", "name", crowdName(i)))
	}
	return c
}

func crowdName(i int) string { return fmt.Sprintf("m%03d", i) }

// open opens all watches, from a version on.
func (c *crowd) open(ctx context.Context, addr, version string) error {
	request := fmt.Appendf(nil, "GET /api/v1/namespaces/default/configmaps?watch=true&allowWatchBookmarks=true&resourceVersion=%s HTTP/1.1\r\n"+
		"Host: %s\r\nUser-Agent: bench\r\nAccept: application/json\r\n\r\n", version, addr)
	for range crowdCarriers {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		if err != nil {
			return err
		}
		c.carriers = append(c.carriers, conn)
		c.reading.Go(func() {
			if err := c.read(conn); err != nil {
				c.failed <- err
			}
		})
	}
	for i := range c.watchers {
		frame := make([]byte, carrierHead, carrierHead+len(request))
		putCarrierHead(frame, uint32(i), len(request))
		if _, err := c.carriers[i%crowdCarriers].Write(append(frame, request...)); err != nil {
			return err
		}
	}
	return c.wait(ctx, c.opened)
}

// wait waits for one of the channels of the crowd.
func (c *crowd) wait(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case err := <-c.failed:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%d of %d watches are not open, %d have not been told of everything: %w",
			c.missing[0].Load(), len(c.watchers), c.missing[1].Load(), ctx.Err())
	}
}

// close ends all watches by closing what carries them.
func (c *crowd) close() {
	for _, conn := range c.carriers {
		conn.Close()
	}
	c.reading.Wait()
}

// read takes what one carrier brings until it is closed.
func (c *crowd) read(conn net.Conn) error {
	in := bufio.NewReaderSize(conn, 256<<10)
	var head [carrierHead]byte
	var data []byte
	for {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("a socket that carries watches: %w", err)
		}
		id, size := binary.BigEndian.Uint32(head[:]), int(binary.BigEndian.Uint32(head[4:]))
		if size == 0 {
			return fmt.Errorf("the connection of watcher %d was closed", id)
		}
		if size > cap(data) {
			data = make([]byte, size)
		}
		if _, err := io.ReadFull(in, data[:size]); err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("a socket that carries watches: %w", err)
		}
		if err := c.take(&c.watchers[id], data[:size]); err != nil {
			return fmt.Errorf("watcher %d, after %d events: %w", id, c.watchers[id].told, err)
		}
	}
}

// take takes a part of an answer.
func (c *crowd) take(w *crowdWatcher, data []byte) error {
	for len(data) > 0 {
		if w.chunk > 0 {
			part := data[:min(len(data), w.chunk)]
			data = data[len(part):]
			w.chunk -= len(part)
			if err := c.takeEvents(w, part); err != nil {
				return err
			}
			continue
		}
		text, after, ok := line(data, &w.rest)
		if !ok {
			return nil
		}
		if err := c.takeLine(w, bytes.TrimSuffix(text, []byte("\r"))); err != nil {
			return err
		}
		data = after
	}
	return nil
}

// takeLine takes a line of HTTP: one of the header, the size of a chunk, or the
// empty one that ends the header or a chunk.
func (c *crowd) takeLine(w *crowdWatcher, text []byte) error {
	switch {
	case !w.code:
		if !bytes.HasPrefix(text, []byte("HTTP/1.1 200 ")) {
			return fmt.Errorf("the answer is %q", text)
		}
		w.code = true
	case !w.open:
		if len(text) == 0 {
			w.open = true
			c.arrived(0, c.opened)
		}
	case len(text) > 0:
		size, err := strconv.ParseUint(string(text), 16, 31)
		if err != nil {
			return fmt.Errorf("the size of a chunk: %w", err)
		}
		if size == 0 {
			return errors.New("the watch was ended")
		}
		w.chunk = int(size)
	}
	return nil
}

// takeEvents takes a part of the stream of events.
func (c *crowd) takeEvents(w *crowdWatcher, data []byte) error {
	for {
		event, after, ok := line(data, &w.event)
		if !ok {
			return nil
		}
		data = after
		if bytes.HasPrefix(event, []byte(`{"type":"BOOKMARK"`)) {
			continue
		}
		if w.told == len(c.marks) || !bytes.HasPrefix(event, []byte(`{"type":"ADDED"`)) || !bytes.Contains(event, c.marks[w.told]) {
			return fmt.Errorf("the next is %q", event)
		}
		w.told++
		c.bytes.Add(int64(len(event) + 1))
		if w.told == len(c.marks) {
			c.arrived(1, c.told)
		}
	}
}

func (c *crowd) arrived(what int, all chan struct{}) {
	if c.missing[what].Add(-1) == 0 {
		close(all)
	}
}
