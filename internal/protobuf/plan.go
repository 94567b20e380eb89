package protobuf

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"unsafe"
)

// op is what to do with a field that is met on the wire.
type op uint8

const (
	opSkip op = iota // unknown, or not wanted

	// Varints.
	opBool
	opInt32
	opInt64
	opBoolPointer
	opInt32Pointer
	opInt64Pointer
	opBools // repeated, packed or not
	opInt32s
	opInt64s

	// Length-delimited values.
	opString
	opBytes
	opMessage
	opStringPointer
	opMessagePointer
	opTimePointer

	// Length-delimited values that are taken as runs.
	opStrings
	opMessages
	opStringMap   // map[string]string
	opBytesMap    // map[string][]byte
	opQuantityMap // corev1.ResourceList
	opMap         // any other, set through reflection
)

// A field says how one field of a message is decoded.
type field struct {
	op     op
	wire   uint8        // the wire type it must have
	id     int          // index of its trial, which those of its strings and of its map keys follow
	kind   uint32       // what may be shared with it has the same; 0 is never shared
	offset uintptr      // in the struct
	size   uintptr      // of the element
	msg    *message     // of the value, the element, or the value of a map
	elem   reflect.Type // what to allocate, or the type of a map's value
	slice  reflect.Type // the type of a slice of messages or of a map
	list   int          // index of its list, of a slice of messages
	name   string       // its JSON name, for errors; "" if inlined
}

// A message says how one Go type is decoded.
type message struct {
	fields []field // by field number

	// wrapper: the type is a slice of strings that is a message of its own
	// on the wire, so that nil and empty can be told apart.
	wrapper bool

	// special decodes a type whose fields are not what is on the wire.
	special func(d *Decoder, p unsafe.Pointer, b []byte) *Error
}

// A plan says how the objects of one type are decoded. It is immutable and
// shared by all decoders with the same type, fields and managedFields.
type plan struct {
	typ  reflect.Type // the struct
	root *message
	ids  int // how many trials its fields need
	// lists is how many fields are slices of messages.
	lists int
}

type planKey struct {
	typ    reflect.Type
	drop   bool
	fields string
}

// plans holds a *plan for each planKey. It grows with the types and the masks
// that a program uses, which its source decides, not its input.
var plans sync.Map

// planFor returns the plan for pointer type t.
func planFor(t reflect.Type, o Options) (*plan, error) {
	fields := slices.Sorted(slices.Values(o.Fields))
	key := planKey{t, o.DropManagedFields, fmt.Sprintf("%q", fields)}
	if p, ok := plans.Load(key); ok {
		return p.(*plan), nil
	}
	p, err := compile(t, choose(fields), o.DropManagedFields, builtIn)
	if err != nil {
		return nil, err
	}
	if err := check(t, o); err != nil {
		return nil, err
	}
	first, _ := plans.LoadOrStore(key, p)
	return first.(*plan), nil
}
