package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// difference is one field that differs between two states of an object.
type difference struct {
	path string
	// old and new are the values; absent where there is none.
	old, new any
}

// absent is the value of a field that is not there.
type absent struct{}

// String shows a difference in one line.
func (d difference) String() string {
	switch {
	case d.old == absent{}:
		return fmt.Sprintf("+ %s: %s", d.path, show(d.new))
	case d.new == absent{}:
		return fmt.Sprintf("- %s: %s", d.path, show(d.old))
	}
	return fmt.Sprintf("~ %s: %s -> %s", d.path, show(d.old), show(d.new))
}

// longest is the length from which on a value is cut.
const longest = 120

func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(text) > longest {
		return fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(string(text[:longest]), ""), len(text))
	}
	return string(text)
}

// skipped are fields that change with every write and say nothing.
var skipped = map[string]bool{".metadata.managedFields": true, ".metadata.resourceVersion": true}

// diff returns the fields in which two values differ, in the order of their paths. It
// goes into maps and lists: items of lists that have names are compared by name, others
// by place.
func diff(path string, old, new any) (out []difference) {
	if skipped[path] || reflect.DeepEqual(old, new) {
		return nil
	}
	if o, n, ok := both[map[string]any](old, new); ok {
		return diffFields(path, o, n, func(key string) string { return path + "." + key })
	}
	if o, n, ok := both[[]any](old, new); ok {
		return diffFields(path, byName(o), byName(n), func(key string) string { return path + "[" + key + "]" })
	}
	return []difference{{path, old, new}}
}

func both[T any](old, new any) (o, n T, ok bool) {
	o, okOld := old.(T)
	n, okNew := new.(T)
	return o, n, okOld && okNew
}

func diffFields(path string, old, new map[string]any, name func(key string) string) (out []difference) {
	keys := slices.Sorted(maps.Keys(old))
	for key := range new {
		if _, ok := old[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		o, inOld := old[key]
		n, inNew := new[key]
		switch at := name(key); {
		case skipped[at]:
		case !inOld:
			out = append(out, difference{at, absent{}, n})
		case !inNew:
			out = append(out, difference{at, o, absent{}})
		default:
			out = append(out, diff(at, o, n)...)
		}
	}
	return out
}

// byName makes a map of a list: by the names of its items, or their types, if all of
// them have different ones, and else by place.
func byName(list []any) map[string]any {
	for _, field := range []string{"name", "type", "uid", "key"} {
		out := make(map[string]any, len(list))
		for _, item := range list {
			fields, _ := item.(map[string]any)
			if name, ok := fields[field].(string); ok {
				out[field+"="+name] = item
			}
		}
		if len(out) == len(list) && len(list) > 0 {
			return out
		}
	}
	out := make(map[string]any, len(list))
	for i, item := range list {
		out[fmt.Sprintf("%04d", i)] = item
	}
	return out
}
