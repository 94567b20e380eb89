// Package panics turns a panic of the user's code into an error, so that it can
// be reported like one.
package panics

import (
	"fmt"
	"runtime/debug"
)

// Error is a panic of a function that the user gave us. Packages export it as
// their PanicError.
type Error struct {
	// Value is what was given to panic.
	Value any
	// Stack is the stack of the goroutine at the panic, as runtime/debug.Stack
	// prints it.
	Stack []byte
}

// New is called by the deferred function that recovered value, so that the stack
// is still that of the panic.
func New(value any) *Error { return &Error{Value: value, Stack: debug.Stack()} }

// Error tells the value. The stack is for those who ask for it.
func (e *Error) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the value if it is an error, else nil.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
