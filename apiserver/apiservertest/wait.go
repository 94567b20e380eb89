package apiservertest

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"heliograph.example/apiserver/endpoints"
)

const (
	// catchUpTime is how long CatchUp waits before it says that a client has
	// stopped following.
	catchUpTime = 30 * time.Second
	// longestPause is the longest time between two looks at something that
	// is waited for.
	longestPause = time.Second
)

// CatchUp waits until all open watches have been told of everything that was
// written before the call, and then until each of the given stores has come as
// far. A store is given by the function that tells its resource version, as
// pods.Store().Version of an informer. The server sends bookmarks for it, so a
// store need not be told of an event to know that it is up to date; one whose
// client does not permit bookmarks must not be given. A store that has yet to
// connect is waited for, 30 seconds long.
//
// What handlers and workers do with what the stores have is another matter: see
// [Eventually], or synctest.Wait in a bubble.
func (s *Server) CatchUp(stores ...func() string) {
	s.t.Helper()
	s.CatchUpWhere(nil, stores...)
}

// CatchUpWhere is CatchUp for those watches only whose requests which accepts.
func (s *Server) CatchUpWhere(which func(endpoints.Request) bool, stores ...func() string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), catchUpTime)
	defer cancel()
	target, err := s.Server.CatchUp(ctx, which)
	for pause := time.Millisecond; err == nil; pause = min(2*pause, longestPause) {
		lag := lagging(stores, target)
		if lag == nil {
			return
		}
		select {
		case <-time.After(pause):
			// Those that have connected since need a bookmark, too.
			_, err = s.Server.CatchUp(ctx, which)
		case <-ctx.Done():
			err = lag
		}
	}
	s.t.Fatal(err)
}

// lagging tells of the first store that is older than a version.
func lagging(stores []func() string, target uint64) error {
	for i, store := range stores {
		version := store()
		if v, err := strconv.ParseUint(version, 10, 64); version != "" && err != nil {
			return fmt.Errorf("catch up: store %d: %w", i, err)
		} else if v < target {
			return fmt.Errorf("catch up: store %d is at version %q, the server at %d", i, version, target)
		}
	}
	return nil
}

// Eventually calls check until it returns nil, with growing pauses of at most a
// second between the calls. If that takes longer than within, the test ends with
// the last error. In a bubble of testing/synctest the time is virtual, so an hour
// costs nothing.
func Eventually(t testing.TB, within time.Duration, check func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for pause := time.Millisecond; ; pause = min(2*pause, longestPause) {
		err := check()
		if err == nil {
			return
		}
		left := time.Until(deadline)
		if left <= 0 {
			t.Fatalf("not within %v: %v", within, err)
		}
		select {
		case <-time.After(min(pause, left)):
		case <-t.Context().Done():
			t.Fatal(err)
		}
	}
}
