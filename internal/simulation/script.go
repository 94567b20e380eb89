package simulation

import (
	"context"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
	"heliograph.example/reflector"
)

// object is what is replayed, whatever was read then.
type object = *metav1.PartialObjectMetadata

// question is what an informer asks its source.
type question struct {
	do    string
	ask   *Ask
	asked time.Time
	ctx   context.Context
	// stopped is closed when the stream is stopped; nil without one.
	stopped chan struct{}
	reply   chan *Line
}

// gone is closed, or readable, when nobody waits for the answer any more.
func (q *question) gone() <-chan struct{} {
	if q.stopped == nil {
		return q.ctx.Done()
	}
	gone := make(chan struct{})
	stop := context.AfterFunc(q.ctx, func() { close(gone) })
	go func() {
		select {
		case <-q.stopped:
			if stop() {
				close(gone)
			}
		case <-q.ctx.Done():
		}
	}()
	return gone
}

func (q *question) isGone() bool {
	select {
	case <-q.ctx.Done():
		return true
	case <-q.stopped:
		return true
	default:
		return false
	}
}

// script is a source that asks the player for each answer, but for objects that are
// read by their names: when that is done is chance.
type script struct {
	questions chan *question
	began     time.Time

	mu sync.Mutex
	// gets are the answers about single objects, in order.
	gets map[string][]*Line
}

func newScript(lines []Line) *script {
	s := &script{questions: make(chan *question), began: time.Now(), gets: make(map[string][]*Line)}
	for i := range lines {
		if l := &lines[i]; l.Do == lineGet {
			s.gets[l.Ask.Name] = append(s.gets[l.Ask.Name], l)
		}
	}
	return s
}

// ask returns the answer, or why nobody waits for it.
func (s *script) ask(q *question) (*Line, error) {
	q.asked, q.reply = time.Now(), make(chan *Line, 1)
	select {
	case s.questions <- q:
	case <-q.ctx.Done():
		return nil, q.ctx.Err()
	case <-q.stopped:
		return nil, reflector.ErrStopped
	}
	select {
	case l := <-q.reply:
		return l, l.Error.err()
	case <-q.ctx.Done():
		return nil, q.ctx.Err()
	case <-q.stopped:
		return nil, reflector.ErrStopped
	}
}

// List gives a recorded page.
func (s *script) List(ctx context.Context, opts metav1.ListOptions, each func(reflector.Item[object]) error) (reflector.Page, error) {
	l, err := s.ask(&question{do: lineList, ask: askOf(opts), ctx: ctx})
	if l == nil {
		return reflector.Page{}, err
	}
	for i := range l.Items {
		if err := each(l.Items[i].item()); err != nil {
			return reflector.Page{}, err
		}
	}
	if err != nil {
		return reflector.Page{}, err
	}
	return reflector.Page{Version: l.Page.Version, Continue: l.Page.Continue}, nil
}

// Get gives the next recorded answer about an object, when it came then, or later.
func (s *script) Get(ctx context.Context, key types.NamespacedName) (reflector.Item[object], error) {
	s.mu.Lock()
	var l *Line
	if left := s.gets[key.String()]; len(left) > 0 {
		l, s.gets[key.String()] = left[0], left[1:]
	}
	s.mu.Unlock()
	if l == nil {
		<-ctx.Done()
		return reflector.Item[object]{}, ctx.Err()
	}
	timer := time.NewTimer(time.Until(s.began.Add(l.At)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return reflector.Item[object]{}, ctx.Err()
	}
	var it reflector.Item[object]
	if len(l.Items) > 0 {
		it = l.Items[0].item()
	}
	return it, l.Error.err()
}

// Watch gives a recorded watch.
func (s *script) Watch(ctx context.Context, opts metav1.ListOptions) (reflector.Stream[object], error) {
	if _, err := s.ask(&question{do: lineWatch, ask: askOf(opts), ctx: ctx}); err != nil {
		return nil, err
	}
	return &scriptStream{script: s, ctx: ctx, stopped: make(chan struct{})}, nil
}

type scriptStream struct {
	script  *script
	ctx     context.Context
	once    sync.Once
	stopped chan struct{}
}

// Stop ends the stream.
func (s *scriptStream) Stop() { s.once.Do(func() { close(s.stopped) }) }

// Next gives recorded events.
func (s *scriptStream) Next() ([]reflector.Event[object], error) {
	l, err := s.script.ask(&question{do: lineEvents, ctx: s.ctx, stopped: s.stopped})
	if err != nil {
		return nil, err
	}
	// Bytes are progress, where the source tells of them.
	if told := reflector.SourceTraceFrom(s.ctx).Read; told != nil {
		told(1)
	}
	var events []reflector.Event[object]
	for _, e := range l.Events {
		event := reflector.Event[object]{InitialEventsEnd: e.End}
		switch e.Type {
		case deltafifo.Added.String():
			event.Type = deltafifo.Added
		case deltafifo.Updated.String():
			event.Type = deltafifo.Updated
		case deltafifo.Deleted.String():
			event.Type = deltafifo.Deleted
		default:
			event.Type = deltafifo.Bookmark
		}
		event.Item = (&Item{e.Key, e.State, e.Broken, e.Unchanged}).item()
		events = append(events, event)
	}
	return events, nil
}

// item makes it again, of metadata.
func (i *Item) item() reflector.Item[object] {
	it := reflector.Item[object]{Key: i.Key, UID: i.UID, Version: strconv.FormatUint(i.State.Version, 10)}
	switch {
	case i.Unchanged:
		it.Unchanged = true
	case i.Broken:
		it.Err = &reflector.ObjectError{Key: it.Key, UID: it.UID, Version: it.Version, Stage: reflector.StageDecode, Err: errPoison}
	case i.there():
		it.Object = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: i.Key.Namespace, Name: i.Key.Name, UID: i.UID, ResourceVersion: it.Version,
			Annotations: map[string]string{writeAnnotation: i.Write},
			Labels:      map[string]string{colourLabel: i.Colour},
		}}
	}
	return it
}
