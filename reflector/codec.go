package reflector

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"heliograph.example/internal/wire"
)

// codec knows how objects of one type travel, and makes of them what the client
// of client-go for that type would make.
type codec[T Object] struct {
	// object is the type of the objects: T, or one of those that are a T.
	object   reflect.Type
	decoders decoders[T]
	// unmarshal decodes typed objects from JSON.
	unmarshal unmarshal
	// acceptList and accept are the Accept headers of a list and a watch;
	// empty leaves the choice to the client.
	acceptList, accept string
	// list looks at the kind of a list. The first result, if any, is the error
	// of each of its items, the second that of the whole list.
	list func(kind schema.GroupVersionKind, e wire.Encoding) (items, all error)
	// alone looks at the kind of an object that is not in a list.
	alone func(kind schema.GroupVersionKind) (Stage, error)
	// nameless reports whether an item lacks a kind that its list gives it.
	nameless func(obj T) bool
	// named gives an item of a list its kind.
	named func(obj T, list schema.GroupVersionKind)
	// keepsKind tells that what is alone keeps its kind. Typed objects do not.
	keepsKind bool
}

var errNoKind = errors.New("it has no kind or no version")

// newCodec returns the codec for object, which is T or a type that is a T, or nil if
// it is none of those that travel.
// Types of the scheme are decoded from JSON by unmarshal, or as apimachinery does
// it if that is nil.
func newCodec[T Object](object reflect.Type, scheme *runtime.Scheme, unmarshal unmarshal) *codec[T] {
	if unmarshal == nil {
		unmarshal = json.Unmarshal
	}
	var c any
	switch object {
	case reflect.TypeFor[*unstructured.Unstructured]():
		c = unstructuredCodec()
	case reflect.TypeFor[*metav1.PartialObjectMetadata]():
		c = metadataCodec()
	default:
		return typedCodec[T](object, scheme, unmarshal)
	}
	return c.(*codec[T])
}

// whole decodes objects of which everything is wanted, and which are private: a
// source that nobody has asked for another shape has such.
func whole[T any](object reflect.Type, typed unmarshal) decoders[T] {
	d, _ := newDecodersOf[T](object, Shape{Unshared: true}, typed) // only fields may be invalid
	return d
}

// typedCodec is for the types of a scheme. The config of the client decides how
// they travel.
func typedCodec[T Object](t reflect.Type, scheme *runtime.Scheme, unmarshal unmarshal) *codec[T] {
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return nil
	}
	kinds, _, err := scheme.ObjectKinds(reflect.New(t.Elem()).Interface().(T))
	if err != nil {
		return nil
	}
	return &codec[T]{
		object: t, decoders: whole[T](t, unmarshal), unmarshal: unmarshal,
		list: func(kind schema.GroupVersionKind, e wire.Encoding) (items, all error) {
			return checkList(scheme, kind, t, e)
		},
		alone: func(kind schema.GroupVersionKind) (Stage, error) {
			switch {
			case slices.Contains(kinds, kind):
				return "", nil
			case kind.Kind == "" || kind.Version == "":
				return StageDecode, errNoKind
			case !scheme.Recognizes(kind):
				return StageDecode, runtime.NewNotRegisteredErrForKind(scheme.Name(), kind)
			}
			return StageType, fmt.Errorf("got %v, want %v", kind, t)
		},
	}
}

// checkList looks up in the scheme what a list of a kind holds.
func checkList(scheme *runtime.Scheme, kind schema.GroupVersionKind, t reflect.Type, e wire.Encoding) (items, all error) {
	if kind.Kind == "" || kind.Version == "" {
		return nil, errNoKind
	}
	obj, err := scheme.New(kind)
	if err != nil {
		return nil, err
	}
	pointer, err := meta.GetItemsPtr(obj)
	if err != nil {
		return nil, fmt.Errorf("%T is not a list: %w", obj, err)
	}
	held := reflect.TypeOf(pointer).Elem().Elem()
	if held != t && held != t.Elem() {
		return fmt.Errorf("got %v, want %v", held, t), nil
	}
	field, _ := reflect.TypeOf(obj).Elem().FieldByName("Items")
	if e == wire.Protobuf && !strings.HasPrefix(field.Tag.Get("protobuf"), "bytes,2,") {
		return nil, fmt.Errorf("%T does not have its items in field 2, as every list of Kubernetes has", obj)
	}
	return nil, nil
}

// The Accept headers of client-go's metadata client. A server that knows nothing
// of the projection sends whole objects as JSON, of which the metadata are read.
const (
	acceptMetadata     = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
	acceptMetadataList = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

func metadataCodec() *codec[*metav1.PartialObjectMetadata] {
	object := reflect.TypeFor[*metav1.PartialObjectMetadata]()
	return &codec[*metav1.PartialObjectMetadata]{
		object: object, decoders: whole[*metav1.PartialObjectMetadata](object, json.Unmarshal), unmarshal: json.Unmarshal,
		accept: acceptMetadata, acceptList: acceptMetadataList,
		list: anyList,
		alone: func(kind schema.GroupVersionKind) (Stage, error) {
			if kind.Kind == "" || kind.Version == "" {
				return StageDecode, errNoKind
			}
			return "", nil
		},
	}
}

// unstructuredCodec is for objects as maps. An item of a list of built-in objects
// has no kind of its own; it gets that of the list, as in
// k8s.io/apimachinery/pkg/apis/meta/v1/unstructured.
func unstructuredCodec() *codec[*unstructured.Unstructured] {
	object := reflect.TypeFor[*unstructured.Unstructured]()
	return &codec[*unstructured.Unstructured]{
		object: object, decoders: whole[*unstructured.Unstructured](object, nil),
		accept: runtime.ContentTypeJSON, acceptList: runtime.ContentTypeJSON,
		list:  anyList,
		alone: metadataCodec().alone,
		nameless: func(obj *unstructured.Unstructured) bool {
			return obj.GetKind() == "" && obj.GetAPIVersion() == ""
		},
		named: func(obj *unstructured.Unstructured, list schema.GroupVersionKind) {
			obj.SetKind(strings.TrimSuffix(list.Kind, "List"))
			obj.SetAPIVersion(list.GroupVersion().String())
		},
		keepsKind: true,
	}
}

// anyList takes a list of any kind.
func anyList(kind schema.GroupVersionKind, _ wire.Encoding) (items, all error) {
	if kind.Kind == "" {
		return nil, errNoKind
	}
	return nil, nil
}
