package reflector

import (
	"fmt"
	"strings"
	"time"
)

// Status tells how a reflector is. It is a copy: it does not change.
type Status struct {
	// Name is the name from the options.
	Name string
	// State is what the reflector is doing, Since when, and Reason why.
	State  State
	Reason string
	Since  time.Time

	// Tries is the number of failures since the last stable watch, and
	// FailingSince the time of the first of them. Both are zero while all is
	// well.
	Tries        int
	FailingSince time.Time
	// LastError is the last thing that went wrong, even if that was mended at
	// once, Class its class, and LastErrorAt when it was.
	LastError   error
	Class       ErrorClass
	LastErrorAt time.Time
	// NextTry is the end of the pause, in the states that wait.
	NextTry time.Time

	// Version is the last good resource version: all changes up to it were
	// pushed. It is empty before the first list.
	Version string
	// Synced is set with the push of the first complete state: whoever sees that
	// state sees it set. It stays set.
	Synced bool
	// Objects is the number of objects in the last complete state.
	Objects int
	// Mixed is set while the sink holds a mixture of two states: a list has
	// changed more than Options.RelistBudget, and was not read to its end yet.
	Mixed bool
	// Fallback says why states are listed in pages and not streamed. It is
	// empty while they are streamed.
	Fallback string
	// LastEvent and LastBookmark are the times of the last watch event (of
	// any type) and of the last bookmark.
	LastEvent, LastBookmark time.Time

	// LastHeard is the last proof of life: when an answer, or a part of one,
	// came from the server. A refusal is one; what a proxy says in the server's
	// place is not. See Age.
	LastHeard time.Time
	// LastList tells how the last complete state was read. It is zero before
	// the first.
	LastList ListReport

	// Epoch counts how often the server was found to have gone back in time, as
	// one does that was restored from a backup. Versions of different epochs do
	// not compare. It counts before the sink gets the older state.
	Epoch uint64

	// Received counts the objects that came, in lists and events, and Bytes the
	// bytes, where the source tells of them (see SourceTrace).
	Received, Bytes uint64
	// Pages, Streams and Watches count requests: pages of lists, streaming
	// lists, and watches that resume from a version.
	Pages, Streams, Watches uint64
	// Silences counts the watches that this side has ended because they had
	// become silent, SilentCloses those that were ended otherwise and had brought
	// nothing, and Proofs the lists of one object that such silence led to.
	Silences, SilentCloses, Proofs uint64
	// Replayed counts the events that were dropped because they had been
	// passed on before, Late those that came after newer ones of other
	// objects, and Stale the listed objects that were older than what is held.
	Replayed, Late, Stale uint64
	// ObjectErrors counts the objects that could not be used.
	ObjectErrors uint64

	// Broken is the number of objects whose newest state could not be used;
	// see Reflector.Broken.
	Broken int
	// Unaccounted counts the objects in the last complete state, and in events
	// after it, of which not even the name could be read. While it is not zero,
	// what is held may have an older state of any object, and what the complete
	// state seemed to lack was kept, as Broken.
	Unaccounted uint64

	// Sharing tells how much objects have in common. It is zero where the source
	// shares nothing.
	Sharing SharingStats

	// Taken is the time of this status.
	Taken time.Time
}

// Age is the time since the last proof of life, at the time of the status. It is
// zero if there was none yet. A watch of which nothing is to tell sends a bookmark
// about once a minute, where the server sends bookmarks.
func (s Status) Age() time.Duration {
	if s.LastHeard.IsZero() {
		return 0
	}
	return s.Taken.Sub(s.LastHeard)
}

// String is Explain.
func (s Status) String() string { return s.Explain() }

// Explain tells the status in one line, such as
//
//	pods: forbidden: pods is forbidden: User "eve" cannot list ... (for 12s, 3 tries)
//	pods: watching: listed 12 objects at version 345 (for 3m2s)
func (s Status) Explain() string {
	since, what := s.Since, fmt.Sprintf("%s: %s", s.State, s.Reason)
	var tries string
	if s.failing() {
		since, what = s.FailingSince, fmt.Sprintf("%s: %v", s.Class, s.LastError)
		tries = ", 1 try"
		if s.Tries > 1 {
			tries = fmt.Sprintf(", %d tries", s.Tries)
		}
	}
	// A message of several lines would no longer be one line.
	what = strings.Join(strings.Fields(what), " ")
	return fmt.Sprintf("%s: %s (for %s%s)", s.Name, what, brief(s.Taken.Sub(since)), tries)
}

// failing reports whether the last error says more than the state.
func (s Status) failing() bool {
	return s.Tries > 0 && s.State != Watching && s.State != Stopped
}

// brief rounds d to what a reader cares for.
func brief(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second)
}
