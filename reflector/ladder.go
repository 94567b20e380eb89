package reflector

// How often a streaming list may fail before a state is listed in pages.
const (
	// maxEarly bounds the streams that end before the initial events do.
	maxEarly = 3
	// maxBusy bounds the answers that ask for patience, and the missing ones:
	// a streaming list demands the newest state, which a loaded server may
	// never reach, while a list can be read from its storage.
	maxBusy = 3
)

// ladder remembers how the state of this collection can be read: streamed, or
// else in pages.
type ladder struct {
	// never says why it is not streamed any more; empty means that it is.
	never string
	// fallen says why pages are tried this time, and lasting that the reason
	// will hold for the next time: once the pages have worked, it is never.
	fallen  string
	lasting bool
	// early and busy count the failures since the last state.
	early, busy int
}

// first returns the state that reads the collection.
func (l *ladder) first() State {
	if l.never != "" || l.fallen != "" {
		return Listing
	}
	return Streaming
}

// fall turns to pages.
func (l *ladder) fall(reason string, lasting bool) {
	l.fallen, l.lasting = reason, lasting
}

// worked tells that a state was read completely.
func (l *ladder) worked() {
	if l.fallen != "" && l.lasting {
		l.never = l.fallen
	}
	l.fallen, l.lasting, l.early, l.busy = "", false, 0, 0
}

// fallback says why the collection is read in pages.
func (l *ladder) fallback() string {
	if l.never != "" {
		return l.never
	}
	return l.fallen
}
