package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// liveObjects bounds the number of objects that events go round.
const liveObjects = 5000

// liveBase is added to the number of an event to make its version, so that all
// versions of events have the same length and are newer than those of the
// initial list.
const liveBase = 100_000_000

// liveVersion is the version of an event.
func liveVersion(event int) string { return strconv.Itoa(liveBase + event) }

// lastLiveVersion is the version at which the i-th of so many objects ends up
// after so many events.
func lastLiveVersion(i, objects, events int) string {
	return lastRoundVersion(i, min(objects, liveObjects), events)
}

// lastRoundVersion is the same where events go round n objects.
func lastRoundVersion(i, n, events int) string {
	if i >= n || i >= events {
		return initialVersion(i)
	}
	return liveVersion((events-1-i)/n*n + i)
}

// liveMark has the place of the number of an event in its object: a part of the
// identity of a container, which nobody has seen before.
const liveMark = "fedcba9876543210"

// live sends updates of pods that are encoded before, but for a version and a
// number. The informer under test says how far they may go; it has one watch at
// a time.
type live struct {
	frames []liveFrame

	mu      sync.Mutex
	allowed int
	changed chan struct{} // closed and replaced with allowed
}

// liveFrame is an encoded event and where its version and its number are in it.
type liveFrame struct {
	bytes         []byte
	version, mark int
}

func newLive(w *wire) (*live, error) {
	l := &live{changed: make(chan struct{})}
	for i := range min(w.size, liveObjects) {
		p, ok := w.set.object(i).(*corev1.Pod)
		if !ok {
			return nil, errors.New("there are events of pods only")
		}
		p.ResourceVersion = liveVersion(0)
		id := &p.Status.ContainerStatuses[0].ContainerID
		*id = (*id)[:len(*id)-len(liveMark)] + liveMark
		frame, err := w.event("MODIFIED", p)
		if err != nil {
			return nil, err
		}
		f := liveFrame{frame, bytes.Index(frame, []byte(liveVersion(0))), bytes.Index(frame, []byte(liveMark))}
		if f.version < 0 || f.mark < 0 {
			return nil, errors.New("an event lacks its version or its number")
		}
		l.frames = append(l.frames, f)
	}
	return l, nil
}

// allow lets events be sent up to the one with the number to. 0 begins anew.
func (l *live) allow(to int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.allowed = to
	close(l.changed)
	l.changed = make(chan struct{})
}

// more waits until more than n events may be sent, and returns how many.
func (l *live) more(ctx context.Context, n int) (int, error) {
	for {
		l.mu.Lock()
		allowed, changed := l.allowed, l.changed
		l.mu.Unlock()
		if allowed > n {
			return allowed, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// send sends events until ctx ends or the client is gone.
func (l *live) send(ctx context.Context, out io.Writer, flush func() error) {
	for n := 0; ; {
		allowed, err := l.more(ctx, n)
		if err != nil {
			return
		}
		for ; n < allowed; n++ {
			f := l.frames[n%len(l.frames)]
			copy(f.bytes[f.version:], liveVersion(n))
			copy(f.bytes[f.mark:], fmt.Sprintf("%016x", n))
			if _, err := out.Write(f.bytes); err != nil {
				return
			}
		}
		if flush() != nil {
			return
		}
	}
}

// liveFeed is the feeder of an informer that watches such a server.
type liveFeed struct {
	url      string // of the mode
	delivery *delivery
}

func (f *liveFeed) feed(ctx context.Context, from, to int) error {
	for i := from; i < to; i += stage {
		if err := f.delivery.await(ctx, i+stage-window); err != nil {
			return err
		}
		if err := steer(ctx, f.url, min(i+stage, to)); err != nil {
			return err
		}
	}
	return nil
}

// steer sends a number to the server's control.
func steer(ctx context.Context, url string, to int) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("%s/control?to=%d", url, to), nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("the server's control answers %s", answer.Status)
	}
	return err
}
