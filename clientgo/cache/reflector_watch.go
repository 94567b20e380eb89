package cache

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

var (
	errShortWatch  = errors.New("the watch was closed at once and has brought nothing")
	errBrokenOff   = errors.New("the streaming list has broken off")
	errStalledList = errors.New("the streaming list has brought nothing for some time")
)

// healedWatch passes a watch on, and says at its end what the Reflector is to do. Its
// goroutine ends with the watch or with Stop.
type healedWatch struct {
	healer *healer
	watch  watch.Interface
	result chan watch.Event
	// streaming is set until the initial events have come.
	streaming bool
	began     time.Time
	events    int

	once sync.Once
	done chan struct{}
}

func newHealedWatch(ctx context.Context, h *healer, w watch.Interface, streaming bool) *healedWatch {
	hw := &healedWatch{
		healer: h, watch: w, streaming: streaming, began: time.Now(),
		result: make(chan watch.Event), done: make(chan struct{}),
	}
	go hw.pass(ctx)
	return hw
}

func (w *healedWatch) ResultChan() <-chan watch.Event { return w.result }

// Stop ends the watch. It may be called more than once.
func (w *healedWatch) Stop() {
	w.once.Do(func() {
		close(w.done)
		w.watch.Stop()
	})
}

// pass is the goroutine. The Reflector stops a watch when its context ends.
func (w *healedWatch) pass(ctx context.Context) {
	defer close(w.result)
	progress := time.NewTimer(streamingTimeout)
	defer progress.Stop()
	if !w.streaming {
		progress.Stop()
	}
	in := w.watch.ResultChan()
	for {
		select {
		case <-w.done:
			return
		case <-progress.C:
			w.send(errorEvent(apierrors.NewInternalError(errStalledList)))
			return
		case event, open := <-in:
			if !open {
				w.ended(ctx)
				return
			}
			if !w.send(w.mended(ctx, event)) {
				return
			}
			if w.streaming {
				progress.Reset(streamingTimeout)
			} else {
				progress.Stop()
			}
		}
	}
}

// send gives the Reflector an event, unless it has stopped.
func (w *healedWatch) send(event watch.Event) bool {
	select {
	case w.result <- event:
		return true
	case <-w.done:
		return false
	}
}

// mended is what the Reflector is told in place of an event.
func (w *healedWatch) mended(ctx context.Context, event watch.Event) watch.Event {
	if event.Type != watch.Error {
		w.events++
		w.healer.resumptions.Store(0)
		if w.streaming && event.Type == watch.Bookmark {
			w.streaming = !endsInitialEvents(event)
		}
		return event
	}
	err := apierrors.FromObject(event.Object)
	switch {
	case w.streaming && apierrors.IsTooManyRequests(err):
		// The Reflector would pause, and not heed its context.
		return errorEvent(apierrors.NewInternalError(err))
	case !w.streaming && resumes(err) && w.healer.again(ctx, err):
		return errorEvent(&resumable{err})
	}
	return event
}

// ended tells the Reflector of an end that calls for a pause.
func (w *healedWatch) ended(ctx context.Context) {
	switch {
	case w.streaming:
		w.send(errorEvent(apierrors.NewInternalError(errBrokenOff)))
	case w.events == 0 && time.Since(w.began) < shortWatch && w.healer.again(ctx, errShortWatch):
		w.send(errorEvent(&resumable{errShortWatch}))
	}
}

func errorEvent(err apierrors.APIStatus) watch.Event {
	status := err.Status()
	return watch.Event{Type: watch.Error, Object: &status}
}

// endsInitialEvents reports whether a bookmark is that which follows the objects of a
// streaming list.
func endsInitialEvents(bookmark watch.Event) bool {
	m, err := meta.Accessor(bookmark.Object)
	return err == nil && m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}
