package endpoints

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net/http"
	"reflect"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// listChunk is from how many encoded bytes on a part of a list is sent. It
// leaves room in sendBuffer for the item that comes last.
const listChunk = sendBuffer / 2

// protobufPrefix marks a protobuf message of Kubernetes.
const protobufPrefix = "k8s\x00"

// The fields of a list in protobuf, each a number and the type for a length and
// bytes.
const (
	protobufListMeta = "bytes,1,opt,name=metadata"
	protobufItems    = "bytes,2,rep,name=items"
	protobufItemsTag = 2<<3 | 2
)

// listParts is a list that is encoded in parts, so that no more than one part of
// it is in memory: a head, the items one by one, and a tail. Together they are
// the bytes that the list would be as a whole.
type listParts struct {
	head, tail []byte
	// size is that of the whole list in bytes, negative if it is not known
	// before all is encoded.
	size int
	// item appends an item, which is not the first if more is set.
	item func(buf *bytes.Buffer, obj runtime.Object, more bool) error
}

// itemForm brings an object into the form that it has in a list. The result is
// good until the next call.
type itemForm func(obj runtime.Object) (runtime.Object, error)

// splitList prepares to encode in parts a list of items; empty is the list
// object without them. It returns nil for a list that must be encoded as a
// whole, because of its type or its encoding.
func splitList(empty runtime.Object, items []runtime.Object, form itemForm, out output) (*listParts, error) {
	switch {
	case out.media == runtime.ContentTypeProtobuf:
		return splitProtobuf(empty, items, form)
	case out.media == runtime.ContentTypeJSON && !out.pretty:
		return splitJSON(empty, form)
	}
	return nil, nil
}

// splitJSON prepares a list in JSON. What surrounds the items is taken from the
// encoding of the empty list.
func splitJSON(empty runtime.Object, form itemForm) (*listParts, error) {
	const open, shut = `"items":[`, `]`
	_, unstructuredList := empty.(*unstructured.UnstructuredList)
	if _, own := empty.(json.Marshaler); own && !unstructuredList {
		return nil, nil
	}
	var buf bytes.Buffer
	if err := encodeJSON(empty, &buf); err != nil {
		return nil, fmt.Errorf("encode %T as JSON: %w", empty, err)
	}
	// Quotes within strings are escaped, so this is a field.
	before, after, found := bytes.Cut(buf.Bytes(), []byte(open+shut))
	if !found || bytes.Contains(after, []byte(open)) {
		return nil, nil
	}
	return &listParts{
		head: append(bytes.Clone(before), open...),
		tail: append([]byte(shut), after...),
		size: -1,
		item: func(buf *bytes.Buffer, obj runtime.Object, more bool) error {
			obj, err := form(obj)
			if err != nil {
				return err
			}
			if more {
				buf.WriteByte(',')
			}
			if err := encodeJSON(obj, buf); err != nil {
				return fmt.Errorf("encode %T as JSON: %w", obj, err)
			}
			buf.Truncate(buf.Len() - len("\n"))
			return nil
		},
	}, nil
}

// splitProtobuf prepares a list in protobuf. The size of the list comes first in
// its encoding, so the sizes of the items are added up before.
func splitProtobuf(empty runtime.Object, items []runtime.Object, form itemForm) (*listParts, error) {
	list, ok := empty.(runtime.ProtobufReverseMarshaller)
	if !ok || !isPlainProtobufList(empty) {
		return nil, nil
	}
	listMeta := make([]byte, list.Size())
	if _, err := list.MarshalToSizedBuffer(listMeta); err != nil {
		return nil, fmt.Errorf("encode %T as protobuf: %w", empty, err)
	}
	size, largest := len(listMeta), 0
	for _, obj := range items {
		obj, err := form(obj)
		if err != nil {
			return nil, err
		}
		item, ok := obj.(runtime.ProtobufReverseMarshaller)
		if !ok {
			return nil, nil
		}
		n := item.Size()
		size += 1 + varintSize(n) + n
		largest = max(largest, n)
	}
	p, err := protobufParts(empty.GetObjectKind().GroupVersionKind(), listMeta, size)
	if err != nil {
		return nil, fmt.Errorf("encode %T as protobuf: %w", empty, err)
	}
	// An item is encoded from its end, so its size need not be known again.
	scratch := make([]byte, largest)
	p.item = func(buf *bytes.Buffer, obj runtime.Object, _ bool) error {
		obj, err := form(obj)
		if err != nil {
			return err
		}
		n, err := obj.(runtime.ProtobufReverseMarshaller).MarshalToSizedBuffer(scratch)
		if err != nil {
			return fmt.Errorf("encode %T as protobuf: %w", obj, err)
		}
		buf.WriteByte(protobufItemsTag)
		buf.Write(binary.AppendUvarint(buf.AvailableBuffer(), uint64(n)))
		buf.Write(scratch[len(scratch)-n:])
		return nil
	}
	return p, nil
}

