package endpoints

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonserializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"sigs.k8s.io/yaml"
)

// encodeObject encodes obj, whose kind must be set, in the form out. It does
// not change obj, which may be shared: that is why the codecs of apimachinery,
// which write the kind into what they encode, are not used.
func (h *Handler) encodeObject(obj runtime.Object, out output) ([]byte, error) {
	var buf bytes.Buffer
	switch out.media {
	case runtime.ContentTypeProtobuf:
		if err := h.protobuf.Encode(obj, &buf); err != nil {
			return nil, fmt.Errorf("encode %T as protobuf: %w", obj, err)
		}
		return buf.Bytes(), nil
	case runtime.ContentTypeYAML:
		data, err := yaml.Marshal(obj)
		if err != nil {
			return nil, fmt.Errorf("encode %T as YAML: %w", obj, err)
		}
		return data, nil
	}
	if err := encodeJSON(obj, &buf); err != nil {
		return nil, fmt.Errorf("encode %T as JSON: %w", obj, err)
	}
	if !out.pretty {
		return buf.Bytes(), nil
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, buf.Bytes(), "", "  "); err != nil {
		return nil, fmt.Errorf("indent the JSON of %T: %w", obj, err)
	}
	return pretty.Bytes(), nil
}

// encodeJSON appends obj and a newline to buf.
func encodeJSON(obj runtime.Object, buf *bytes.Buffer) error {
	switch obj.(type) {
	case *unstructured.Unstructured, *unstructured.UnstructuredList:
		// The scheme encodes the content directly, which saves the second
		// pass that encoding/json makes over the result of a MarshalJSON.
		return unstructured.UnstructuredJSONScheme.Encode(obj, buf)
	}
	return json.NewEncoder(buf).Encode(obj)
}

// withKind returns obj with its kind set, as a shallow copy if it is not.
func withKind(obj runtime.Object, gvk schema.GroupVersionKind) runtime.Object {
	if obj.GetObjectKind().GroupVersionKind() == gvk {
		return obj
	}
	var shallow runtime.Object
	if u, ok := obj.(*unstructured.Unstructured); ok {
		content := make(map[string]any, len(u.Object)+2)
		for k, v := range u.Object {
			content[k] = v
		}
		shallow = &unstructured.Unstructured{Object: content}
	} else {
		v := reflect.New(reflect.TypeOf(obj).Elem())
		v.Elem().Set(reflect.ValueOf(obj).Elem())
		shallow = v.Interface().(runtime.Object)
	}
	shallow.GetObjectKind().SetGroupVersionKind(gvk)
	return shallow
}

// encodeItem encodes an object of r as an answer or as the object of a watch
// event.
func (h *Handler) encodeItem(r *Resource, obj runtime.Object, out output) ([]byte, error) {
	if _, isStatus := obj.(*metav1.Status); isStatus {
		return h.encodeObject(obj, out)
	}
	if out.partial {
		partial, err := partialObject(obj)
		if err != nil {
			return nil, err
		}
		return h.encodeObject(partial, out)
	}
	return h.encodeObject(withKind(obj, r.GroupVersionKind), out)
}

// frame wraps an encoded object into the frame of a watch event: a line of
// JSON, or a length of four bytes and a WatchEvent in protobuf.
func frame(eventType string, object []byte, media string) ([]byte, error) {
	if media == runtime.ContentTypeProtobuf {
		event := metav1.WatchEvent{Type: eventType, Object: runtime.RawExtension{Raw: object}}
		size := event.Size()
		framed := make([]byte, 4+size)
		binary.BigEndian.PutUint32(framed, uint32(size))
		if _, err := event.MarshalTo(framed[4:]); err != nil {
			return nil, fmt.Errorf("encode a watch event: %w", err)
		}
		return framed, nil
	}
	framed := make([]byte, 0, len(object)+len(eventType)+24)
	framed = append(framed, `{"type":"`...)
	framed = append(framed, eventType...)
	framed = append(framed, `","object":`...)
	framed = append(framed, bytes.TrimRight(object, "\n")...)
	return append(framed, '}', '\n'), nil
}

// Codec returns the codec that a storage is to keep objects of r with:
// protobuf where the type has it, else JSON. Its decoder sets the kind.
func (r *Resource) Codec(scheme *runtime.Scheme) runtime.Codec {
	if !scheme.Recognizes(r.GroupVersionKind) {
		return unstructured.UnstructuredJSONScheme
	}
	if _, ok := r.New(scheme).(interface{ Unmarshal([]byte) error }); ok && !r.Custom {
		return protobuf.NewSerializer(scheme, scheme)
	}
	return jsonserializer.NewSerializerWithOptions(jsonserializer.DefaultMetaFactory, scheme, scheme, jsonserializer.SerializerOptions{})
}
