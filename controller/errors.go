package controller

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// The errors of a controller. They are wrapped: use [errors.Is].
var (
	// ErrRunning is returned by Run while another Run has not ended.
	ErrRunning = errors.New("already running")
	// ErrPermanent is what every error made by [Permanent] is.
	ErrPermanent = errors.New("permanent error")
	// ErrExited is reported for a reconcile that ended its goroutine with
	// runtime.Goexit instead of returning, as t.FailNow does, be it in the
	// reconciler or in [Options].OnError. It is retried by a new worker.
	ErrExited = errors.New("the reconciler ended its goroutine")
)

// ErrTimeout is what the error of a reconcile is that ran longer than
// [Options].Timeout and gave up, and the cause of the end of its context.
var ErrTimeout = errors.New("the reconcile has timed out")

// errInvalid marks arguments that cannot be used.
var errInvalid = errors.New("invalid")

// Permanent marks an error that no retry can mend: the key is not tried again
// until something adds it, as a change of the object does. The error is counted as
// any other, keeps its text, and stays in [Status].GivenUp until a reconcile of
// the key ends in another way; so long, the log is told of it once. Permanent of nil is nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

type permanentError struct{ err error }

func (e *permanentError) Error() string        { return e.err.Error() }
func (e *permanentError) Unwrap() error        { return e.err }
func (e *permanentError) Is(target error) bool { return target == ErrPermanent }

// RetryAfter marks an error that is worth a retry after d and not before, as of a
// server that has named a time: d takes the place of the back-off, and a
// [Result].RequeueAfter beside it that of d. A negative d means at once, 0 the
// back-off. The error keeps its text. RetryAfter of nil is nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &retryError{err, d}
}

type retryError struct {
	err   error
	after time.Duration
}

func (e *retryError) Error() string { return e.err.Error() }
func (e *retryError) Unwrap() error { return e.err }

// StopError is returned by Run when something has not ended within
// [Options].StopTimeout after its context. It goes on, and until it ends the
// controller cannot run again.
type StopError struct {
	Timeout time.Duration
	// Reconciling are the keys whose reconciles have not returned, the one that
	// has been running longest first.
	Reconciling []Reconciling
	// Watches names the informers whose handler, that is a map or a predicate,
	// has not returned.
	Watches []string
}

// Error names up to ten keys.
func (e *StopError) Error() string {
	var left []string
	if len(e.Reconciling) > 0 {
		left = append(left, brief(e.Reconciling))
	}
	for _, name := range e.Watches {
		left = append(left, "watch of "+name)
	}
	return fmt.Sprintf("not ended %v after the stop: %s", e.Timeout, strings.Join(left, ", "))
}

// brief names up to ten reconciles.
func brief(all []Reconciling) string {
	var names []string
	for i, r := range all {
		if i == 10 {
			names = append(names, fmt.Sprintf("%d others", len(all)-i))
			break
		}
		names = append(names, fmt.Sprintf("reconcile of %s since %s", short(r.Key), r.Since.Format(time.RFC3339)))
	}
	return strings.Join(names, ", ")
}

// PanicError is what a panic of a reconciler, a map or a predicate becomes.
type PanicError struct {
	// Key is what was being reconciled, or the object that was being mapped.
	Key types.NamespacedName
	// Value is what panic was called with.
	Value any
	// Stack is the stack of the goroutine when it panicked.
	Stack []byte
}

// Error tells the key and the value, not the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic on %s: %v", short(e.Key), e.Value) }

// Unwrap returns the value if it is an error, and else nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// maxKey is how much of a key an error shows, in bytes. It is enough for all names that
// an API server allows; a map can make up longer ones.
const maxKey = 320

// short is a key as an error shows it.
func short(key types.NamespacedName) string {
	s := key.String()
	if len(s) <= maxKey {
		return s
	}
	return strings.ToValidUTF8(s[:maxKey], "") + "..."
}
