package workqueue

import "errors"

// The errors of a queue. They are wrapped: use [errors.Is].
var (
	// ErrClosed is returned by Add and AddAfter once Drain or Close was called,
	// and by Get when nothing will ever come again.
	ErrClosed = errors.New("workqueue: closed")
	// ErrNotProcessing is returned by Done for a key that no worker holds.
	ErrNotProcessing = errors.New("workqueue: key is not being processed")
	// ErrDropped is returned by Drain if a key was dropped while it waited:
	// its work failed and is not retried during a drain, or Close came first.
	ErrDropped = errors.New("workqueue: keys were dropped")
)

// errNilContext is the answer to a nil context.
var errNilContext = errors.New("workqueue: the context is nil")
