package jsonobject

import (
	"errors"
	"fmt"
)

// What an [Error] wraps. Input that ends too early is [io.ErrUnexpectedEOF].
var (
	ErrSyntax    = errors.New("not JSON")
	ErrDepth     = errors.New("nested deeper than 10000 levels")
	ErrRange     = errors.New("number out of range")
	ErrNotObject = errors.New("not an object")
)

// An Error says where decoding an object failed.
type Error struct {
	Offset int    // the byte of the input at which the trouble was noticed
	Want   string // what would have been right there; "" if that is clear
	Err    error  // one of the errors above
}

func (e *Error) Error() string {
	want := ""
	if e.Want != "" {
		want = ", want " + e.Want
	}
	return fmt.Sprintf("decoding JSON: at byte %d: %v%s", e.Offset, e.Err, want)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
