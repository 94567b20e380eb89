package reflector

import "time"

// State is what a reflector is doing.
type State string

const (
	// Starting decides how to begin: resume a watch, or get a new state.
	Starting State = "starting"
	// Streaming gets the whole state as a streaming list.
	Streaming State = "streaming"
	// Listing gets the whole state in pages.
	Listing State = "listing"
	// Watching follows the changes. Short of an error, it lasts.
	Watching State = "watching"
	// BackingOff waits before another try.
	BackingOff State = "backing off"
	// NotServed waits for the server to serve the resource.
	NotServed State = "not served"
	// Forbidden waits for the server to let the user read the resource.
	Forbidden State = "forbidden"
	// Stopped means that nobody runs the reflector.
	Stopped State = "stopped"
)

// transition leads from one state to the next.
type transition struct {
	to     State
	reason string
	// err is what led here, if anything went wrong.
	err error
	// failed counts it as a try that failed.
	failed bool
	// For the states that wait: how long, and where to go then.
	pause time.Duration
	// floor is the part of the pause that a nudge does not shorten.
	floor time.Duration
	retry State
	// restart marks the end of a round: the initial state is needed again.
	restart bool
}

// waits reports whether s is a state that waits for NextTry.
func (s State) waits() bool {
	return s == BackingOff || s == NotServed || s == Forbidden
}
