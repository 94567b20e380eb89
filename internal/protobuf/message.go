package protobuf

import (
	"io"
	"reflect"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// message decodes b into the value of m's type at base. old is another value of the
// type, whose parts are taken where they are the same, or nil; it is never written to.
//
// Pointers are stored through variables of pointer, string or slice type only,
// so that the compiler emits write barriers, and no pointer is formed past the
// end of what was allocated.
func (d *Decoder) message(m *message, base, old unsafe.Pointer, b []byte, depth int) *Error {
	if m.special != nil {
		return m.special(d, base, b)
	}
	if depth > maxDepth {
		return fail(0, ErrDepth)
	}
	if m.wrapper && *(*[]string)(base) == nil {
		*(*[]string)(base) = []string{} // present, if empty
	}
	for i := 0; i < len(b); {
		start := i
		tag := uint64(b[i])
		if i++; tag >= 0x80 || tag < 8 || tag&7 == wireEndGroup {
			var err *Error
			if tag, i, err = header(b, start); err != nil {
				return err
			}
		}
		number := uint64(uint32(tag >> 3))
		if number >= uint64(len(m.fields)) || m.fields[number].op == opSkip {
			if i = skip(b, start); i < 0 {
				return fail(start, ErrField)
			}
			continue
		}
		f := &m.fields[number]
		like := old
		if old != nil {
			like = unsafe.Add(old, f.offset)
		}
		var err *Error
		switch {
		case tag&7 == wireBytes && f.wire == wireBytes:
			from, to := 0, 0
			if i < len(b) && b[i] < 0x80 { // chunk, for a short value
				from = i + 1
				if to = from + int(b[i]); to > len(b) {
					return fail(i, io.ErrUnexpectedEOF).within(f.name, 0)
				}
			} else if from, to = chunk(b, i); to < 0 {
				return malformed(b, i).within(f.name, 0)
			}
			if f.op >= opStrings {
				end, n := run(b, start, i, to)
				if err = d.run(f, unsafe.Add(base, f.offset), like, b[start:end], i-start, n, depth); err != nil {
					return err.within(f.name, start)
				}
				i = end
				continue
			}
			if f.op == opString { // most fields are
				if s := (*string)(like); s != nil && *s == string(b[from:to]) {
					*(*string)(unsafe.Add(base, f.offset)) = *s
				} else {
					*(*string)(unsafe.Add(base, f.offset)) = d.string(f.id, b[from:to])
				}
			} else if err = d.bytes(f, unsafe.Add(base, f.offset), like, b[from:to], depth); err != nil {
				return err.within(f.name, from)
			}
			i = to
		case tag&7 == wireVarint && f.wire == wireVarint:
			u, end := uvarint(b, i)
			if end < 0 {
				return malformed(b, i).within(f.name, 0)
			}
			i = end
			if f.op >= opBools {
				i, err = d.repeated(f, unsafe.Add(base, f.offset), b, i, tag, u)
			} else {
				d.number(f, unsafe.Add(base, f.offset), like, u)
			}
			if err != nil {
				return err.within(f.name, 0)
			}
		case tag&7 == wireBytes && f.op >= opBools && f.op <= opInt64s:
			from, to := chunk(b, i)
			if to < 0 {
				return malformed(b, i).within(f.name, 0)
			}
			if err = d.packed(f, unsafe.Add(base, f.offset), b[from:to]); err != nil {
				return err.within(f.name, from)
			}
			i = to
		default:
			return fail(start, ErrWireType).within(f.name, 0)
		}
	}
	return nil
}

// bytes decodes a length-delimited value, other than a string, into the
// variable at p.
func (d *Decoder) bytes(f *field, p, old unsafe.Pointer, v []byte, depth int) *Error {
	switch f.op {
	case opMessage:
		return d.message(f.msg, p, old, v, depth+1)
	case opBytes:
		*(*[]byte)(p) = d.clone(v)
	case opTimePointer:
		return d.timePointer((**metav1.Time)(p), (**metav1.Time)(old), v)
	case opMessagePointer, opStringPointer:
		return d.pointer(f, p, old, v, depth)
	}
	return nil
}

// pointer decodes into what the pointer at p points to. A string is replaced
// if it comes again, a message is merged.
func (d *Decoder) pointer(f *field, p, old unsafe.Pointer, v []byte, depth int) *Error {
	pp := (*unsafe.Pointer)(p)
	if !d.sharing || f.kind == 0 {
		return d.pointee(f, pp, nil, v, depth)
	}
	if *pp != nil && f.op == opMessagePointer {
		return inPieces
	}
	found, l := d.find(f, v)
	if found != nil {
		*pp = found.value
		return nil
	}
	var err *Error
	if old != nil && *(*unsafe.Pointer)(old) != nil {
		err = d.pointeeLike(f, pp, *(*unsafe.Pointer)(old), v, depth)
	} else {
		err = d.pointee(f, pp, nil, v, depth)
	}
	if err != nil {
		return err
	}
	d.keep(l, f, v, *pp, 0)
	return nil
}

// pointee decodes what the pointer pp points to, and makes it first if need be.
func (d *Decoder) pointee(f *field, pp *unsafe.Pointer, old unsafe.Pointer, v []byte, depth int) *Error {
	if f.op == opStringPointer {
		*pp = unsafe.Pointer(own(d.string(f.id+1, v)))
		d.spent += int(f.size)
		return nil
	}
	if *pp == nil {
		*pp = reflect.New(f.elem).UnsafePointer()
		d.spent += int(f.size)
	}
	return d.message(f.msg, *pp, old, v, depth+1)
}

// clone copies v. The copy of nothing is empty, not nil.
func (d *Decoder) clone(v []byte) []byte {
	d.spent += len(v)
	c := make([]byte, len(v))
	copy(c, v)
	return c
}

// number stores a varint in the variable at p.
func (d *Decoder) number(f *field, p, old unsafe.Pointer, u uint64) {
	switch f.op {
	case opBool:
		*(*bool)(p) = u != 0
	case opInt32:
		*(*int32)(p) = int32(u)
	case opInt64:
		*(*int64)(p) = int64(u)
	case opBoolPointer:
		*(**bool)(p) = d.boolPointer(u != 0)
	case opInt32Pointer:
		if like := (**int32)(old); like != nil && *like != nil && **like == int32(u) {
			*(**int32)(p) = *like
			return
		}
		*(**int32)(p) = d.int32Pointer(int32(u))
	case opInt64Pointer:
		if like := (**int64)(old); like != nil && *like != nil && **like == int64(u) {
			*(**int64)(p) = *like
			return
		}
		*(**int64)(p) = d.int64Pointer(int64(u))
	}
}

// sharedNumbers is how many numbers of a type, or times, have a pointer that is
// shared.
const sharedNumbers = 64

// timePointer decodes a time. Some are in an object more than once: when it was
// created, started, and written to by whom.
func (d *Decoder) timePointer(p, old **metav1.Time, v []byte) *Error {
	s, _, err := timestamp(v)
	if err != nil {
		return err
	}
	t := metav1.Time{Time: instant(v, s, 0)}
	if !d.sharing {
		d.spent += int(unsafe.Sizeof(t))
		*p = own(t)
		return nil
	}
	if old != nil && *old != nil && **old == t {
		*p = *old
		return nil
	}
	if d.times == nil {
		d.times = make([]*metav1.Time, sharedNumbers)
	}
	e := &d.times[uint64(s)%sharedNumbers]
	if *e == nil || **e != t {
		*e = own(t)
	}
	*p = *e
	return nil
}

// own returns a pointer to a copy of v. A variable whose address is taken where one
// is needed would be allocated where none is, too.
func own[T any](v T) *T { return &v }

func (d *Decoder) boolPointer(v bool) *bool {
	if !d.sharing {
		d.spent++
		return own(v)
	}
	if d.bools == nil {
		d.bools = &[2]bool{false, true}
	}
	if v {
		return &d.bools[1]
	}
	return &d.bools[0]
}

func (d *Decoder) int32Pointer(v int32) *int32 {
	if !d.sharing {
		d.spent += 4
		return own(v)
	}
	if d.int32s == nil {
		d.int32s = make([]*int32, sharedNumbers)
	}
	e := &d.int32s[uint32(v)%sharedNumbers]
	if *e == nil || **e != v {
		*e = own(v)
	}
	return *e
}

func (d *Decoder) int64Pointer(v int64) *int64 {
	if !d.sharing {
		d.spent += 8
		return own(v)
	}
	if d.int64s == nil {
		d.int64s = make([]*int64, sharedNumbers)
	}
	e := &d.int64s[uint64(v)%sharedNumbers]
	if *e == nil || **e != v {
		*e = own(v)
	}
	return *e
}
