package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// progress prints how far things are, at once for steps and every half second
// for counts.
type progress struct {
	mu     sync.Mutex
	out    io.Writer
	start  time.Time
	writes atomic.Int64
}

func newProgress(out io.Writer) *progress { return &progress{out: out, start: time.Now()} }

// wrote counts one write to the server.
func (p *progress) wrote() { p.writes.Add(1) }

// step prints one line.
func (p *progress) step(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, "%5.1fs  %s\n", time.Since(p.start).Seconds(), fmt.Sprintf(format, args...))
}

// every prints what line returns each half second until ctx ends.
func (p *progress) every(ctx context.Context, line func() string) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.step("%s", line())
		case <-ctx.Done():
			return
		}
	}
}
