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

// fell tells that pages have worked where streaming did not, in a probe or not. Many
// who began to stream together and fell together have learned one thing, not many.
func (l *Ladder) fell(reason string, probe bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pages != "" && !probe {
		return
	}
	l.period = min(max(firstProbe, 2*l.period), maxProbe)
	l.pages, l.probe = reason, time.Now().Add(l.period)
}

// rose tells that streaming has worked.
func (l *Ladder) rose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pages, l.period = "", 0
}

// ladder is the place of one reflector on the Ladder of its resource.
type ladder struct {
	shared *Ladder
	// never says why this reflector does not stream; empty means that it may.
	never string
	// fallen says why pages are tried this time, and lasting that the reason
	// will hold for the next time too, if the pages work.
	fallen  string
	lasting bool
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

// fall turns to pages.
func (l *ladder) fall(reason string, lasting bool) {
	l.fallen, l.lasting = reason, lasting
}

// worked tells that a state was read completely.
func (l *ladder) worked(streamed bool) {
	switch {
	case streamed:
		l.shared.rose()
	case l.fallen != "" && l.lasting:
		l.shared.fell(l.fallen, l.probing)
	}
	l.fallen, l.lasting, l.probing, l.early, l.busy = "", false, false, 0, 0
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
