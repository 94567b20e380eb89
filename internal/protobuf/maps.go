package protobuf

import (
	"reflect"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// entry returns key and value of a map entry, and where the value is; value is
// nil if it has none. Like the generated decoders it does not look at the wire type of the two,
// and of several keys or values takes the last.
func entry(b []byte) (key, value []byte, at int, err *Error) {
	for i := 0; i < len(b); {
		tag, next := uvarint(b, i)
		if next < 0 {
			return nil, nil, 0, malformed(b, i)
		}
		number := int32(tag >> 3)
		if number != 1 && number != 2 {
			if next = skip(b, i); next < 0 {
				return nil, nil, 0, fail(i, ErrField)
			}
			i = next
			continue
		}
		from, to := chunk(b, next)
		if to < 0 {
			return nil, nil, 0, malformed(b, next)
		}
		if number == 1 {
			key = b[from:to]
		} else {
			value, at = b[from:to], from
		}
		i = to
	}
	return key, value, at, nil
}

// entries calls each with key and value of each entry in b.
func (d *Decoder) entries(f *field, b []byte, tagLen int, each func(key string, value []byte) *Error) *Error {
	for i := 0; i < len(b); {
		from, to := chunk(b, i+tagLen)
		k, v, at, err := entry(b[from:to])
		if err != nil {
			return err.within("", from)
		}
		key := d.string(f.id+2, k)
		if err := each(key, v); err != nil {
			return err.within("["+key+"]", from+at)
		}
		i = to
	}
	return nil
}

func (d *Decoder) stringMap(f *field, m *map[string]string, b []byte, tagLen, n int) *Error {
	if *m == nil {
		*m = make(map[string]string, n)
	}
	return d.entries(f, b, tagLen, func(key string, v []byte) *Error {
		(*m)[key] = d.string(f.id+1, v)
		return nil
	})
}

func (d *Decoder) bytesMap(f *field, m *map[string][]byte, b []byte, tagLen, n int) *Error {
	if *m == nil {
		*m = make(map[string][]byte, n)
	}
	return d.entries(f, b, tagLen, func(key string, v []byte) *Error {
		(*m)[key] = d.clone(v)
		return nil
	})
}

func (d *Decoder) quantityMap(f *field, p unsafe.Pointer, b []byte, tagLen, n int) *Error {
	m := (*corev1.ResourceList)(p)
	if *m == nil {
		*m = make(corev1.ResourceList, n)
	}
	return d.entries(f, b, tagLen, func(key string, v []byte) *Error {
		var q resource.Quantity
		err := d.quantity(&q, v, true)
		(*m)[corev1.ResourceName(key)] = q
		return err
	})
}

// anyMap fills a map of any other type. A value that is a message is decoded
// into a variable that is copied into the map.
func (d *Decoder) anyMap(f *field, p unsafe.Pointer, b []byte, tagLen, n, depth int) *Error {
	m := reflect.NewAt(f.slice, p).Elem()
	if m.IsNil() {
		m.Set(reflect.MakeMapWithSize(f.slice, n))
	}
	key := reflect.New(f.slice.Key()).Elem()
	value := reflect.New(f.elem)
	return d.entries(f, b, tagLen, func(k string, v []byte) *Error {
		key.SetString(k)
		value.Elem().SetZero()
		if f.msg == nil {
			value.Elem().SetString(d.string(f.id+1, v))
		} else if err := d.message(f.msg, value.UnsafePointer(), nil, v, depth+1); err != nil {
			return err
		}
		m.SetMapIndex(key, value.Elem())
		return nil
	})
}
