package reflector

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/internal/panics"
)

var (
	// ErrInvalid is wrapped by every error that refuses a nil client, a bad
	// selector, a bad option and the like.
	ErrInvalid = errors.New("reflector: invalid")
	// ErrRunning is returned by Run and ListAndWatch while another call of
	// either runs.
	ErrRunning = errors.New("reflector: already running")
	// ErrStopped is returned by Next after Stop.
	ErrStopped = errors.New("reflector: stream stopped")
	// ErrDecode is wrapped by an error of a Source that could not make sense
	// of a whole answer, as opposed to one object in it.
	ErrDecode = errors.New("reflector: cannot decode the answer")
)

// What ends a request of ours when nobody else does, and what a source told
// that cannot be so. They are the causes that Status.LastError wraps.
var (
	errSilent      = errors.New("no initial-events bookmark, and no initial event for too long")
	errEarly       = errors.New("no initial-events bookmark before the stream ended")
	errOpening     = errors.New("the server did not answer the watch request")
	errDeadline    = errors.New("the server did not end the watch when it was due")
	errRenewed     = errors.New("the streaming list has gone on as a watch for as long as one should")
	errQuiet       = errors.New("the watch has become silent")
	errPage        = errors.New("the server did not deliver the page")
	errSamePage    = errors.New("the server repeats a page of the list")
	errShort       = errors.New("the server ended the watch at once")
	errOrder       = errors.New("the server sent an event that is too late to be put in order")
	errNoVersion   = errors.New("the server gave no resource version to resume from")
	errCut         = errors.New("the answer broke off")
	errWentBack    = errors.New("the server went back in time")
	errUnaccounted = errors.New("the list does not have it, but has objects whose names cannot be read: it may be one of them, or gone")
	errEmptyPages  = errors.New("the server sends page after page with nothing new in it")
	errStale       = errors.New("the server has moved on, and the watches tell nothing")
)

// denied names the verb that the user lacks. Not every authorizer does.
func denied(verb string, err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	return fmt.Errorf("may not %s: %w", verb, err)
}

// Stage names the step at which an object could not be used.
type Stage string

const (
	// StageDecode is the reading of an object and of its name.
	StageDecode Stage = "decode"
	// StageType is the check that an object is of the type of its source.
	StageType Stage = "type"
	// StageTransform is the transform of the user.
	StageTransform Stage = "transform"
)

// ObjectError tells that one object could not be used. All others are: the
// state of this one that was good last stays until a good one follows.
type ObjectError struct {
	// Resource names the collection, such as "pods" or "pods in default".
	Resource string
	// Key, UID and Version identify the object, as far as they could be read.
	Key     types.NamespacedName
	UID     types.UID
	Version string
	// Stage is the step that failed.
	Stage Stage
	// Err is the cause, never nil.
	Err error
}

// Error names the resource, the object, its version, the stage and the cause. Of what is
// longer than any name may be it tells the beginning.
func (e *ObjectError) Error() string {
	name := "an object without a name"
	if e.Key.Name != "" {
		name = e.Key.Name
		if e.Key.Namespace != "" {
			name = e.Key.Namespace + "/" + name
		}
	}
	if e.Version != "" {
		name += " at version " + e.Version
	}
	return fmt.Sprintf("%s: %s: %s: %v", e.Resource, clip(name), e.Stage, e.Err)
}

// Unwrap returns the cause.
func (e *ObjectError) Unwrap() error { return e.Err }

// maxText is how much is told of a name, and of the cause of an error, in bytes. It is
// more than the names that an API server allows have.
const maxText = 400

func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "..."
}

// inBrief is an error with no more than the beginning of its text: some repeat, quoted
// and more than once, the whole of what they cannot read.
func inBrief(err error) error {
	if s := err.Error(); len(s) > maxText {
		return &briefError{clip(s), err}
	}
	return err
}

type briefError struct {
	text string
	err  error
}

func (e *briefError) Error() string { return e.text }
func (e *briefError) Unwrap() error { return e.err }

// PanicError is the cause of an ObjectError whose transform panicked.
type PanicError = panics.Error

// SinkError ends a run: the sink refused, so nothing read from the server could
// be handed on.
type SinkError struct {
	// Resource names the collection.
	Resource string
	// Err is what the sink said.
	Err error
}

// Error names the resource and the cause.
func (e *SinkError) Error() string {
	return fmt.Sprintf("%s: the sink refused: %v", e.Resource, e.Err)
}

// Unwrap returns what the sink said.
func (e *SinkError) Unwrap() error { return e.Err }
