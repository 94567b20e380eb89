package reflector

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kube-apiserver sends a bookmark to an idle watch about once a minute
// (k8s.io/apiserver, storage/cacher), the first after up to two.
const (
	// regularMin and regularMax bound the time between two bookmarks that make
	// them regular.
	regularMin, regularMax = 30 * time.Second, 2 * time.Minute
	// maxSilent bounds the watches in a row that bring nothing from the same
	// version, before the state is read again to be sure. Where that finds
	// nothing, it is doubled, up to mostSilent.
	maxSilent, mostSilent = 3, 48
)

// silence is what a reflector makes of watches that bring nothing. A watch from a
// version that the server does not know, as after a restored backup, is silent; so
// is one behind a proxy that has lost its server. And so is one of which there is
// nothing to tell, where the server sends no bookmarks.
type silence struct {
	// lastBookmark is the time of the last one in the present watch.
	lastBookmark time.Time
	// regular is set once bookmarks have come regularly.
	regular bool
	// away is set while the server has not been heard of the present version
	// since it could not be reached: it may have come back as another.
	away bool
	// rows counts the watches in a row that have brought nothing, limit is how
	// many may.
	rows, limit int
	// suspicion is why the version must be proved; empty if it need not be.
	suspicion string
	// relist is set while a state is read because of that alone.
	relist bool
}

// begin tells that a watch was opened.
func (s *silence) begin() { s.lastBookmark = time.Time{} }

// bookmark notes one.
func (s *silence) bookmark(now time.Time) {
	if gap := now.Sub(s.lastBookmark); !s.lastBookmark.IsZero() && gap >= regularMin && gap <= regularMax {
		s.regular = true
	}
	s.lastBookmark = now
}

// moved tells that the server knows the version, and more.
func (s *silence) moved() { s.away, s.rows = false, 0 }

// alarming reports whether the silence of a watch means something.
func (s *silence) alarming() bool { return s.regular || s.away }

// ended notes a watch that has brought nothing, and reports whether its version
// must be proved.
func (s *silence) ended(alarm bool) bool {
	if s.limit == 0 {
		s.limit = maxSilent
	}
	s.rows++
	return alarm || s.away || s.rows >= s.limit
}

// read tells that a state was read, and how many changes it brought.
func (s *silence) read(changes int) {
	if s.relist {
		// Silence meant nothing, or it did.
		if s.limit = min(2*s.limit, mostSilent); changes > 0 {
			s.limit = maxSilent
		}
	}
	s.relist = false
	s.moved()
}

// listen ends the watch when it stays silent, if that means something.
func (r *Reflector[T]) listen(l *live[T]) {
	if r.silence.alarming() {
		l.expect(r.opts.SilenceTimeout, errQuiet)
		return
	}
	l.patience.rest()
}

// quiet says where a watch leads that was opened, and has ended without a word.
// It returns false if that is no matter.
func (r *Reflector[T]) quiet(err error, was watched) (transition, bool) {
	alarm := errors.Is(err, errQuiet)
	r.update(func(s *Status) {
		if alarm {
			s.Silences++
		} else if !was.progress {
			s.SilentCloses++
		}
	})
	if was.progress {
		t := r.to(Watching)
		t.err = err
		return t, alarm
	}
	if !r.silence.ended(alarm) {
		return transition{}, false
	}
	r.silence.suspicion = fmt.Sprintf("silence since version %s", r.version)
	if was.life < shortWatch {
		return r.failed(Starting, r.silence.suspicion, fmt.Errorf("%w: %w", errShort, err)), true
	}
	return transition{to: Starting, reason: r.silence.suspicion, err: err}, true
}

// prove asks for the version that the server is at, with the least that a
// consistent list can cost. Where the server is behind what it gave before, it has
// gone back; where it is not, the watch goes on from the last version, unless too
// many have been silent.
func (r *Reflector[T]) prove(ctx context.Context) transition {
	s := &r.silence
	why := s.suspicion
	s.suspicion, r.opened = "", false
	r.update(func(s *Status) { s.Proofs++ })
	page, err := r.page(ctx, r.source, metav1.ListOptions{Limit: 1}, func(*Item[T]) {})
	if err != nil {
		return r.failed(Watching, "no proof of the version", denied("list", err))
	}
	order, ok := compareVersions(page.Version, r.version)
	switch {
	case ok && order < 0:
		return transition{to: Starting, reason: r.distrust(ctx, page.Version), err: errWentBack, restart: true}
	case page.Version == r.version:
		// Nothing has happened of which there would be anything to tell, and
		// the server does not tell that.
		s.moved()
		s.regular = false
	case s.rows >= s.limit:
		s.relist, s.regular = true, false
		return r.relist(fmt.Sprintf("%d watches were silent from version %s, while the server has come to %s",
			s.rows, r.version, page.Version), errStale)
	default:
		s.away = false
	}
	t := r.to(Watching)
	t.reason += ", after " + why
	return t
}
