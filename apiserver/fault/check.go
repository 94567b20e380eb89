package fault

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const watchVerb = "watch"

var (
	verbs    = []string{"", "get", "list", watchVerb, "create", "update", "patch", "delete", "deletecollection"}
	cuts     = []Cut{CutNone, CutEnd, CutError, CutReset, CutFrame, CutStall, CutBlackHole}
	illegals = []Illegal{IllegalNone, IllegalReplay, IllegalSwap}
)

// matches reports whether f strikes requests like r.
func (f *Fault) matches(r Request) bool {
	return (f.Verb == "" || f.Verb == r.Verb) &&
		(f.Resource.Empty() || f.Resource == r.Resource) &&
		(f.Namespace == "" || f.Namespace == r.Namespace) &&
		strings.Contains(r.Client, f.Client) &&
		(!f.Streaming || r.Streaming) &&
		(!f.watchesOnly() || r.Verb == watchVerb)
}

// watchesOnly reports whether f can happen to nothing but a watch.
func (f *Fault) watchesOnly() bool {
	return f.Cut == CutEnd || f.Cut == CutError || f.AfterEvents > 0 || f.changesEvents() || f.Streaming
}

// changesEvents reports whether f does something to the events of a watch.
func (f *Fault) changesEvents() bool {
	return f.Pause > 0 || f.NoBookmarks || f.NoInitialEnd || f.Illegal != IllegalNone
}

// Answers reports whether the request is answered with Code instead of being
// served.
func (f *Fault) Answers() bool { return f.Code != 0 && f.Cut != CutError }

// check tells what is wrong with f, if anything.
func (f *Fault) check() error {
	if problem := f.problem(); problem != "" {
		return fmt.Errorf("%w: %s", ErrInvalid, problem)
	}
	return nil
}

// problem is check in words; empty if there is none.
func (f *Fault) problem() string {
	switch {
	case !slices.Contains(verbs, f.Verb):
		return fmt.Sprintf("unknown verb %q", f.Verb)
	case !slices.Contains(cuts, f.Cut):
		return fmt.Sprintf("unknown cut %q", f.Cut)
	case !slices.Contains(illegals, f.Illegal):
		return fmt.Sprintf("unknown illegal mode %q", f.Illegal)
	case f.Times < 0:
		return fmt.Sprintf("times is negative: %d", f.Times)
	case f.Delay < 0:
		return fmt.Sprintf("delay is negative: %v", f.Delay)
	case f.Pause < 0:
		return fmt.Sprintf("pause is negative: %v", f.Pause)
	case f.Code != 0 && (f.Code < 400 || f.Code > 599):
		return fmt.Sprintf("code %d is not an error", f.Code)
	case f.RetryAfter < 0 || f.RetryAfter%time.Second != 0:
		return fmt.Sprintf("retry-after is not a whole number of seconds: %v", f.RetryAfter)
	case f.watchesOnly() && f.Verb != "" && f.Verb != watchVerb:
		return fmt.Sprintf("a %s has no events that this could happen to", f.Verb)
	case f.idle():
		return "it does nothing"
	}
	return f.conflict()
}

// idle reports whether f leaves requests as they are.
func (f *Fault) idle() bool {
	return f.Delay == 0 && f.Code == 0 && f.Cut == CutNone && !f.changesEvents() && f.AfterEvents == 0
}

// conflict names two fields that do not go together; empty if all do.
func (f *Fault) conflict() string {
	switch {
	case f.RetryAfter != 0 && f.Code == 0:
		return "retry-after without a code"
	case f.Cut == CutError && f.Code == 0:
		return "an error event needs a code"
	case f.Answers() && f.Cut != CutNone:
		return fmt.Sprintf("a request answered with code %d has no answer to cut", f.Code)
	case f.Answers() && f.changesEvents():
		return fmt.Sprintf("a request answered with code %d has no events to change", f.Code)
	case f.Illegal != IllegalNone && f.Cut != CutNone:
		return "an illegal watch is not cut as well: there is one AfterEvents"
	case f.AfterEvents < 0 || f.AfterEvents > 0 && f.Cut == CutNone && f.Illegal == IllegalNone:
		return fmt.Sprintf("after-events %d without anything to happen then", f.AfterEvents)
	}
	return ""
}
