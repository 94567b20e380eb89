package controller

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// The errors of a controller. They are wrapped: use [errors.Is].
var (
	// ErrRunning is returned by Run while another Run has not ended.
	ErrRunning = errors.New("already running")
	// ErrPermanent is what every error made by [Permanent] is.
	ErrPermanent = errors.New("permanent error")
	// ErrExited is reported for a reconcile that ended its goroutine with
	// runtime.Goexit instead of returning, as t.FailNow does. It is retried
	// by a new worker.
	ErrExited = errors.New("the reconciler ended its goroutine")
)

// errInvalid marks arguments that cannot be used.
var errInvalid = errors.New("invalid")

// Permanent marks an error that no retry can mend: the key is not tried again
// until something adds it. The error is reported and counted as any other, and
// keeps its text. Permanent of nil is nil.
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
func (e *PanicError) Error() string { return fmt.Sprintf("panic on %s: %v", e.Key, e.Value) }

// Unwrap returns the value if it is an error, and else nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
