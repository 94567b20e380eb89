package protobuf

import (
	"bytes"
	"fmt"
	"reflect"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	quantityType  = reflect.TypeFor[resource.Quantity]()
	timeType      = reflect.TypeFor[metav1.Time]()
	microTimeType = reflect.TypeFor[metav1.MicroTime]()
	fieldsType    = reflect.TypeFor[metav1.FieldsV1]()
)

// specials are the types whose fields are not what is on the wire.
var specials = map[reflect.Type]func(*Decoder, unsafe.Pointer, []byte) *Error{
	quantityType: func(d *Decoder, p unsafe.Pointer, b []byte) *Error {
		return d.quantity((*resource.Quantity)(p), b, false)
	},
	timeType: func(d *Decoder, p unsafe.Pointer, b []byte) *Error {
		s, _, err := timestamp(b)
		if err == nil {
			(*metav1.Time)(p).Time = instant(b, s, 0) // parts of a second are ignored: JSON has none
		}
		return err
	},
	microTimeType: func(d *Decoder, p unsafe.Pointer, b []byte) *Error {
		s, ns, err := timestamp(b)
		if err == nil {
			(*metav1.MicroTime)(p).Time = instant(b, s, int64(time.Duration(ns).Truncate(time.Microsecond)))
		}
		return err
	},
	// With the build tag fieldsv1string it holds its text in another way.
	fieldsType: func(d *Decoder, p unsafe.Pointer, b []byte) *Error {
		return eachBytes(b, func(v []byte) error {
			d.spent += len(v)
			(*metav1.FieldsV1)(p).SetRawBytes(v) // copies
			return nil
		})
	},
}

// instant returns the zero time for an empty message.
func instant(b []byte, s, ns int64) time.Time {
	if len(b) == 0 {
		return time.Time{}
	}
	return time.Unix(s, ns).Local()
}

// timestamp reads a message of seconds and nanoseconds.
func timestamp(b []byte) (s int64, ns int32, err *Error) {
	for i := 0; i < len(b); {
		tag, at, err := header(b, i)
		if err != nil {
			return 0, 0, err
		}
		if n := uint32(tag >> 3); n > 2 {
			if at = skip(b, i); at < 0 {
				return 0, 0, fail(i, ErrField)
			}
			i = at
			continue
		}
		if tag&7 != wireVarint {
			return 0, 0, fail(i, ErrWireType)
		}
		u, end := uvarint(b, at)
		if end < 0 {
			return 0, 0, malformed(b, at)
		}
		if uint32(tag>>3) == 1 {
			s = int64(u)
		} else {
			ns = int32(u)
		}
		i = end
	}
	return s, ns, nil
}

// header reads a tag. Field numbers are cut to 32 bits, as the generated
// decoders do.
func header(b []byte, i int) (tag uint64, at int, err *Error) {
	tag, at = uvarint(b, i)
	if at < 0 {
		return 0, 0, malformed(b, i)
	}
	if tag&7 == wireEndGroup || int32(tag>>3) <= 0 {
		return 0, 0, fail(i, ErrTag)
	}
	return tag, at, nil
}

// eachBytes calls each with the values of field 1 of a message that has no
// other.
func eachBytes(b []byte, each func([]byte) error) *Error {
	for i := 0; i < len(b); {
		tag, at, err := header(b, i)
		if err != nil {
			return err
		}
		if uint32(tag>>3) != 1 {
			if at = skip(b, i); at < 0 {
				return fail(i, ErrField)
			}
			i = at
			continue
		}
		if tag&7 != wireBytes {
			return fail(i, ErrWireType)
		}
		from, to := chunk(b, at)
		if to < 0 {
			return malformed(b, at)
		}
		if err := each(b[from:to]); err != nil {
			return fail(from, err)
		}
		i = to
	}
	return nil
}

const (
	quantityCount = 256
	maxQuantity   = 64 // bytes; the longest in canonical form has some 30
	maxExponent   = 3  // digits
)

type quantityEntry struct {
	text    string
	value   resource.Quantity
	settled bool
}

// quantity decodes a quantity. One that its own methods would write to makes
// what contains it fragile: String caches its result, which matters where a
// reader can take the address, and arithmetic on a copy works in place on the
// big number of the original.
func (d *Decoder) quantity(q *resource.Quantity, b []byte, inMap bool) *Error {
	return eachBytes(b, func(text []byte) error {
		if d.quantities == nil {
			d.quantities = make([]quantityEntry, quantityCount)
		}
		e := &d.quantities[d.hash(text)%quantityCount]
		if len(text) == 0 || e.text != string(text) {
			v, err := parseQuantity(text)
			if err != nil {
				return err
			}
			// The copy has a big number of its own, if there is one.
			exact := v.DeepCopy()
			if exact != v {
				*q = v
				d.fragile = true
				return nil
			}
			_ = exact.String()
			*e = quantityEntry{string(text), v, exact == v}
		}
		*q = e.value
		d.fragile = d.fragile || !inMap && !e.settled
		return nil
	})
}

// parseQuantity refuses what would keep ParseQuantity or String busy for
// minutes: they work with as many digits as the exponent says.
func parseQuantity(text []byte) (resource.Quantity, error) {
	if len(text) > maxQuantity {
		return resource.Quantity{}, fmt.Errorf("quantity of %d bytes", len(text))
	}
	if i := bytes.IndexAny(text, "eE"); i >= 0 && len(bytes.TrimLeft(text[i+1:], "+-0")) > maxExponent {
		return resource.Quantity{}, fmt.Errorf("quantity %q: exponent out of range", text)
	}
	q, err := resource.ParseQuantity(string(text))
	if err != nil {
		return q, fmt.Errorf("quantity %q: %w", text, err)
	}
	return q, nil
}
