package protobuf

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// ErrUnsupported is what [NewDecoder] wraps when it has no decoder for a type.
// The stock Unmarshal of the type is to be used in its place.
var ErrUnsupported = errors.New("type not supported")

// What an [Error] wraps. A value that ends too early, or whose length goes
// past the end of what contains it, is [io.ErrUnexpectedEOF].
var (
	ErrVarint   = errors.New("varint of more than ten bytes")
	ErrTag      = errors.New("illegal tag")
	ErrWireType = errors.New("wrong wire type")
	ErrDepth    = errors.New("messages nested too deep")
	ErrExpands  = errors.New("object expands beyond measure")
	ErrField    = errors.New("malformed field")
)

// An Error says where decoding an object failed.
type Error struct {
	Type   reflect.Type // of the object, such as *v1.Pod
	Path   string       // the field by its JSON names, "" for the object itself
	Offset int          // the byte of the input at which the trouble was noticed
	Err    error        // one of the errors above, or that of a quantity
}

func (e *Error) Error() string {
	path := ""
	if e.Path != "" {
		path = " " + e.Path
	}
	return fmt.Sprintf("decoding %v:%s at byte %d: %v", e.Type, path, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func fail(offset int, err error) *Error { return &Error{Offset: offset, Err: err} }

// malformed says what is wrong with the varint or the length at b[i:].
func malformed(b []byte, i int) *Error {
	if _, end := uvarint(b, i); end < 0 && len(b)-i >= maxVarint {
		return fail(i, ErrVarint)
	}
	return fail(i, io.ErrUnexpectedEOF)
}

// inPieces is no error: it makes Decode begin again without sharing.
var inPieces = &Error{Err: errors.New("a field comes in pieces")}

// within adds the field that contains the trouble, and where its value began.
func (e *Error) within(name string, offset int) *Error {
	if e == inPieces {
		return e
	}
	switch {
	case e.Path == "":
		e.Path = name
	case strings.HasPrefix(e.Path, "["):
		e.Path = name + e.Path
	case name != "":
		e.Path = name + "." + e.Path
	}
	e.Offset += offset
	return e
}

// A FieldError tells that a path of [Options.Fields] names no field that can
// be chosen.
type FieldError struct {
	Type   reflect.Type // of the objects
	Path   string
	Reason string
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("field %q of %v: %s", e.Path, e.Type, e.Reason)
}
