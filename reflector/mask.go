package reflector

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// A mask says what is kept of a value: all of it, or some fields of a struct or
// some keys of a map. Of a list it says so for each element.
type mask struct {
	all    bool
	fields map[int]*mask    // of a Go struct
	keys   map[string]*mask // of a map
}

// add keeps what names lead to, from a value of type t. A nil t stands for maps as
// in unstructured objects, in which there is any name.
func (m *mask) add(t reflect.Type, names []string) error {
	if len(names) == 0 {
		m.all = true
		return nil
	}
	if names[0] == "" {
		return errors.New("a name is empty")
	}
	if t == nil {
		return below(&m.keys, names[0]).add(nil, names[1:])
	}
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && structBelow(t.Elem()) {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return fmt.Errorf("%v is taken as a whole", t)
	}
	index, field := fieldNamed(t, names[0])
	if index == nil {
		return fmt.Errorf("%v has no field %q", t, names[0])
	}
	for _, i := range index {
		m = below(&m.fields, i)
	}
	return m.add(field, names[1:])
}

// below returns the mask for one field or key, and makes it.
func below[K comparable](all *map[K]*mask, k K) *mask {
	if *all == nil {
		*all = make(map[K]*mask)
	}
	if (*all)[k] == nil {
		(*all)[k] = &mask{}
	}
	return (*all)[k]
}

// structBelow reports whether t is a struct, or pointers to one.
func structBelow(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

// fieldNamed returns the field of struct t that has the name in JSON: its type,
// and its index in t, or in a struct inlined in t, and so on. The index is nil if
// there is none. A struct inlined by pointer is not looked into.
func fieldNamed(t reflect.Type, name string) (index []int, field reflect.Type) {
	for i := range t.NumField() {
		sf := t.Field(i)
		tag := sf.Tag.Get("json")
		known, _, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-":
		case known == "" && sf.Anonymous && sf.Type.Kind() == reflect.Struct:
			if index, field := fieldNamed(sf.Type, name); index != nil {
				return append([]int{i}, index...), field
			}
		case !sf.IsExported():
		case known == name, known == "" && sf.Name == name:
			return []int{i}, sf.Type
		}
	}
	return nil, nil
}

// copy sets to, which is zero, to what is kept of from. Both have what is kept as a
// whole in common.
func (m *mask) copy(to, from reflect.Value) {
	switch {
	case m.all:
		to.Set(from)
	case from.Kind() == reflect.Pointer && !from.IsNil():
		to.Set(reflect.New(from.Type().Elem()))
		m.copy(to.Elem(), from.Elem())
	case from.Kind() == reflect.Slice && !from.IsNil():
		to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			m.copy(to.Index(i), from.Index(i))
		}
	case from.Kind() == reflect.Struct:
		for i, field := range m.fields {
			field.copy(to.Field(i), from.Field(i))
		}
	}
}

// within returns what is kept of v, a value as in unstructured objects, and whether
// there is anything in v that has the names.
func (m *mask) within(v any) (any, bool) {
	if m.all {
		return v, true
	}
	switch v := v.(type) {
	case map[string]any:
		kept := make(map[string]any, len(m.keys))
		for name, key := range m.keys {
			if value, ok := v[name]; ok {
				if value, ok = key.within(value); ok {
					kept[name] = value
				}
			}
		}
		return kept, true
	case []any:
		kept := make([]any, 0, len(v))
		for _, element := range v {
			if element, ok := m.within(element); ok {
				kept = append(kept, element)
			}
		}
		return kept, true
	}
	return nil, false
}
