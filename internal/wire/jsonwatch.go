package wire

import (
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// json reads one frame: an object with the members "type" and "object". Nothing
// of it is left behind before its end was found, so that a frame of which a part
// is missing can be read again from its beginning.
func (f *Frames) json() (Frame, error) {
	at, err := f.w.space(0)
	f.w.advance(at)
	if err != nil {
		if f.w.lo == f.w.hi && f.w.err == io.EOF && !f.w.dry {
			err = io.EOF // only white space came
		}
		return Frame{}, err
	}
	frame, err := f.object()
	return frame, f.w.inside(err)
}

// kind reads the version and kind of an object. They stand before all else in
// what Kubernetes sends.
func (f *Frames) kind(raw []byte) schema.GroupVersionKind {
	var apiVersion, kind []byte
	members(raw, func(key, value []byte) bool {
		switch string(key) {
		case "apiVersion":
			apiVersion = text(value)
		case "kind":
			kind = text(value)
		}
		return apiVersion == nil || kind == nil
	})
	f.names.set(apiVersion, kind)
	return f.names.known
}

// span is where a value stands, counted from the beginning of the frame.
type span struct{ from, to int }

func (f *Frames) object() (Frame, error) {
	var frame Frame
	var object span
	at, err := f.w.expect(0, '{')
	if err != nil {
		return frame, err
	}
	b, end, err := f.w.byte(at)
	if err != nil {
		return frame, err
	}
	if b == '}' {
		f.w.advance(end + 1)
		return frame, nil
	}
	var head []byte
	deep := 0
	for b = ','; b == ','; at = end + 1 {
		key, value, err := f.w.key(at)
		if err != nil {
			return frame, err
		}
		what := string(key)
		var s scan
		end, err = f.w.value(value, MaxItem, &s)
		if err == errLong {
			if f.w.dry {
				return frame, ErrNotReady
			}
			b, err := f.w.giant(value, end, &s)
			if err != nil {
				return frame, err
			}
			// What was found before is no longer in the window.
			object, end, value, frame.Err = span{}, 0, 0, ErrTooLarge
			if what == "object" {
				head = b
			}
		}
		if err != nil && err != errLong {
			return frame, err
		}
		switch what {
		case "type":
			frame.Type = typeName(text(f.w.have()[value:end]))
		case "object":
			object, deep = span{value, end}, s.deepest
		}
		if b, end, err = f.w.byte(end); err != nil {
			return frame, err
		}
	}
	if b != '}' {
		return frame, syntax(f.w.off+int64(end), "got %q, want a comma or the end of the frame", b)
	}
	whole, err := f.w.take(end + 1)
	if err != nil {
		return frame, err
	}
	if frame.Raw = whole[object.from:object.to]; head != nil {
		frame.Raw = head
	}
	if deep > MaxDepth && frame.Err == nil {
		frame.Err = ErrTooDeep
	}
	frame.Kind = f.kind(frame.Raw)
	return frame, nil
}
