package protobuf

import (
	"reflect"
	"strings"
)

// A selection is a tree of the JSON names that are wanted below a message.
// A nil selection wants everything.
type selection map[string]selection

// choose makes the tree of o.Fields. A path that others go deeper into wants
// the whole of what it names.
func choose(t reflect.Type, o Options) (selection, error) {
	if len(o.Fields) == 0 {
		return nil, nil
	}
	root := selection{}
	for _, path := range o.Fields {
		names := strings.Split(path, ".")
		at := root
		for i, name := range names {
			if name == "" {
				return nil, &FieldError{t, path, "a name is empty"}
			}
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
		if o.DropManagedFields && names[len(names)-1] == "managedFields" {
			return nil, &FieldError{t, path, "managedFields are to be dropped"}
		}
	}
	return root, nil
}

// within returns what is wanted of the type that is inlined in JSON: the names
// that it has, directly or by inlining in turn.
func (s selection) within(t reflect.Type) selection {
	if s == nil {
		return nil
	}
	sub := selection{}
	for name, below := range s {
		if hasName(t, name) {
			sub[name] = below
		}
	}
	return sub
}

func hasName(t reflect.Type, name string) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		sf := t.Field(i)
		if n := jsonName(sf); n == name || n == "" && hasName(sf.Type, name) {
			return true
		}
	}
	return false
}

// jsonName returns the name of a field in JSON, "" if it is inlined.
func jsonName(sf reflect.StructField) string {
	name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
	if name == "" && !sf.Anonymous {
		return sf.Name
	}
	return name
}
