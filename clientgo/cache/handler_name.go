package cache

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// nameOfHandler names a handler for logs and waits: by the functions that it is made
// of, or by its type.
func nameOfHandler(handler ResourceEventHandler) string {
	switch h := handler.(type) {
	case ResourceEventHandlerFuncs:
		return nameOfFuncs(handler, h.AddFunc, h.UpdateFunc, h.DeleteFunc)
	case *ResourceEventHandlerFuncs:
		return nameOfFuncs(handler, h.AddFunc, h.UpdateFunc, h.DeleteFunc)
	}
	t := reflect.TypeOf(handler)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Name() == "" {
		return fmt.Sprintf("%T", handler)
	}
	if t.PkgPath() == "" {
		return t.Name()
	}
	return t.PkgPath() + "." + t.Name()
}

// nameOfFuncs names the place where all functions were made, or else each of them.
func nameOfFuncs(handler ResourceEventHandler, funcs ...any) string {
	var names, places []string
	for _, f := range funcs {
		v := reflect.ValueOf(f)
		if v.IsNil() {
			continue
		}
		fn := runtime.FuncForPC(v.Pointer())
		if fn == nil {
			continue
		}
		name := fn.Name()
		names = append(names, name)
		places = append(places, name[:max(strings.LastIndexByte(name, '.'), 0)])
	}
	if len(names) == 0 {
		return fmt.Sprintf("%T", handler)
	}
	for _, place := range places {
		if place != places[0] || place == "" {
			return strings.Join(names, "+")
		}
	}
	return places[0]
}
