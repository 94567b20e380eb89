package informer

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	quantities "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// difference returns the path, in JSON names, of a field in which a and b, which
// are of one type, differ. b is a deep copy of what a was, so it ends. What reading
// a quantity keeps in it is no difference.
func difference(path string, a, b reflect.Value) (string, bool) {
	if !a.IsValid() || !b.IsValid() || a.Type() != b.Type() {
		return path, a.IsValid() != b.IsValid() || a.IsValid()
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return path, a.IsNil() != b.IsNil()
		}
		if a.Kind() == reflect.Pointer && a.Pointer() == b.Pointer() {
			return "", false
		}
		return difference(path, a.Elem(), b.Elem())
	case reflect.Struct:
		return differenceOfStructs(path, a, b)
	case reflect.Slice:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return path, true
		}
		fallthrough
	case reflect.Array:
		for i := range a.Len() {
			if at, differs := difference(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i)); differs {
				return at, true
			}
		}
		return "", false
	case reflect.Map:
		return differenceOfMaps(path, a, b)
	case reflect.Func, reflect.Chan:
		return "", false // no part of an object
	}
	return path, !a.Equal(b)
}

func differenceOfStructs(path string, a, b reflect.Value) (string, bool) {
	switch of := a.Interface().(type) {
	case quantities.Quantity:
		with := b.Interface().(quantities.Quantity)
		return path, of.Cmp(with) != 0
	case time.Time:
		return path, !of.Equal(b.Interface().(time.Time))
	case unstructured.Unstructured:
		return difference(path, a.FieldByName("Object"), b.FieldByName("Object"))
	}
	for i := range a.NumField() {
		sf := a.Type().Field(i)
		if !sf.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if (name == "" || name == "-") && !sf.Anonymous {
			name = sf.Name
		}
		if at, differs := difference(join(path, name), a.Field(i), b.Field(i)); differs {
			return at, true
		}
	}
	return "", false
}

func differenceOfMaps(path string, a, b reflect.Value) (string, bool) {
	if a.IsNil() != b.IsNil() {
		return path, true
	}
	var at []string // the first by name
	for _, key := range append(a.MapKeys(), b.MapKeys()...) {
		name := fmt.Sprintf("%s[%v]", path, key)
		if a.Type().Elem().Kind() == reflect.Interface {
			name = join(path, fmt.Sprint(key))
		}
		if where, differs := difference(name, a.MapIndex(key), b.MapIndex(key)); differs {
			at = append(at, where)
		}
	}
	if len(at) == 0 {
		return "", false
	}
	return slices.Min(at), true
}

func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}
