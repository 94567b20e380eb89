package simulation

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
	"heliograph.example/reflector"
)

// stalled is how long, in virtual time, a replay waits for the next question.
const stalled = time.Hour

// DivergedError says that an informer did not ask what the record says it was
// asked, so that the rest of the record means nothing.
type DivergedError struct {
	// Line is the place in the record, from 0 on.
	Line int
	What string
}

// Error names the line.
func (e *DivergedError) Error() string { return fmt.Sprintf("line %d: %s", e.Line+1, e.What) }

// Replay plays a record back to an informer of metadata, in a bubble of its own,
// and returns the first promise that is broken, nil if none is. What the informer
// asks is answered as it was then; scheduling is all that may differ. The error is
// a [DivergedError], or about the record.
func Replay(t *testing.T, lines []Line) (failure *Failure, err error) {
	synctest.Test(t, func(t *testing.T) {
		p, perr := newPlayer(lines)
		if perr != nil {
			err = perr
			return
		}
		failure, err = p.play(lines)
		if stopped := p.mirror.stop(); failure == nil && err == nil {
			failure = stopped
		}
		p.cancel()
	})
	return failure, err
}

// player is a replay under way.
type player struct {
	ctx    context.Context
	cancel context.CancelFunc
	source *script
	mirror *mirror
	began  time.Time
}

func newPlayer(lines []Line) (*player, error) {
	if len(lines) == 0 || lines[0].Mirror == nil {
		return nil, fmt.Errorf("a record begins with the informer it is about")
	}
	spec, truth := *lines[0].Mirror, newTruth()
	for _, l := range lines {
		if l.Do == lineTruth {
			truth.add(*l.Truth)
		}
	}
	p := &player{source: &script{questions: make(chan *question)}, began: time.Now()}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	var err error
	p.mirror, err = mirrorOver(spec, reflector.Source[object](p.source), truth, newRecord(spec))
	if err != nil {
		p.cancel()
		return nil, err
	}
	p.mirror.keeper.epoch = 0
	return p, nil
}

// play goes through the lines.
func (p *player) play(lines []Line) (*Failure, error) {
	for n := range lines {
		l := &lines[n]
		var failure *Failure
		var what string
		switch l.Do {
		case lineList, lineWatch, lineEvents:
			// What was asked when the informer stopped has ended with it.
			if p.mirror.cancel != nil || l.Error == nil || !l.Error.Gone {
				what = p.answer(l)
			}
		case lineStart, lineStop, lineJoin, lineLeave, lineCheck, lineEnd:
			time.Sleep(time.Until(p.began.Add(l.At)))
			var err error
			if failure, err = p.do(l); err != nil {
				return nil, err
			}
		}
		if what != "" {
			return nil, &DivergedError{n, what}
		}
		if failure != nil {
			return failure, nil
		}
	}
	return nil, nil
}

// do is everything but answers.
func (p *player) do(l *Line) (*Failure, error) {
	m := p.mirror
	switch l.Do {
	case lineStart:
		m.start(p.ctx)
	case lineStop:
		return m.stop(), nil
	case lineJoin:
		return nil, m.join(*l.Handler)
	case lineLeave:
		m.leave(l.Handler.Name)
	case lineCheck:
		synctest.Wait()
		if l.Gaps {
			m.gaps.allow()
		}
		return m.check(), nil
	case lineEnd:
		synctest.Wait()
		if lag := m.lag(m.view.at(l.Epoch, l.Version)); lag != "" {
			return m.failure(checkEnd, lag), nil
		}
	}
	return nil, nil
}

// answer waits for the question that l answers, and answers it. It says what is
// wrong if another question comes, or none.
func (p *player) answer(l *Line) string {
	q, what := p.question(l)
	if what != "" {
		return what
	}
	if l.Error != nil && l.Error.Gone {
		// Nothing came until the informer had enough.
		select {
		case <-q.gone():
			return ""
		case <-time.After(stalled):
			return "the informer waits, and then it did not"
		}
	}
	time.Sleep(time.Until(q.asked.Add(l.After)))
	q.reply <- l
	return ""
}

// question waits for one that somebody still wants an answer to.
func (p *player) question(l *Line) (*question, string) {
	timeout := time.After(stalled)
	for {
		select {
		case q := <-p.source.questions:
			if q.isGone() {
				continue
			}
			if q.do != l.Do || l.Ask != nil && *l.Ask != *q.ask {
				return nil, fmt.Sprintf("asked for %s %+v, and then for %s %+v", q.do, q.ask, l.Do, l.Ask)
			}
			return q, ""
		case <-timeout:
			return nil, "nothing is asked, and then " + l.Do + " was"
		}
	}
}

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

// script is a source that asks the player for each answer.
type script struct {
	questions chan *question
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
	for _, p := range l.Items {
		if err := each(itemOf(p.Key, p.State)); err != nil {
			return reflector.Page{}, err
		}
	}
	if err != nil {
		return reflector.Page{}, err
	}
	return reflector.Page{Version: l.Page.Version, Continue: l.Page.Continue}, nil
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
		if event.Item = itemOf(e.Key, e.State); event.Type == deltafifo.Bookmark {
			event.Object = nil
		}
		events = append(events, event)
	}
	return events, nil
}

// itemOf makes an object again.
func itemOf(key types.NamespacedName, s State) reflector.Item[object] {
	version := strconv.FormatUint(s.Version, 10)
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: key.Namespace, Name: key.Name, UID: s.UID, ResourceVersion: version,
		Annotations: map[string]string{writeAnnotation: s.Write},
		Labels:      map[string]string{colourLabel: s.Colour},
	}}
	return reflector.Item[object]{Key: key, UID: s.UID, Version: version, Object: obj}
}
