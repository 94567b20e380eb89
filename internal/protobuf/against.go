package protobuf

import (
	"reflect"
	"runtime"
	"strconv"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// DecodeAgainst is Decode of an object that is much like another one, as a new state
// of it is: parts that are the same, down to single strings, are those of old, and
// are not made anew. old must be an object that this decoder has decoded, or one with
// the same options, and is not written to; one of another type, nil, or any if the
// decoder is unshared, is not used.
//
// Which of the two is decoded by it makes no difference to the result.
func (d *Decoder) DecodeAgainst(raw []byte, old any) (any, error) {
	v := reflect.ValueOf(old)
	if d.unshared || !v.IsValid() || v.Type() != reflect.PointerTo(d.plan.typ) || v.IsNil() {
		return d.Decode(raw)
	}
	d.old = v.UnsafePointer()
	o, err := d.Decode(raw)
	d.old = nil
	runtime.KeepAlive(old)
	return o, err
}

// Values that may turn out to be the same as old ones are decoded into memory that is
// used again: they are made only if they are not.
//
// Two values count as the same if their memory is. That they are equal is not enough,
// but nearly always goes with it: what is equal in them was taken from the old one
// before. Padding is zero in both.

// sameMemory compares two values of a size.
func sameMemory(a, b unsafe.Pointer, size uintptr) bool {
	return string(unsafe.Slice((*byte)(a), size)) == string(unsafe.Slice((*byte)(b), size))
}

// pointeeLike decodes what the pointer pp is to point to, which may be the same as
// what old points to.
func (d *Decoder) pointeeLike(f *field, pp *unsafe.Pointer, old unsafe.Pointer, v []byte, depth int) *Error {
	if f.op == opStringPointer {
		if *(*string)(old) == string(v) {
			*pp = old
			return nil
		}
		return d.pointee(f, pp, nil, v, depth)
	}
	if d.spares == nil {
		d.spares = make([]unsafe.Pointer, d.plan.ids)
	}
	// Taken out meanwhile: messages can contain their own type.
	fresh := d.spares[f.id]
	d.spares[f.id] = nil
	fragile := d.fragile
	d.fragile = false
	if err := d.pointee(f, &fresh, old, v, depth); err != nil {
		return err
	}
	if d.fragile || !sameMemory(fresh, old, f.size) {
		*pp = fresh
	} else {
		*pp = old
		reflect.NewAt(f.elem, fresh).Elem().SetZero()
		d.spares[f.id] = fresh
	}
	d.fragile = d.fragile || fragile
	return nil
}

// elementsLike decodes the n values in b into the slice variable at p, which is
// empty. They may be the same as those in the variable at old, if that is not nil.
func (d *Decoder) elementsLike(f *field, p, old unsafe.Pointer, b []byte, tagLen, n, depth int) *Error {
	switch {
	case old == nil || len(*(*[]struct{})(old)) == 0:
	case f.op == opMessages:
		return d.messagesLike(f, p, *(*[]struct{})(old), b, tagLen, n, depth)
	case f.op == opStrings && sameStrings(*(*[]string)(old), b, tagLen, n):
		*(*[]string)(p) = (*(*[]string)(old))[:n:n]
		return nil
	}
	return d.elements(f, p, b, tagLen, n, depth)
}

func (d *Decoder) messagesLike(f *field, p unsafe.Pointer, old []struct{}, b []byte, tagLen, n, depth int) *Error {
	if d.spent += n * int(f.size); d.spent > d.most {
		return fail(0, ErrExpands)
	}
	if d.scratch == nil {
		d.scratch = make([]reflect.Value, d.plan.lists)
	}
	s := d.scratch[f.list]
	d.scratch[f.list] = reflect.Value{} // meanwhile: messages can contain their own type
	if !s.IsValid() {
		s = reflect.New(f.slice).Elem()
	}
	s.Grow(n)
	s.SetLen(n)
	fragile := d.fragile
	d.fragile = false
	err := d.eachLike(f, s.UnsafePointer(), old, b, tagLen, depth)
	if err == nil {
		if !d.fragile && n == len(old) && sameMemory(s.UnsafePointer(), unsafe.Pointer(unsafe.SliceData(old)), uintptr(n)*f.size) {
			*(*[]struct{})(p) = old[:n:n]
		} else {
			*(*[]struct{})(p) = unsafe.Slice((*struct{})(d.list(f, n)), n)
			reflect.Copy(reflect.NewAt(f.slice, p).Elem(), s)
		}
	}
	d.fragile = d.fragile || fragile
	s.Clear()
	s.SetLen(0)
	d.scratch[f.list] = s
	return err
}

// eachLike decodes the values in b into the elements from first on, each of which may
// be like the old one in its place.
func (d *Decoder) eachLike(f *field, first unsafe.Pointer, old []struct{}, b []byte, tagLen, depth int) *Error {
	oldFirst := unsafe.Pointer(unsafe.SliceData(old))
	for i, k := 0, 0; i < len(b); k++ {
		var like unsafe.Pointer
		if k < len(old) {
			like = unsafe.Add(oldFirst, uintptr(k)*f.size)
		}
		from, to := chunk(b, i+tagLen)
		if err := d.message(f.msg, unsafe.Add(first, uintptr(k)*f.size), like, b[from:to], depth+1); err != nil {
			return err.within("["+strconv.Itoa(k)+"]", from)
		}
		i = to
	}
	return nil
}

// sameStrings reports whether the n strings in b are those of old.
func sameStrings(old []string, b []byte, tagLen, n int) bool {
	if len(old) != n {
		return false
	}
	for i, k := 0, 0; i < len(b); k++ {
		from, to := chunk(b, i+tagLen)
		if old[k] != string(b[from:to]) {
			return false
		}
		i = to
	}
	return true
}

// sameMap reports whether the n entries in b are those of the map at old. Of maps of
// other types than those that nearly all objects have it says no.
func (d *Decoder) sameMap(f *field, old unsafe.Pointer, b []byte, tagLen, n int) bool {
	switch f.op {
	case opStringMap:
		m := *(*map[string]string)(old)
		return len(m) == n && sameEntries(b, tagLen, func(k, v []byte) bool {
			value, ok := m[string(k)]
			return ok && value == string(v)
		})
	case opQuantityMap:
		m := *(*corev1.ResourceList)(old)
		return len(m) == n && sameEntries(b, tagLen, func(k, v []byte) bool {
			var q resource.Quantity
			value, ok := m[corev1.ResourceName(k)]
			return ok && d.quantity(&q, v, true) == nil && q == value
		})
	}
	return false
}

// sameEntries reports whether all entries in b are the same. They have to come in the
// order of their keys, as servers write them: then no key comes twice.
func sameEntries(b []byte, tagLen int, same func(k, v []byte) bool) bool {
	var before []byte
	for i := 0; i < len(b); {
		from, to := chunk(b, i+tagLen)
		k, v, _, err := entry(b[from:to])
		if err != nil || i > 0 && string(k) <= string(before) || !same(k, v) {
			return false
		}
		before, i = k, to
	}
	return true
}
