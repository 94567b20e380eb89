package apiservertest

import (
	"context"
	"fmt"
	"strings"
	"time"
)

const (
	// reportLines is how many requests and writes a report shows, the newest.
	reportLines = 150
	// reportTime is how long reading the writes may take.
	reportTime = 5 * time.Second
)

// report logs what clients asked for and what was written.
func (s *Server) report() {
	s.t.Helper()
	requests := s.Requests()
	shown := requests[max(0, len(requests)-reportLines):]
	s.t.Logf("the last %d of %d requests to the API server:\n%s", len(shown), s.Mark(), Log(shown))
	writes, err := s.writes()
	if err != nil {
		s.t.Logf("what was written cannot be read: %v", err)
	}
	s.t.Logf("the last writes to its storage:\n%s", strings.Join(writes, ""))
}

// writes returns a line for each of the newest changes of the storage.
func (s *Server) writes() ([]string, error) {
	// The context of the test may have ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), reportTime)
	defer cancel()
	backend := s.Backend()
	current, err := backend.CurrentRevision(ctx)
	if err != nil {
		return nil, err
	}
	after, err := backend.CompactRevision(ctx)
	if err != nil || after >= current {
		return nil, err
	}
	w, err := backend.Watch(ctx, "/", after)
	if err != nil {
		return nil, err
	}
	defer w.Stop()
	var lines []string
	for read := after; read < current; {
		batch, err := w.Next()
		if err != nil {
			return lines, err
		}
		for _, c := range batch.Changes {
			what := "write "
			switch {
			case c.Deleted:
				what = "delete"
			case c.Previous == nil:
				what = "create"
			}
			lines = append(lines, fmt.Sprintf("%d %s %s\n", c.Revision, what, c.Key))
			read = c.Revision
		}
		read = max(read, batch.Progress)
		lines = lines[max(0, len(lines)-reportLines):]
	}
	return lines, nil
}
