package wire

import (
	"errors"
	"fmt"
)

// Encoding is how an object travels.
type Encoding uint8

const (
	// Unknown is the encoding of a body of which nothing was read yet.
	Unknown Encoding = iota
	// Protobuf is the encoding application/vnd.kubernetes.protobuf.
	Protobuf
	// JSON is the encoding application/json.
	JSON
)

// String names the encoding.
func (e Encoding) String() string {
	switch e {
	case Protobuf:
		return "protobuf"
	case JSON:
		return "JSON"
	}
	return "unknown"
}

const (
	// MaxItem is the largest object that is handed out, in bytes. It is ten
	// times what etcd stores by default, and what client-go takes as a frame
	// of a watch (k8s.io/apimachinery/pkg/runtime/serializer/streaming): a
	// larger object could be listed there, but never watched.
	MaxItem = 16 << 20
	// MaxDepth is how deep an object may be nested. It is the limit of
	// encoding/json. Decoders recurse, those of protobuf without a limit of
	// their own, and a stack that overflows ends the process.
	MaxDepth = 10000
	// maxRest bounds what a list may have beside its items, and a status.
	maxRest = 1 << 20
	// maxSkip bounds the length of a frame that is skipped because it is too
	// large. A length beyond it is no length: the stream is out of step. Its
	// high byte is less than that of any white space, with which JSON begins.
	maxSkip = 1 << 27
	// beginning is how much of an object that is too large is handed out. The
	// metadata of an object stand at its beginning.
	beginning = 8 << 10
)

var (
	// ErrTooLarge is the error of an object that is longer than MaxItem.
	ErrTooLarge = fmt.Errorf("wire: the object is longer than %d bytes", MaxItem)
	// ErrTooDeep is the error of an object that is nested deeper than MaxDepth.
	ErrTooDeep = fmt.Errorf("wire: the object is nested deeper than %d levels", MaxDepth)
	// ErrNotReady is returned by [Frames.TryNext] when no whole frame is at
	// hand.
	ErrNotReady = errors.New("wire: no whole frame is at hand")
)

// Item is one object of a list.
type Item struct {
	// Raw is the object without an envelope: a protobuf message or a JSON
	// value. If Err is set, it is what is known of it, perhaps nothing. It is
	// valid until the next call and must not be changed.
	Raw []byte
	// Err tells that this object cannot be used: ErrTooLarge, ErrTooDeep or,
	// in a frame, a *SyntaxError. The next ones can.
	Err error
}

// SyntaxError tells what a body has in a place where it cannot be.
type SyntaxError struct {
	// Offset is the number of bytes before that place.
	Offset int64
	// Problem says what is wrong there.
	Problem string
}

// Error names the offset and the problem.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("wire: at byte %d: %s", e.Offset, e.Problem)
}

// syntax makes a SyntaxError.
func syntax(offset int64, format string, args ...any) error {
	return &SyntaxError{Offset: offset, Problem: fmt.Sprintf(format, args...)}
}
