package protobuf

import (
	"fmt"
	"reflect"
	"strings"
)

// A selection is a tree of the JSON names that are wanted below a message.
// A nil selection wants everything.
type selection map[string]selection

// choose makes the tree of paths. A path that others go deeper into wants the
// whole of what it names.
func choose(paths []string) selection {
	if len(paths) == 0 {
		return nil
	}
	root := selection{}
	for _, path := range paths {
		names := strings.Split(path, ".")
		at := root
		for i, name := range names {
			below, known := at[name]
			if known && below == nil {
				break // all of it is wanted already
			}
			if i == len(names)-1 {
				at[name] = nil
				break
			}
			if !known {
				below = selection{}
				at[name] = below
			}
			at = below
		}
	}
	return root
}

// check returns an error if one of o.Fields cannot be chosen in objects of
// pointer type t.
func check(t reflect.Type, o Options) error {
	for _, path := range o.Fields {
		at := t
		for name := range strings.SplitSeq(path, ".") {
			for at.Kind() == reflect.Pointer || at.Kind() == reflect.Slice && at.Elem().Kind() == reflect.Struct {
				at = at.Elem()
			}
			if name == "" {
				return &FieldError{t, path, "a name is empty"}
			}
			if at.Kind() != reflect.Struct || specials[at] != nil {
				return &FieldError{t, path, fmt.Sprintf("%v is decoded as a whole", at)}
			}
			if o.DropManagedFields && at == objectMetaType && name == managedFields {
				return &FieldError{t, path, "managedFields are to be dropped"}
			}
			field, ok := byName(at, name)
			if !ok {
				return &FieldError{t, path, fmt.Sprintf("%v has no such field", at)}
			}
			at = field.Type
		}
	}
	return nil
}

// within returns what is wanted of struct t, which is inlined in JSON: the names
// that it has, directly or by inlining in turn.
func (s selection) within(t reflect.Type) selection {
	sub := selection{}
	for name, below := range s {
		if _, ok := byName(t, name); ok {
			sub[name] = below
		}
	}
	return sub
}

// byName returns the field of t, or of a struct inlined in it, that is on the
// wire and has this name in JSON.
func byName(t reflect.Type, name string) (reflect.StructField, bool) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for i := 0; t.Kind() == reflect.Struct && i < t.NumField(); i++ {
		sf := t.Field(i)
		if tag := sf.Tag.Get("protobuf"); tag == "" || tag == "-" {
			continue
		}
		n := jsonName(sf)
		if n == name {
			return sf, true
		}
		if n == "" {
			if inner, ok := byName(sf.Type, name); ok {
				return inner, true
			}
		}
	}
	return reflect.StructField{}, false
}

// jsonName returns the name of a field in JSON, "" if it is inlined.
func jsonName(sf reflect.StructField) string {
	name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
	if name == "" && !sf.Anonymous {
		return sf.Name
	}
	return name
}
