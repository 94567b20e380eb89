package workqueue

import (
	"errors"
	"fmt"
)

// The errors of a queue. They are wrapped: use [errors.Is].
var (
	// ErrClosed is returned by everything that adds a key once Drain or Close
	// was called, and by Get when nothing will ever come again.
	ErrClosed = errors.New("workqueue: closed")
	// ErrNotProcessing is returned by Done for a key that no worker holds.
	ErrNotProcessing = errors.New("workqueue: key is not being processed")
	// ErrDropped is returned by Drain if a key was dropped while it waited:
	// its work failed and is not retried during a drain, or Close came first.
	ErrDropped = errors.New("workqueue: keys were dropped")
	// ErrBadKey is returned for a key that no queue can hold, because it is not
	// equal to itself or cannot be hashed: a NaN, or a slice in an interface.
	// It is returned too for a key whose tenant function panics.
	ErrBadKey = errors.New("workqueue: not a key")
	// ErrInvalid is returned for options and arguments that make no sense.
	ErrInvalid = errors.New("workqueue: invalid")
)

// errNilContext is the answer to a nil context.
var errNilContext = fmt.Errorf("%w: the context is nil", ErrInvalid)

// keyError adds the key to an error. It must be called without the lock of the
// queue, because a key may have a String method that asks the queue.
func keyError[K comparable](err error, key K) error {
	const most = 200
	s := fmt.Sprint(key)
	if len(s) > most {
		s = s[:most] + "..."
	}
	return fmt.Errorf("%w: %s", err, s)
}
