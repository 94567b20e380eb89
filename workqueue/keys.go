package workqueue

import (
	"fmt"
	"reflect"
)

// mayBeBad reports whether the type has values that cannot be keys: those that are
// not equal to themselves, as a NaN is not, and those that cannot be hashed, as a
// slice in an interface.
func mayBeBad(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface, reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return true
	case reflect.Array:
		return mayBeBad(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if mayBeBad(t.Field(i).Type) {
				return true
			}
		}
	}
	return false
}

// isKey reports whether a key can be in a queue.
func (q *Queue[K]) isKey(key K) bool { return !q.suspect || equalsItself(key) }

// equalsItself is not inlined because its key is moved to the heap.
//
//go:noinline
func equalsItself[K comparable](key K) bool {
	v := reflect.ValueOf(&key).Elem()
	return v.Comparable() && v.Equal(v)
}

// admit checks a key that is to be added, and says whose it is.
func (q *Queue[K]) admit(key K) (tenant string, err error) {
	switch {
	case !q.isKey(key):
		return "", keyError(ErrBadKey, key)
	case q.tenant == nil:
		return "", nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: its tenant function panics: %v", keyError(ErrBadKey, key), v)
		}
	}()
	return q.tenant(key), nil
}
