package deltafifo

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

var (
	// ErrClosed is returned by a queue that was closed: at once by Push, by
	// Pop when nothing is left, and by Settled when what it waits for may
	// never happen.
	ErrClosed = errors.New("the queue is closed")

	// ErrIdle is returned by Pop when there was nothing for Options.Idle. All that
	// was popped is acknowledged then. What is pushed from then on waits for
	// another Pop: whoever pushes has to see to it that there is one.
	ErrIdle = errors.New("the queue is idle")

	// ErrConcurrentPop is returned by Pop while another Pop runs. A queue has
	// one consumer: with two, nobody could say in which order changes are
	// applied.
	ErrConcurrentPop = errors.New("another Pop is running: the queue has one consumer")

	// ErrInvalidOptions is wrapped by what New returns for options that mean
	// nothing.
	ErrInvalidOptions = errors.New("invalid options")

	// ErrNilContext is returned by a method that was given no context.
	ErrNilContext = errors.New("the context is nil")
)

// InvalidDeltaError tells why Push refused a batch.
type InvalidDeltaError struct {
	// Index is the place of the delta in the batch.
	Index int
	// Item is the place in Items of that delta; -1 if the fault is its own.
	Item int
	// Type and Key are those of the faulty delta or item.
	Type Type
	Key  types.NamespacedName
	// Reason says what is wrong with it.
	Reason string
}

// Error names the delta and says what is wrong with it.
func (e *InvalidDeltaError) Error() string {
	at := fmt.Sprintf("delta %d", e.Index)
	if e.Item >= 0 {
		at += fmt.Sprintf(", item %d", e.Item)
	}
	return fmt.Sprintf("invalid %s (%v %q): %s", at, e.Type, e.Key.String(), e.Reason)
}
