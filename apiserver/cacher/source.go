package cacher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"heliograph.example/apiserver/storage"
	"heliograph.example/deltafifo"
	"heliograph.example/reflector"
)

// source lets a reflector read a store as it would read an API server.
type source struct {
	store *storage.Store
}

var _ reflector.Source[runtime.Object] = source{}

// List implements [reflector.Source].
func (s source) List(ctx context.Context, opts metav1.ListOptions, each func(reflector.Item[runtime.Object]) error) (reflector.Page, error) {
	list, err := s.store.List(ctx, storage.ListOptions{
		ResourceVersion: opts.ResourceVersion,
		Match:           opts.ResourceVersionMatch,
		Limit:           opts.Limit,
		Continue:        opts.Continue,
	})
	if err != nil {
		return reflector.Page{}, err
	}
	for _, obj := range list.Items {
		item, _, err := itemOf(obj)
		if err != nil {
			return reflector.Page{}, err
		}
		if err := each(item); err != nil {
			return reflector.Page{}, err
		}
	}
	return reflector.Page{Version: list.ResourceVersion, Continue: list.Continue, Remaining: list.Remaining}, nil
}

// Watch implements [reflector.Source].
func (s source) Watch(ctx context.Context, opts metav1.ListOptions) (reflector.Stream[runtime.Object], error) {
	st := &stream{outer: ctx, cancel: func() {}}
	if opts.TimeoutSeconds != nil {
		ctx, st.cancel = context.WithTimeout(ctx, time.Duration(*opts.TimeoutSeconds)*time.Second)
	}
	w, err := s.store.Watch(ctx, storage.WatchOptions{
		ResourceVersion:   opts.ResourceVersion,
		SendInitialEvents: opts.SendInitialEvents,
		Bookmarks:         opts.AllowWatchBookmarks,
	})
	if err != nil {
		st.cancel()
		return nil, err
	}
	st.watch = w
	// Progress that was asked for while no watch was open has been told to
	// nobody.
	if err := s.store.RequestProgress(ctx); err != nil {
		st.Stop()
		return nil, err
	}
	return st, nil
}

// stream is a watch of the store as a reflector takes it.
type stream struct {
	watch  storage.Watch
	outer  context.Context
	cancel context.CancelFunc
	events []reflector.Event[runtime.Object]
}

// Next implements [reflector.Stream]. When the timeout of the request is over,
// the stream ends cleanly, as that of a server does.
func (s *stream) Next() ([]reflector.Event[runtime.Object], error) {
	events, err := s.watch.Next()
	if errors.Is(err, context.DeadlineExceeded) && s.outer.Err() == nil {
		err = io.EOF
	}
	if err != nil {
		return nil, err
	}
	clear(s.events)
	s.events = s.events[:0]
	for _, e := range events {
		event, err := eventOf(e)
		if err != nil {
			return nil, err
		}
		s.events = append(s.events, event)
	}
	return s.events, nil
}

// Stop implements [reflector.Stream].
func (s *stream) Stop() {
	s.watch.Stop()
	s.cancel()
}

func itemOf(obj runtime.Object) (reflector.Item[runtime.Object], metav1.Object, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return reflector.Item[runtime.Object]{}, nil, fmt.Errorf("stored object %T: %w", obj, err)
	}
	return reflector.Item[runtime.Object]{
		Key:     types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()},
		UID:     m.GetUID(),
		Version: m.GetResourceVersion(),
		Object:  obj,
	}, m, nil
}

func eventOf(e storage.Event) (reflector.Event[runtime.Object], error) {
	item, m, err := itemOf(e.Object)
	if err != nil {
		return reflector.Event[runtime.Object]{}, err
	}
	event := reflector.Event[runtime.Object]{Item: item}
	switch e.Type {
	case watch.Added:
		event.Type = deltafifo.Added
	case watch.Modified:
		event.Type = deltafifo.Updated
	case watch.Deleted:
		event.Type = deltafifo.Deleted
	case watch.Bookmark:
		event.Type = deltafifo.Bookmark
		event.InitialEventsEnd = m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
	default:
		return event, fmt.Errorf("event of unknown type %q", e.Type)
	}
	return event, nil
}
