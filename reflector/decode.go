package reflector

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"heliograph.example/internal/wire"
)

// decode makes an object of its bytes, without an envelope: of a protobuf message
// or of a JSON object. It keeps nothing of raw, which is overwritten afterwards.
// An object of a list and one of a watch are decoded alike.
type decode[T any] func(raw []byte) (T, error)

// decoders are the ways in which objects of one type are decoded. One that is
// nil stands for an encoding in which the type does not travel.
type decoders[T any] struct {
	object         reflect.Type
	protobuf, json decode[T]
	// against decodes protobuf by an older state of the object, which it may have
	// parts in common with; nil where objects are private.
	against func(raw []byte, old T) (T, error)
	// shared is behind the one of them that shares what is equal; nil if there
	// is no such one.
	shared *sharedDecoder[T]
}

// unmarshal decodes JSON into what a pointer leads to.
type unmarshal func(raw []byte, into any) error

// newDecoders returns the decoders of T, a pointer to a struct, whose objects have
// a shape. Typed ones are decoded from JSON by typed. The error wraps ErrInvalid.
func newDecoders[T any](shape Shape, typed unmarshal) (decoders[T], error) {
	return newDecodersOf[T](reflect.TypeFor[T](), shape, typed)
}

// newDecodersOf is newDecoders for the objects of one type among those that are a T.
func newDecodersOf[T any](object reflect.Type, shape Shape, typed unmarshal) (decoders[T], error) {
	cut, err := newCutOf[T](object, shape)
	if err != nil {
		return decoders[T]{}, err
	}
	if object == reflect.TypeFor[*unstructured.Unstructured]() {
		// There is none for protobuf: the fields of a message have no names.
		d := newMapDecoder[T](shape)
		return decoders[T]{object: object, json: d.always, shared: d}, nil
	}
	d := decoders[T]{object: object, json: jsonDecoder(object.Elem(), cut, typed)}
	if object.Implements(reflect.TypeFor[message]()) {
		d.shared, err = newBuiltInDecoder[T](object, shape)
		d.protobuf = d.shared.or(stockDecoder[T](object.Elem()), cut)
		if !shape.Unshared {
			d.against = d.shared.against(d.protobuf)
		}
	}
	return d, err
}

// of returns the decoder for an encoding, or an error that wraps ErrDecode.
func (d *decoders[T]) of(e wire.Encoding) (decode[T], error) {
	found := d.json
	if e == wire.Protobuf {
		found = d.protobuf
	}
	if found == nil {
		return nil, fmt.Errorf("%w: the server sent %v, in which there is no %v", ErrDecode, e, d.object)
	}
	return found, nil
}

// message is what every generated type that has a protobuf encoding can do.
type message interface{ Unmarshal(raw []byte) error }

// jsonDecoder decodes pointers to objects, which are structs.
func jsonDecoder[T any](object reflect.Type, cut *cut[T], unmarshal unmarshal) decode[T] {
	return func(raw []byte) (T, error) {
		obj := reflect.New(object).Interface().(T)
		if err := unmarshal(raw, obj); err != nil {
			return obj, err
		}
		return cut.of(obj, true), nil
	}
}

// stockDecoder is the code that was generated for a message.
func stockDecoder[T any](object reflect.Type) decode[T] {
	return func(raw []byte) (T, error) {
		obj := reflect.New(object).Interface().(T)
		return obj, any(obj).(message).Unmarshal(raw)
	}
}

// part decodes raw into one of apimachinery's own types, such as a status.
func part[P interface {
	*S
	message
}, S any](e wire.Encoding, raw []byte) (P, error) {
	p := P(new(S))
	if e == wire.Protobuf {
		return p, p.Unmarshal(raw)
	}
	return p, json.Unmarshal(raw, p)
}

// bareMetadata decodes the metadata of any object, or of a list without its
// items: in protobuf they are the first field of both.
func bareMetadata(e wire.Encoding, raw []byte) (*metav1.PartialObjectMetadata, error) {
	return part[*metav1.PartialObjectMetadata](e, raw)
}
