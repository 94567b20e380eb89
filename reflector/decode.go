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
	protobuf, json decode[T]
}

// of returns the decoder for an encoding, or an error that wraps ErrDecode.
func (d *decoders[T]) of(e wire.Encoding) (decode[T], error) {
	found := d.json
	if e == wire.Protobuf {
		found = d.protobuf
	}
	if found == nil {
		return nil, fmt.Errorf("%w: the server sent %v, in which there is no %v", ErrDecode, e, reflect.TypeFor[T]())
	}
	return found, nil
}

// message is what every generated type that has a protobuf encoding can do.
type message interface{ Unmarshal(raw []byte) error }

// typedDecoders are those of a pointer to a struct: its own for protobuf, and for
// JSON what apimachinery's serializer uses.
func typedDecoders[T any]() decoders[T] {
	object := reflect.TypeFor[T]().Elem()
	d := decoders[T]{json: func(raw []byte) (T, error) {
		obj := reflect.New(object).Interface().(T)
		return obj, json.Unmarshal(raw, obj)
	}}
	if reflect.TypeFor[T]().Implements(reflect.TypeFor[message]()) {
		d.protobuf = func(raw []byte) (T, error) {
			obj := reflect.New(object).Interface().(T)
			return obj, any(obj).(message).Unmarshal(raw)
		}
	}
	return d
}

// unstructuredDecoders know JSON only: the fields of a protobuf message have no
// names.
func unstructuredDecoders() decoders[*unstructured.Unstructured] {
	return decoders[*unstructured.Unstructured]{json: func(raw []byte) (*unstructured.Unstructured, error) {
		obj := &unstructured.Unstructured{}
		return obj, json.Unmarshal(raw, &obj.Object)
	}}
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
