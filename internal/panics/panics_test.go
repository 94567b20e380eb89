package panics_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"heliograph.example/internal/panics"
)

// caught calls f and returns its panic as an error.
func caught(f func()) (err error) {
	defer func() { err = panics.New(recover()) }()
	f()
	return nil
}

func failHere() { panic(io.ErrUnexpectedEOF) }

func TestAPanicBecomesAnErrorWithItsValueAndPlace(t *testing.T) {
	err := caught(failHere)
	if err.Error() != "panic: unexpected EOF" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the error is %v", err)
	}
	var p *panics.Error
	if !errors.As(err, &p) || !strings.Contains(string(p.Stack), "failHere") {
		t.Errorf("the stack does not name the function that panicked:\n%s", p.Stack)
	}
	if err := caught(func() { panic("words") }); errors.Unwrap(err) != nil {
		t.Errorf("%v unwraps to %v", err, errors.Unwrap(err))
	}
}
