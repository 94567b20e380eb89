package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// encoding is one wire format. It takes apart what apimachinery's serializers
// write in one piece, so that the server can send any page of a list, and any
// event, without encoding anything twice.
type encoding interface {
	// listType and watchType are the media types of answers.
	listType() string
	watchType() string
	// item encodes a pod as an element of a list.
	item(pod *corev1.Pod) ([]byte, error)
	// list puts items, as they lie one after the other in items, into a
	// list. The parts are to be sent one after the other.
	list(meta metav1.ListMeta, items []byte) ([][]byte, error)
	// event encodes a watch event of a pod.
	event(kind string, pod *corev1.Pod) ([]byte, error)
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

func (protobufFormat) item(pod *corev1.Pod) ([]byte, error) {
	raw, err := pod.Marshal()
	if err != nil {
		return nil, err
	}
	return append(field(nil, tagSecond, len(raw)), raw...), nil
}

func (protobufFormat) list(meta metav1.ListMeta, items []byte) ([][]byte, error) {
	m, err := meta.Marshal()
	if err != nil {
		return nil, err
	}
	head := append(field(nil, tagFirst, len(m)), m...)
	begin, err := envelope("PodList", len(head)+len(items))
	if err != nil {
		return nil, err
	}
	return [][]byte{append(begin, head...), items, emptyTail}, nil
}

func (protobufFormat) event(kind string, pod *corev1.Pod) ([]byte, error) {
	raw, err := pod.Marshal()
	if err != nil {
		return nil, err
	}
	object, err := envelope("Pod", len(raw))
	if err != nil {
		return nil, err
	}
	object = append(append(object, raw...), emptyTail...)
	event := metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: object}}
	body, err := event.Marshal()
	if err != nil {
		return nil, err
	}
	// Frames of a protobuf stream begin with their length.
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...), nil
}

// envelope begins a runtime.Unknown of kind around an object of size bytes.
func envelope(kind string, size int) ([]byte, error) {
	t := runtime.TypeMeta{APIVersion: "v1", Kind: kind}
	m, err := t.Marshal()
	if err != nil {
		return nil, err
	}
	out := append(bytes.Clone(magic), field(nil, tagFirst, len(m))...)
	return field(append(out, m...), tagSecond, size), nil
}

func field(to []byte, tag byte, size int) []byte {
	return binary.AppendUvarint(append(to, tag), uint64(size))
}

// jsonFormat is application/json.
type jsonFormat struct{}

func (jsonFormat) listType() string  { return runtime.ContentTypeJSON }
func (jsonFormat) watchType() string { return runtime.ContentTypeJSON }

func (jsonFormat) item(pod *corev1.Pod) ([]byte, error) {
	text, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	return append(text, ','), nil
}

func (jsonFormat) list(meta metav1.ListMeta, items []byte) ([][]byte, error) {
	m, err := json.Marshal(meta)
	if err != nil {
		return nil, err
	}
	head := fmt.Appendf(nil, `{"kind":"PodList","apiVersion":"v1","metadata":%s,"items":[`, m)
	return [][]byte{head, bytes.TrimSuffix(items, []byte(",")), []byte("]}\n")}, nil
}

func (jsonFormat) event(kind string, pod *corev1.Pod) ([]byte, error) {
	p := *pod
	p.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	text, err := json.Marshal(&p)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"type":%s,"object":%s}`+"\n", strconv.Quote(kind), text), nil
}
