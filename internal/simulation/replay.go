package simulation

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

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
		p.mirror.release()
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
	p := &player{source: newScript(lines), began: time.Now()}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.mirror = bareMirror(spec, truth)
	if err := readFrom(p.mirror, reflector.Source[object](p.source), nil); err != nil {
		p.cancel()
		return nil, err
	}
	p.mirror.keeper.epoch, p.mirror.keeper.first = lines[0].Epoch, lines[0].Epoch
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
		case lineStart, lineStop, lineJoin, lineLeave, linePoison, lineCheck, lineEnd:
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
	case linePoison:
		m.poison(l.On)
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