// protobufParts makes the head and the tail of a list whose metadata is encoded
// in listMeta, and which has size bytes with it and the items.
func protobufParts(gvk schema.GroupVersionKind, listMeta []byte, size int) (*listParts, error) {
	envelope := runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: gvk.Kind, APIVersion: gvk.GroupVersion().String()}}
	var buf bytes.Buffer
	buf.WriteString(protobufPrefix)
	var list int // where the list begins
	_, err := envelope.MarshalToWriter(&buf, size, func(io.Writer) (int, error) {
		list = buf.Len()
		return size, nil
	})
	if err != nil {
		return nil, err
	}
	head, tail := buf.Bytes()[:list], buf.Bytes()[list:]
	return &listParts{
		head: append(bytes.Clone(head), listMeta...),
		tail: tail,
		size: len(head) + size + len(tail),
	}, nil
}

// isPlainProtobufList reports whether a list has metadata and items, and nothing
// else in protobuf.
func isPlainProtobufList(list runtime.Object) bool {
	t := reflect.TypeOf(list).Elem()
	return t.Kind() == reflect.Struct && t.NumField() == 3 &&
		t.Field(0).Type == reflect.TypeFor[metav1.TypeMeta]() && t.Field(0).Tag.Get("protobuf") == "" &&
		t.Field(1).Tag.Get("protobuf") == protobufListMeta &&
		t.Field(2).Tag.Get("protobuf") == protobufItems
}

// varintSize is how many bytes a length takes in protobuf.
func varintSize(n int) int { return (bits.Len64(uint64(n)|1) + 6) / 7 }

// itemType is what a pointer to an item of list is, nil if the items are no
// objects.
func itemType(list runtime.Object) reflect.Type {
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return nil
	}
	item := reflect.PointerTo(reflect.TypeOf(items).Elem().Elem())
	if !item.Implements(reflect.TypeFor[runtime.Object]()) {
		return nil
	}
	return item
}

// withoutKind returns an itemForm that leaves out the kind. Objects are shared,
// so it is left out of a copy, of which there is only one at a time.
func withoutKind(item reflect.Type) itemForm {
	scratch := reflect.New(item.Elem())
	return func(obj runtime.Object) (runtime.Object, error) {
		if obj.GetObjectKind().GroupVersionKind().Empty() {
			return obj, nil
		}
		scratch.Elem().Set(reflect.ValueOf(obj).Elem())
		bare := scratch.Interface().(runtime.Object)
		bare.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		return bare, nil
	}
}

// listSender sends a list in parts. It belongs to the goroutine of the request.
type listSender struct {
	q    *request
	out  output
	size int // of the whole, negative if not known
	sent int
}

// sendParts answers with a list. If it returns an error after a part was sent,
// the answer must be broken off.
func (h *Handler) sendParts(ctx context.Context, q *request, p *listParts, items []runtime.Object, out output) error {
	borrowed := h.buffer()
	defer h.buffers.Put(borrowed)
	// If an item needs more room the bytes move to another buffer, which is not
	// kept.
	buf := bytes.NewBuffer(*borrowed)
	s := &listSender{q: q, out: out, size: p.size}
	buf.Write(p.head)
	for i, item := range items {
		if err := p.item(buf, item, i > 0); err != nil {
			return err
		}
		if buf.Len() < listChunk {
			continue
		}
		if err := s.send(ctx, buf); err != nil {
			return err
		}
	}
	buf.Write(p.tail)
	total := s.sent + buf.Len()
	if s.size >= 0 && total != s.size {
		return fmt.Errorf("list of %s: encoded in %d bytes instead of %d", q.res.GroupResource(), total, s.size)
	}
	s.size = total
	return s.send(ctx, buf)
}

// send sends what is in buf and empties it, unless the time of the request has
// run out.
func (s *listSender) send(ctx context.Context, buf *bytes.Buffer) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	if s.sent == 0 {
		s.q.w.Header().Set("Content-Type", s.out.media)
		if s.size >= 0 {
			s.q.w.Header().Set("Content-Length", strconv.Itoa(s.size))
		}
		s.q.w.WriteHeader(http.StatusOK)
	}
	n, err := s.q.w.Write(buf.Bytes())
	s.sent += n
	buf.Reset()
	return err
}
