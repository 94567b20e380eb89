package wire

import (
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Frame is one event of a watch.
type Frame struct {
	// Type is the type of the event as the server wrote it, such as "ADDED".
	Type string
	// Kind is the version and kind of the object, as far as they were read.
	Kind schema.GroupVersionKind
	// Item is the object.
	Item
}

// Frames splits the body of a watch into its events.
type Frames struct {
	w        window
	encoding Encoding
	names    names
	err      error
}

// NewFrames returns Frames that read from body. They allocate their window with
// the first byte they want, and do not close body.
func NewFrames(body io.Reader) *Frames {
	return &Frames{w: window{r: body, small: watchWindow}}
}

// Await waits until there is something to be read or the body has ended, which
// Next then tells. Who waits here and not in Next waits with less stack, which is
// most of what a watch holds while it is idle.
func (f *Frames) Await() {
	if f.err == nil {
		_ = f.w.need(1) // the window keeps the error for Next
	}
}

// Next waits for the next frame. At the end of the body it returns io.EOF. Any
// other error ends the watch: a *SyntaxError if the end of a frame cannot be
// found, an io.ErrUnexpectedEOF if the body ends within a frame, or what its
// reader said. After an error it returns the same again.
func (f *Frames) Next() (Frame, error) {
	if f.err != nil {
		return Frame{}, f.err
	}
	var frame Frame
	if frame, f.err = f.next(); f.err != nil {
		return Frame{}, f.err
	}
	return frame, nil
}

// TryNext returns the next frame if all of it was read already, and ErrNotReady
// if not. It never reads.
func (f *Frames) TryNext() (Frame, error) {
	if f.err != nil {
		return Frame{}, f.err
	}
	f.w.dry = true
	defer func() { f.w.dry = false }()
	frame, err := f.next()
	if err == nil {
		return frame, nil
	}
	if err != ErrNotReady {
		f.err = err
	}
	return Frame{}, err
}

// Trim gives back what the window has grown to, if nothing is in it. It is for
// the moments at which a watch is known to be quiet.
func (f *Frames) Trim() { f.w.trim() }

// Encoding tells how the frames travel. It is known from the first frame.
func (f *Frames) Encoding() Encoding { return f.encoding }

func (f *Frames) next() (Frame, error) {
	if f.encoding == Unknown {
		if err := f.w.need(1); err != nil {
			return Frame{}, err
		}
		switch b := f.w.have()[0]; {
		case beginsJSON(b):
			f.encoding = JSON
		case b <= maxSkip>>24:
			f.encoding = Protobuf
		default:
			return Frame{}, stranger(&f.w)
		}
	}
	if f.encoding == JSON {
		return f.json()
	}
	return f.protobuf()
}

// typeNames are the types of events that need not be allocated.
var typeNames = [...]string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"}

// typeName returns b as a string.
func typeName(b []byte) string {
	for _, known := range typeNames {
		if string(b) == known {
			return known
		}
	}
	return string(b)
}
