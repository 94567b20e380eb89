package protobuf

import (
	"reflect"
	"strconv"
	"unsafe"
)

// run decodes the n values of a list or map that follow each other in b, each
// after a tag of tagLen bytes, into the variable at p. old is another such variable,
// or nil: what it has is taken if it is the same.
func (d *Decoder) run(f *field, p, old unsafe.Pointer, b []byte, tagLen, n, depth int) *Error {
	if !d.sharing || f.kind == 0 {
		return d.elements(f, p, b, tagLen, n, depth)
	}
	if f.op >= opStringMap {
		mp := (*unsafe.Pointer)(p) // a map is a pointer
		if *mp != nil {
			return inPieces
		}
		found, l := d.find(f, b)
		if found != nil {
			*mp = found.value
			return nil
		}
		if old != nil && d.sameMap(f, old, b, tagLen, n) {
			*mp = *(*unsafe.Pointer)(old)
			d.keep(l, f, b, *mp, 0)
			return nil
		}
		if err := d.elements(f, p, b, tagLen, n, depth); err != nil {
			return err
		}
		d.keep(l, f, b, *mp, 0)
		return nil
	}
	// Elements of no size let the slice be read and set whatever its type is.
	s := (*[]struct{})(p)
	if len(*s) > 0 {
		return inPieces
	}
	found, l := d.find(f, b)
	if found != nil {
		*s = unsafe.Slice((*struct{})(found.value), int(found.count))
		return nil
	}
	if err := d.elementsLike(f, p, old, b, tagLen, n, depth); err != nil {
		return err
	}
	d.keep(l, f, b, unsafe.Pointer(unsafe.SliceData(*s)), n)
	return nil
}

func (d *Decoder) elements(f *field, p unsafe.Pointer, b []byte, tagLen, n, depth int) *Error {
	if d.spent += n * int(f.size); d.spent > d.most {
		return fail(0, ErrExpands)
	}
	switch f.op {
	case opStrings:
		return d.stringElements(f, (*[]string)(p), b, tagLen, n)
	case opMessages:
		return d.messageElements(f, p, b, tagLen, n, depth)
	case opStringMap:
		return d.stringMap(f, (*map[string]string)(p), b, tagLen, n)
	case opBytesMap:
		return d.bytesMap(f, (*map[string][]byte)(p), b, tagLen, n)
	case opQuantityMap:
		return d.quantityMap(f, p, b, tagLen, n)
	}
	return d.anyMap(f, p, b, tagLen, n, depth)
}

func (d *Decoder) stringElements(f *field, s *[]string, b []byte, tagLen, n int) *Error {
	all := *s
	if len(all) == 0 {
		all = make([]string, 0, n)
	}
	for i := 0; i < len(b); {
		from, to := chunk(b, i+tagLen)
		all = append(all, d.string(f.id+1, b[from:to]))
		i = to
	}
	*s = all
	return nil
}

func (d *Decoder) messageElements(f *field, p unsafe.Pointer, b []byte, tagLen, n, depth int) *Error {
	all := (*[]struct{})(p)
	k := len(*all)
	if k == 0 {
		*all = unsafe.Slice((*struct{})(d.list(f, n)), n)
	} else {
		s := reflect.NewAt(f.slice, p).Elem()
		s.Grow(n)
		s.SetLen(k + n)
	}
	first := unsafe.Pointer(unsafe.SliceData(*all))
	for i := 0; i < len(b); k++ {
		from, to := chunk(b, i+tagLen)
		if err := d.message(f.msg, unsafe.Add(first, uintptr(k)*f.size), nil, b[from:to], depth+1); err != nil {
			return err.within("["+strconv.Itoa(k)+"]", from)
		}
		i = to
	}
	return nil
}

// list returns the first of n new elements. The variable that is grown to make
// them is used again, for it is not cheap to come by.
func (d *Decoder) list(f *field, n int) unsafe.Pointer {
	s := &d.lists[f.list]
	if !s.IsValid() {
		*s = reflect.New(f.slice).Elem()
	}
	s.Grow(n)
	first := s.UnsafePointer()
	s.SetZero()
	return first
}

// repeated decodes the numbers that follow each other under one tag, unpacked.
// The first is u, and the next is at b[i:].
func (d *Decoder) repeated(f *field, p unsafe.Pointer, b []byte, i int, tag, u uint64) (int, *Error) {
	n := 1
	for at := i; at < len(b); n++ {
		next, value := uvarint(b, at)
		if value < 0 || next != tag {
			break
		}
		if _, at = uvarint(b, value); at < 0 {
			return 0, malformed(b, value)
		}
	}
	if err := d.room(f, p, n); err != nil {
		return 0, err
	}
	appendNumber(f, p, u)
	for ; n > 1; n-- {
		_, value := uvarint(b, i)
		u, i = uvarint(b, value)
		appendNumber(f, p, u)
	}
	return i, nil
}

// packed decodes the numbers of one length-delimited value.
func (d *Decoder) packed(f *field, p unsafe.Pointer, v []byte) *Error {
	n := 0
	for i := 0; i < len(v); n++ {
		_, end := uvarint(v, i)
		if end < 0 {
			return malformed(v, i)
		}
		i = end
	}
	if err := d.room(f, p, n); err != nil {
		return err
	}
	for i := 0; i < len(v); {
		var u uint64
		u, i = uvarint(v, i)
		appendNumber(f, p, u)
	}
	return nil
}

// room makes room for n numbers in the slice at p if it is empty, for exactly
// so many. For none it stays nil.
func (d *Decoder) room(f *field, p unsafe.Pointer, n int) *Error {
	if d.spent += n * int(f.size); d.spent > d.most {
		return fail(0, ErrExpands)
	}
	if n == 0 || len(*(*[]struct{})(p)) > 0 {
		return nil
	}
	switch f.op {
	case opBools:
		*(*[]bool)(p) = make([]bool, 0, n)
	case opInt32s:
		*(*[]int32)(p) = make([]int32, 0, n)
	case opInt64s:
		*(*[]int64)(p) = make([]int64, 0, n)
	}
	return nil
}

func appendNumber(f *field, p unsafe.Pointer, u uint64) {
	switch f.op {
	case opBools:
		s := (*[]bool)(p)
		*s = append(*s, u != 0)
	case opInt32s:
		s := (*[]int32)(p)
		*s = append(*s, int32(u))
	case opInt64s:
		s := (*[]int64)(p)
		*s = append(*s, int64(u))
	}
}
