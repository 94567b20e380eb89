package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// encoding is one wire format. It takes apart what apimachinery's serializers
// write in one piece, so that the server can send any page of a list, and any
// event, without encoding anything twice.
type encoding interface {
	// listType and watchType are the media types of answers.
	listType() string
	watchType() string
	// item encodes an object as an element of a list.
	item(obj object) ([]byte, error)
	// list puts items, as they lie one after the other in items, into a list of
	// objects of a kind. The parts are to be sent one after the other.
	list(kind schema.GroupVersionKind, meta metav1.ListMeta, items []byte) ([][]byte, error)
	// event encodes a watch event of an object of a kind.
	event(event string, kind schema.GroupVersionKind, obj object) ([]byte, error)
}

// protobufFormat is application/vnd.kubernetes.protobuf: four magic bytes, then a
// runtime.Unknown around the object.
type protobufFormat struct{}

func (protobufFormat) listType() string  { return runtime.ContentTypeProtobuf }
func (protobufFormat) watchType() string { return runtime.ContentTypeProtobuf + ";stream=watch" }

// magic begins every object in protobuf.
var magic = []byte("k8s\x00")

// Tags of the fields that are written by hand: field number and wire type 2.
const (
	tagFirst  = 1<<3 | 2 // Unknown.typeMeta, PodList.metadata
	tagSecond = 2<<3 | 2 // Unknown.raw, PodList.items
)

// emptyTail is Unknown's empty contentEncoding and contentType, which the
// generated code writes even so.
var emptyTail = []byte{3<<3 | 2, 0, 4<<3 | 2, 0}

// marshaler is an object that has an encoding in protobuf.
type marshaler interface {
	Marshal() ([]byte, error)
}

func marshal(obj object) ([]byte, error) {
	m, ok := obj.(marshaler)
	if !ok {
		return nil, fmt.Errorf("%T has no protobuf", obj)
	}
	return m.Marshal()
}

func (protobufFormat) item(obj object) ([]byte, error) {
	raw, err := marshal(obj)
	if err != nil {
		return nil, err
	}
	return append(field(nil, tagSecond, len(raw)), raw...), nil
}

func (protobufFormat) list(kind schema.GroupVersionKind, meta metav1.ListMeta, items []byte) ([][]byte, error) {
	m, err := meta.Marshal()
	if err != nil {
		return nil, err
	}
	head := append(field(nil, tagFirst, len(m)), m...)
	begin, err := envelope(listKind(kind), len(head)+len(items))
	if err != nil {
		return nil, err
	}
	return [][]byte{append(begin, head...), items, emptyTail}, nil
}

func (protobufFormat) event(event string, kind schema.GroupVersionKind, obj object) ([]byte, error) {
	raw, err := marshal(obj)
	if err != nil {
		return nil, err
	}
	whole, err := envelope(kind, len(raw))
	if err != nil {
		return nil, err
	}
	whole = append(append(whole, raw...), emptyTail...)
	e := metav1.WatchEvent{Type: event, Object: runtime.RawExtension{Raw: whole}}
	body, err := e.Marshal()
	if err != nil {
		return nil, err
	}
	// Frames of a protobuf stream begin with their length.
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...), nil
}

// envelope begins a runtime.Unknown of kind around an object of size bytes.
func envelope(kind schema.GroupVersionKind, size int) ([]byte, error) {
	t := runtime.TypeMeta{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind}
	m, err := t.Marshal()
	if err != nil {
		return nil, err
	}
	out := append(bytes.Clone(magic), field(nil, tagFirst, len(m))...)
	return field(append(out, m...), tagSecond, size), nil
}

func listKind(of schema.GroupVersionKind) schema.GroupVersionKind {
	of.Kind += "List"
	return of
}

func field(to []byte, tag byte, size int) []byte {
	return binary.AppendUvarint(append(to, tag), uint64(size))
}

// jsonFormat is application/json.
type jsonFormat struct{}

func (jsonFormat) listType() string  { return runtime.ContentTypeJSON }
func (jsonFormat) watchType() string { return runtime.ContentTypeJSON }

func (jsonFormat) item(obj object) ([]byte, error) {
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	return append(text, ','), nil
}

func (jsonFormat) list(kind schema.GroupVersionKind, meta metav1.ListMeta, items []byte) ([][]byte, error) {
	m, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	head := fmt.Appendf(nil, `{"kind":"%sList","apiVersion":%q,"metadata":%s,"items":[`, kind.Kind, kind.GroupVersion(), m)
	return [][]byte{head, bytes.TrimSuffix(items, []byte(",")), []byte("]}\n")}, nil
}

func (jsonFormat) event(event string, kind schema.GroupVersionKind, obj object) ([]byte, error) {
	obj = obj.DeepCopyObject().(object)
	obj.GetObjectKind().SetGroupVersionKind(kind)
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"type":%s,"object":%s}`+"\n", strconv.Quote(event), text), nil
}
