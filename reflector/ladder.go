package reflector

import (
	"sync"
	"time"
)

// How often a streaming list may fail before a state is listed in pages.
const (
	// maxEarly bounds the streams that end before the initial events do.
	maxEarly = 3
	// maxBusy bounds the answers that ask for patience, and the missing ones:
	// a streaming list demands the newest state, which a loaded server may
	// never reach, while a list can be read from its storage.
	maxBusy = 3
	// firstProbe is how long streaming is not tried after it did not work. Each
	// probe that fails doubles it, up to maxProbe: a server may be replaced by
	// one that can do better, or have had a bad hour.
	firstProbe = 10 * time.Minute
	maxProbe   = 4 * time.Hour
	// soonProbe takes the place of firstProbe where streaming has worked and the
	// streams that broke off had brought something: the server can stream, and
	// is about to be restarted, say.
	soonProbe = time.Minute
)

// Ladder remembers how a resource of one server can be read: streamed, or else
// in pages. Give one to all reflectors of that resource, whatever their scope,
// and what one of them has learned at some cost spares the others. The zero value
// knows nothing and is ready for use. It is safe for concurrent use, and must not
// be copied.
type Ladder struct {
	mu sync.Mutex
	// pages says why the resource is read in pages; empty means that it is
	// streamed.
	pages string
	// probe is when streaming is tried again, period after it has failed.
	probe  time.Time
	period time.Duration
	// streamed is set once streaming has worked.
	streamed bool
}

// Fallback says why the resource is read in pages. It is empty while it is
// streamed.
func (l *Ladder) Fallback() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pages
}

// climb reports whether to stream, and whether that is a probe. When a probe is
// due, only the first who asks makes it: if it hangs, it does so alone.
func (l *Ladder) climb() (stream, probe bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pages == "" {
		return true, false
	}
	if time.Now().Before(l.probe) {
		return false, false
	}
	l.probe = time.Now().Add(l.period)
	return true, true
}

// fell tells that pages have worked where streaming did not, in a probe or not, and
// when to probe at first. Many who began to stream together and fell together have
// learned one thing, not many.
func (l *Ladder) fell(reason string, probe bool, first time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pages != "" && !probe {
		return
	}
	l.period = min(max(first, 2*l.period), maxProbe)
	l.pages, l.probe = reason, time.Now().Add(l.period)
}

// rose tells that streaming has worked.
func (l *Ladder) rose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pages, l.period, l.streamed = "", 0, true
}

// hasStreamed reports whether streaming has ever worked.
func (l *Ladder) hasStreamed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streamed
}

// ladder is the place of one reflector on the Ladder of its resource.
type ladder struct {
	shared *Ladder
	// never says why this reflector does not stream; empty means that it may.
	never string
	// fallen says why pages are tried this time. If they work, the reason holds
	// for the next times too, until a probe after hold; 0 means for this time.
	fallen string
	hold   time.Duration
	// barred is set after the user was not allowed to list: the next state is
	// streamed, which takes another verb.
	barred bool
	// came is set once a stream that failed since the last state had brought
	// something.
	came bool
	// probing is set while a streaming list is a probe: it has one try.
	probing bool
	// early and busy count the failures since the last state.
	early, busy int
}

// first returns the state that reads the collection.
func (l *ladder) first() State {
	if l.never != "" || l.fallen != "" {
		return Listing
	}
	if l.barred {
		l.barred, l.probing = false, true
		return Streaming
	}
	var stream bool
	if stream, l.probing = l.shared.climb(); !stream {
		return Listing
	}
	return Streaming
}

// tired reports whether another failure is one too many, after the number that
// are allowed.
func (l *ladder) tired(failures *int, allowed int) bool {
	*failures++
	return l.probing || *failures >= allowed
}

// fall turns to pages, and says after which time streaming is worth a probe, if
// they work; 0 means the next time.
func (l *ladder) fall(reason string, hold time.Duration) {
	l.fallen, l.hold = reason, hold
}

// brokeOff is when to probe after streams that did not get to their end.
func (l *ladder) brokeOff() time.Duration {
	if l.came && l.shared.hasStreamed() {
		return soonProbe
	}
	return firstProbe
}

// bar notes that the user may not list, and reports whether a state can be read
// without that: a streaming list takes the verb watch alone.
func (l *ladder) bar() bool {
	if l.never != "" {
		return false
	}
	l.fallen, l.barred = "", true
	return true
}

// worked tells that a state was read completely.
func (l *ladder) worked(streamed bool) {
	switch {
	case streamed:
		l.shared.rose()
	case l.fallen != "" && l.hold > 0:
		l.shared.fell(l.fallen, l.probing, l.hold)
	}
	*l = ladder{shared: l.shared, never: l.never}
}

// fallback says why the collection is read in pages.
func (l *ladder) fallback() string {
	switch {
	case l.never != "":
		return l.never
	case l.fallen != "":
		return l.fallen
	}
	return l.shared.Fallback()
}
