package storage_test

import (
	"context"
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"heliograph.example/apiserver/storage"
)

// watches are the watches that a test has open.
type watches struct {
	running sync.WaitGroup
	mu      sync.Mutex
	open    []*channelWatch
}

// start makes a channel out of a watch of ours. cancel ends its context.
func (ws *watches) start(ours storage.Watch, cancel context.CancelFunc) *channelWatch {
	// The suite wants some events to be delivered that have been read ahead
	// when the watch is stopped: ten in upstream's watch cache.
	w := &channelWatch{ours: ours, cancel: cancel, events: make(chan watch.Event, 10), stopped: make(chan struct{})}
	ws.mu.Lock()
	ws.open = append(ws.open, w)
	ws.mu.Unlock()
	ws.running.Go(w.run)
	return w
}

// stop ends those that the test has left open, and waits for all.
func (ws *watches) stop() {
	ws.mu.Lock()
	for _, w := range ws.open {
		w.Stop()
	}
	ws.mu.Unlock()
	ws.running.Wait()
}

// channelWatch is a watch as upstream has them.
type channelWatch struct {
	ours    storage.Watch
	cancel  context.CancelFunc
	events  chan watch.Event
	stopped chan struct{}
	once    sync.Once
}

var _ watch.Interface = (*channelWatch)(nil)

func (w *channelWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *channelWatch) Stop() {
	w.once.Do(func() {
		close(w.stopped)
		w.ours.Stop()
		w.cancel()
	})
}

func (w *channelWatch) run() {
	defer close(w.events)
	defer w.Stop()
	for {
		events, err := w.ours.Next()
		var status apierrors.APIStatus
		if errors.As(err, &status) {
			s := status.Status()
			w.send(watch.Event{Type: watch.Error, Object: &s})
		}
		if err != nil {
			return
		}
		for _, e := range events {
			if !w.send(watch.Event{Type: e.Type, Object: reveal(e.Object)}) {
				return
			}
		}
	}
}

func (w *channelWatch) send(e watch.Event) bool {
	select {
	case w.events <- e:
		return true
	case <-w.stopped:
		return false
	}
}
