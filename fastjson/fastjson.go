// Package fastjson decodes typed objects from JSON in less than half the time that
// a typed client of client-go takes, and two thirds of what apimachinery's bare
// decoder takes (go test -bench Unmarshal), with github.com/go-json-experiment/json. It is for custom
// resources, which are served as JSON only:
//
//	factory, err := informer.NewFactory(config, informer.FactoryOptions{
//		Scheme:        scheme,
//		UnmarshalJSON: fastjson.Unmarshal,
//	})
//
// It is a module of its own, so that nobody depends on that library who does not
// want to. It imports nothing of Heliograph.
package fastjson

import (
	"errors"
	"reflect"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// The options are those of encoding/json, but for names, whose case matters. Those
// with numbers cost a sixth more, and are for types in which there is an interface
// for anything.
var (
	typed   = json.JoinOptions(jsonv1.DefaultOptionsV1(), json.MatchCaseInsensitiveNames(false))
	untyped = json.JoinOptions(typed, json.WithUnmarshalers(json.UnmarshalFromFunc(number)))
)

// optionsOf has the options of each type that was decoded. There are no more types
// than the program has.
var optionsOf sync.Map // of reflect.Type to json.Options

// Unmarshal decodes raw into what a pointer leads to, as
// k8s.io/apimachinery/pkg/util/json.Unmarshal does: names match with their case,
// the last of several values under one name wins, what is not UTF-8 becomes
// U+FFFD, and a number in an interface is an int64 if it is whole and fits, else a
// float64. It keeps nothing of raw, and is safe for concurrent use.
//
// Errors have other words than those of apimachinery, and what into leads to may
// differ after one. One that apimachinery has is not one here: a number with a plus
// sign in quotes, for a field with the option "string" in its tag.
func Unmarshal(raw []byte, into any) error {
	t := reflect.TypeOf(into)
	options, known := optionsOf.Load(t)
	if !known {
		options = typed
		if holdsAnything(t, make(map[reflect.Type]bool)) {
			options = untyped
		}
		optionsOf.Store(t, options)
	}
	return json.Unmarshal(raw, into, options.(json.Options))
}

// holdsAnything reports whether there is an interface without methods in values of
// type t, other than those in seen.
func holdsAnything(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == nil || seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return t.NumMethod() == 0
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsAnything(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if holdsAnything(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

// number decodes a number into an interface. All else that goes there is decoded
// by the library.
func number(d *jsontext.Decoder, into *any) error {
	if d.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	raw, err := d.ReadValue()
	if err != nil {
		return err
	}
	if whole, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		*into = whole
		return nil
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return err
	}
	*into = f
	return nil
}
