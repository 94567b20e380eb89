package wire

import "encoding/binary"

// lengthSize is the size of what stands before each frame in protobuf: its
// length, with the high byte first (k8s.io/apimachinery/pkg/util/framer).
const lengthSize = 4

// protobuf reads one frame: a metav1.WatchEvent (1: type, 2: RawExtension) whose
// raw object has an envelope of its own.
func (f *Frames) protobuf() (Frame, error) {
	if err := f.w.need(lengthSize); err != nil {
		return Frame{}, err
	}
	n := int(binary.BigEndian.Uint32(f.w.have()))
	if n > maxSkip {
		return Frame{}, syntax(f.w.off, "a frame of %d bytes", n)
	}
	if n > MaxItem {
		return f.giant(int64(n))
	}
	if err := f.w.need(lengthSize + n); err != nil {
		return Frame{}, f.w.inside(err)
	}
	f.w.advance(lengthSize)
	at := f.w.off
	body, err := f.w.take(n)
	if err != nil {
		return Frame{}, err
	}
	var frame Frame
	frame.Type, frame.Raw, frame.Err = f.event(body, at)
	frame.Kind = f.names.known
	if frame.Err == nil && tooDeep(frame.Raw) {
		frame.Err = ErrTooDeep
	}
	return frame, nil
}

// event reads a metav1.WatchEvent in memory.
func (f *Frames) event(body []byte, at int64) (kind string, raw []byte, err error) {
	var object []byte
	err = fields(body, at, func(part field) (err error) {
		var value []byte
		switch part.num {
		case 1:
			value, err = bytesOf(part, at, "the type of the event")
			kind = typeName(value)
		case 2:
			if value, err = bytesOf(part, at, "the object"); err != nil {
				break
			}
			err = fields(value, at, func(inner field) (err error) {
				if inner.num == 1 {
					object, err = bytesOf(inner, at, "the object")
				}
				return err
			})
		}
		return err
	})
	if err != nil {
		f.names.set(nil, nil)
		return kind, nil, err
	}
	raw, err = unwrap(object, at, &f.names)
	return kind, raw, err
}

// giant reads past a frame that is too large. What it says at its beginning is
// kept: the type of the event, and who the object is.
func (f *Frames) giant(n int64) (Frame, error) {
	if f.w.dry {
		return Frame{}, ErrNotReady
	}
	f.w.advance(lengthSize)
	b, err := f.w.head(n)
	if err != nil {
		return Frame{}, f.w.inside(err)
	}
	frame := Frame{Item: Item{Err: ErrTooLarge}}
	f.names.set(nil, nil)
	b = f.enter(b, 2, func(part field) { frame.Type = typeName(part.value) })
	b = f.enter(b, 1, func(field) {})
	if len(b) >= len(magic) && string(b[:len(magic)]) == magic {
		frame.Raw = f.enter(b[len(magic):], 2, func(meta field) { _ = f.names.protobuf(meta.value, 0) })
	}
	frame.Kind = f.names.known
	return frame, nil
}

// enter returns what is there of the field num of a message that is cut off, and
// gives first every field 1 before it to each.
func (f *Frames) enter(b []byte, num uint64, each func(part field)) []byte {
	for len(b) > 0 {
		part, problem := nextField(b)
		switch {
		case part.num == num && part.value != nil:
			return part.value
		case problem != "":
			return nil
		case part.num == 1:
			each(part)
		}
		b = b[part.size:]
	}
	return nil
}
