package fault

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Cut says how a fault ends a watch that has begun.
type Cut string

const (
	// CutNone does not end the watch.
	CutNone Cut = ""
	// CutEnd ends the stream cleanly, as a server does at its timeout.
	CutEnd Cut = "end"
	// CutReset breaks the connection off in the middle of the stream.
	CutReset Cut = "reset"
	// CutError sends an ERROR event with the Status of Fault.Code and ends
	// the stream.
	CutError Cut = "error"
)

// Request is what a fault can match: one request to a resource.
type Request struct {
	// Verb is get, list, watch, create, update, patch, delete or
	// deletecollection.
	Verb string
	// Resource is the resource asked for.
	Resource schema.GroupResource
	// Namespace is the namespace in the path, empty if there is none.
	Namespace string
	// Streaming is true for a watch with sendInitialEvents=true.
	Streaming bool
}

// Fault is one thing that goes wrong: which requests it strikes, how often,
// and what happens to them.
type Fault struct {
	// Verb limits the fault to one verb, as in [Request]; empty means all.
	Verb string
	// Resource limits the fault to one resource; the zero value means all.
	Resource schema.GroupResource
	// Namespace limits the fault to requests in that namespace; empty means
	// all requests, with a namespace or without.
	Namespace string
	// Streaming limits the fault to streaming lists.
	Streaming bool
	// Times is how many matching requests are struck, the first ones; zero
	// means every one.
	Times int

	// Delay passes before anything else is done with the request.
	Delay time.Duration
	// Code is the HTTP status that the request is answered with instead of
	// being served, or, with CutError, the code of the ERROR event. Zero
	// means that the request is served.
	Code int
	// RetryAfter goes with Code as a Retry-After header and in the details of
	// the Status, in whole seconds; zero means none.
	RetryAfter time.Duration
	// Cut ends a watch after AfterEvents events, bookmarks included. A fault
	// with a Cut, NoBookmarks or Streaming strikes watches only.
	Cut         Cut
	AfterEvents int
	// NoBookmarks keeps every bookmark from a watch, the one that ends the
	// initial events included.
	NoBookmarks bool
}

// matches reports whether f strikes requests like r.
func (f *Fault) matches(r Request) bool {
	return (f.Verb == "" || f.Verb == r.Verb) &&
		(f.Resource.Empty() || f.Resource == r.Resource) &&
		(f.Namespace == "" || f.Namespace == r.Namespace) &&
		(!f.Streaming || r.Streaming) &&
		(!f.watchesOnly() || r.Verb == "watch")
}

// watchesOnly reports whether f can happen to nothing but a watch.
func (f *Fault) watchesOnly() bool { return f.Cut != CutNone || f.NoBookmarks || f.Streaming }

var verbs = []string{"", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

// check tells what is wrong with f, if anything.
func (f *Fault) check() error {
	switch {
	case !slices.Contains(verbs, f.Verb):
		return fmt.Errorf("%w: unknown verb %q", ErrInvalid, f.Verb)
	case f.Times < 0:
		return fmt.Errorf("%w: times is negative: %d", ErrInvalid, f.Times)
	case f.Delay < 0:
		return fmt.Errorf("%w: delay is negative: %v", ErrInvalid, f.Delay)
	case f.Code != 0 && (f.Code < 400 || f.Code > 599):
		return fmt.Errorf("%w: code %d is not an error", ErrInvalid, f.Code)
	case f.RetryAfter != 0 && (f.RetryAfter < 0 || f.RetryAfter%time.Second != 0):
		return fmt.Errorf("%w: retry-after is not a whole number of seconds: %v", ErrInvalid, f.RetryAfter)
	case f.RetryAfter != 0 && f.Code == 0:
		return fmt.Errorf("%w: retry-after without a code", ErrInvalid)
	case !slices.Contains([]Cut{CutNone, CutEnd, CutReset, CutError}, f.Cut):
		return fmt.Errorf("%w: unknown cut %q", ErrInvalid, f.Cut)
	case f.Cut == CutError && f.Code == 0:
		return fmt.Errorf("%w: an error event needs a code", ErrInvalid)
	case (f.Cut == CutEnd || f.Cut == CutReset) && f.Code != 0:
		return fmt.Errorf("%w: a request answered with code %d has no watch to cut", ErrInvalid, f.Code)
	case f.AfterEvents < 0 || f.AfterEvents > 0 && f.Cut == CutNone:
		return fmt.Errorf("%w: after-events %d without a cut", ErrInvalid, f.AfterEvents)
	case f.watchesOnly() && f.Verb != "" && f.Verb != "watch":
		return fmt.Errorf("%w: only a watch can be cut, streamed or robbed of bookmarks, not a %s", ErrInvalid, f.Verb)
	case f.Delay == 0 && f.Code == 0 && f.Cut == CutNone && !f.NoBookmarks:
		return fmt.Errorf("%w: it does nothing", ErrInvalid)
	}
	return nil
}

// Script is a list of faults; see the package documentation. The zero value
// has none and is ready for use.
type Script struct {
	mu    sync.Mutex
	rules []rule
}

// rule is a fault and how often it may still strike.
type rule struct {
	Fault
	left int // unused if Times is 0
}

// Add appends faults. If one of them makes no sense, an error that wraps
// [ErrInvalid] is returned and none is added.
func (s *Script) Add(faults ...Fault) error {
	rules := make([]rule, 0, len(faults))
	for i, f := range faults {
		if err := f.check(); err != nil {
			return fmt.Errorf("fault %d: %w", i, err)
		}
		rules = append(rules, rule{Fault: f, left: f.Times})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, rules...)
	return nil
}

// Clear removes all faults. Watches that began under one keep it.
func (s *Script) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
}

// Strike returns the fault for a request and counts it; false means that the
// request is served as usual. A nil Script has no faults.
func (s *Script) Strike(r Request) (Fault, bool) {
	if s == nil {
		return Fault{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.rules {
		rule := &s.rules[i]
		if !rule.matches(r) || rule.Times > 0 && rule.left == 0 {
			continue
		}
		if rule.Times > 0 {
			rule.left--
		}
		return rule.Fault, true
	}
	return Fault{}, false
}
