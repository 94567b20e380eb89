package wire

import (
	"encoding/binary"
	"io"
	"math"
)

// statusKind is the kind of what a server sends in place of what was asked for.
const statusKind = "Status"

// protoList splits a list in protobuf: magic, and a runtime.Unknown (1: type, 2:
// raw) around a list (1: metadata, 2: items). It never holds the list.
type protoList struct {
	w *window
	*shape
	// end is the offset at which the list ends; 0 outside of it.
	end int64
	// seen tells that there was a list.
	seen bool
}

func (l *protoList) start() error {
	b, err := l.w.take(len(magic))
	if err != nil {
		return l.w.inside(err)
	}
	if string(b) != magic {
		return syntax(0, "not protobuf, which begins with %q", magic)
	}
	return nil
}

// next returns the next item, or io.EOF.
func (l *protoList) next() (Item, error) {
	for {
		if l.end > 0 && l.w.off == l.end {
			l.end = 0
		}
		at := l.w.off
		tag, err := l.tag()
		if err != nil {
			return Item{}, err
		}
		if l.end == 0 {
			if err := l.envelope(tag, at); err != nil {
				return Item{}, err
			}
			continue
		}
		if num, wire := tag>>3, tag&7; num == 2 && l.names.kind != statusKind {
			if wire != wireBytes {
				return Item{}, syntax(at, "items have wire type %d", wire)
			}
			return l.item()
		}
		if err := l.keep(tag); err != nil {
			return Item{}, err
		}
	}
}

// tag reads the tag of a field. Only between the fields of the envelope may the
// body end, and not before the list has come: what is cut off there must not be
// taken for an empty collection.
func (l *protoList) tag() (uint64, error) {
	if l.end == 0 {
		if err := l.w.need(1); err != nil {
			if err == io.EOF && !l.seen {
				err = l.w.cut(err)
			}
			return 0, err
		}
	}
	at := l.w.off
	tag, err := l.varint()
	if err == nil && (tag>>3 == 0 || tag>>3 > math.MaxInt32) {
		err = syntax(at, "not the tag of a field")
	}
	return tag, err
}

// envelope reads a field of the runtime.Unknown.
func (l *protoList) envelope(tag uint64, at int64) error {
	switch num, wire := tag>>3, tag&7; {
	case (num == 1 || num == 2) && wire != wireBytes:
		return syntax(at, "field %d of the envelope has wire type %d", num, wire)
	case num == 1:
		n, err := l.length()
		if err != nil {
			return err
		}
		if n > maxRest {
			return syntax(at, "a type of %d bytes", n)
		}
		meta, err := l.w.take(int(n))
		if err != nil {
			return l.w.inside(err)
		}
		return l.names.protobuf(meta, at)
	case num == 2:
		if l.seen {
			return syntax(at, "a second list")
		}
		n, err := l.length()
		if l.seen = true; err == nil && n > 0 {
			l.end = l.w.off + n
		}
		return err
	default:
		n, err := l.size(tag, at)
		if err != nil {
			return err
		}
		return l.w.inside(l.w.skip(n))
	}
}

// item reads one item, after its tag.
func (l *protoList) item() (Item, error) {
	n, err := l.length()
	if err != nil {
		return Item{}, err
	}
	l.items = true
	if n > MaxItem {
		raw, err := l.w.head(n)
		return Item{Raw: raw, Err: ErrTooLarge}, l.w.inside(err)
	}
	raw, err := l.w.take(int(n))
	if err != nil {
		return Item{}, l.w.inside(err)
	}
	if tooDeep(raw) {
		return Item{Raw: raw, Err: ErrTooDeep}, nil
	}
	return Item{Raw: raw}, nil
}

// keep appends a field of the list to the rest.
func (l *protoList) keep(tag uint64) error {
	at := l.w.off
	l.rest = binary.AppendUvarint(l.rest, tag)
	n, err := l.size(tag, at)
	if err != nil {
		return err
	}
	if tag&7 == wireBytes {
		l.rest = binary.AppendUvarint(l.rest, uint64(n))
	}
	if int64(len(l.rest))+n > maxRest {
		return syntax(at, "more than %d bytes beside the items", maxRest)
	}
	b, err := l.w.take(int(n))
	l.rest = append(l.rest, b...)
	return l.w.inside(err)
}

// size is the length of the value of a field whose tag was read. The value
// itself is left, but not the length that stands before it.
func (l *protoList) size(tag uint64, at int64) (int64, error) {
	n := int64(0)
	switch tag & 7 {
	case wireVarint:
		b, err := l.ahead()
		if err != nil {
			return 0, err
		}
		n = int64(b)
	case wireFixed64:
		n = 8
	case wireFixed32:
		n = 4
	case wireBytes:
		return l.length()
	default:
		return 0, syntax(at, "a field of wire type %d", tag&7)
	}
	return n, l.fits(n)
}

// length reads the length of a value.
func (l *protoList) length() (int64, error) {
	at := l.w.off
	u, err := l.varint()
	if err != nil {
		return 0, err
	}
	if u > math.MaxInt64/2 {
		return 0, syntax(at, "a length of %d", u)
	}
	return int64(u), l.fits(int64(u))
}

// fits fails if the next n bytes are more than the list has left.
func (l *protoList) fits(n int64) error {
	if l.end > 0 && n > l.end-l.w.off {
		return syntax(l.w.off, "a field of %d bytes in a list that has %d left", n, l.end-l.w.off)
	}
	return nil
}

// varint reads a number.
func (l *protoList) varint() (uint64, error) {
	n, err := l.ahead()
	if err != nil {
		return 0, err
	}
	u, _ := binary.Uvarint(l.w.have())
	l.w.advance(n)
	return u, l.fits(0)
}

// ahead returns the length of the number that comes next.
func (l *protoList) ahead() (int, error) {
	for n := 1; ; n++ {
		if err := l.w.need(n); err != nil {
			return 0, l.w.inside(err)
		}
		switch _, k := binary.Uvarint(l.w.have()[:n]); {
		case k > 0:
			return k, nil
		case k < 0 || n >= binary.MaxVarintLen64:
			return 0, syntax(l.w.off, "a bad varint")
		}
	}
}
