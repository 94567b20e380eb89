package wire

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	restwatch "k8s.io/client-go/rest/watch"
)

// FuzzList reads any body as a list. It must not panic nor hold more than what
// came, the pieces in which it comes must not matter, and what client-go takes
// for a list has the items that client-go finds.
func FuzzList(f *testing.F) {
	list := listOf(configMap("a", 10), configMap("b", 200))
	for _, e := range []Encoding{Protobuf, JSON} {
		f.Add(encode(f, e, list))
	}
	f.Add([]byte(`{"items":[{"metadata":{"name":"a"}},{}],"kind":"ConfigMapList","apiVersion":"v1"}`))
	f.Add([]byte(protoListOf("ConfigMapList", str(2, "")+str(1, "")+str(2, str(1, "")))))
	f.Add([]byte(magic + str(1, str(1, "v1")+str(2, "ConfigMapList"))))
	f.Fuzz(func(t *testing.T, body []byte) {
		l := NewList(bytes.NewReader(body))
		whole, err := read(l, plainly)
		if len(l.w.buf) > max(2*len(body), listWindow) {
			t.Errorf("a window of %d bytes for %d", len(l.w.buf), len(body))
		}
		pieces, piecesErr := read(NewList(iotest.OneByteReader(bytes.NewReader(body))), plainly)
		if !slices.Equal(whole, pieces) || err.Error() != piecesErr.Error() {
			t.Errorf("at once: %q %v\nin pieces: %q %v", whole, err, pieces, piecesErr)
		}
		for _, raw := range whole {
			Identify(l.Encoding(), []byte(raw))
		}
		stock := &corev1.ConfigMapList{}
		if obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil); err != nil {
			return
		} else if list, ok := obj.(*corev1.ConfigMapList); ok {
			stock = list
		} else {
			return
		}
		if err != io.EOF {
			if refused(err) {
				return
			}
			t.Fatalf("client-go takes it, here: %v", err)
		}
		sameItems(t, l.Encoding(), whole, stock.Items)
	})
}

// refused reports whether we refuse on purpose what client-go takes: for it an
// envelope that ends before its list is an empty one, it lets the last of several
// lists win, merges arrays that come twice, takes groups, and is
// content with an array, or with a key in another case, in place of an object.
func refused(err error) bool {
	for _, words := range []string{"second", "wire type", "begins with", "want '{'", "bytes in a list", "the tag of a field", "unexpected EOF"} {
		if strings.Contains(err.Error(), words) {
			return true
		}
	}
	return false
}

func sameItems(t *testing.T, e Encoding, raws []string, stock []corev1.ConfigMap) {
	t.Helper()
	if len(raws) != len(stock) {
		t.Fatalf("%d items, client-go has %d", len(raws), len(stock))
	}
	for i, raw := range raws {
		got, err := decodeMap(e, []byte(raw))
		if err != nil {
			t.Fatalf("item %d: %v", i, err)
		}
		if got.String() != stock[i].String() {
			t.Errorf("item %d is %v, client-go has %v", i, got, &stock[i])
		}
	}
}

// FuzzFrames reads any body as a watch. The same must hold.
func FuzzFrames(f *testing.F) {
	events := someEvents()
	for _, e := range []Encoding{Protobuf, JSON} {
		f.Add(watchBody(f, e, events[:3]...))
		f.Add(watchBody(f, e, events[40:]...))
	}
	f.Add([]byte(event("ADDED", "") + event("DELETED", str(1, str(1, "a")))))
	f.Add([]byte(`{"object":{"kind":"ConfigMap","apiVersion":"v1"},"type":"ADDED"} {}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		frames := NewFrames(bytes.NewReader(body))
		pieces := NewFrames(iotest.OneByteReader(bytes.NewReader(body)))
		var stock *restwatch.Decoder
		for taken := true; ; {
			frame, err := frames.Next()
			other, otherErr := pieces.Next()
			if err != nil {
				if otherErr == nil || err.Error() != otherErr.Error() {
					t.Fatalf("at once: %v, in pieces: %v", err, otherErr)
				}
				break
			}
			if otherErr != nil || frame.Type != other.Type || frame.Kind != other.Kind || plainly(frame.Item) != plainly(other.Item) {
				t.Fatalf("at once: %v, in pieces: %v, %v", frame, other, otherErr)
			}
			Identify(frames.Encoding(), frame.Raw)
			if stock == nil {
				stock = stockFrames(t, frames.Encoding(), body)
			}
			taken = taken && compareFrame(t, frames.Encoding(), stock, frame)
		}
		if len(frames.w.buf) > max(2*len(body), watchWindow) {
			t.Errorf("a window of %d bytes for %d", len(frames.w.buf), len(body))
		}
	})
}

// compareFrame compares a frame with what client-go makes of it, until client-go
// gives up.
func compareFrame(t *testing.T, e Encoding, stock *restwatch.Decoder, frame Frame) bool {
	t.Helper()
	kind, obj, err := stock.Decode()
	if err != nil {
		return false
	}
	m, ok := obj.(*corev1.ConfigMap)
	if !ok {
		return true
	}
	if frame.Type != string(kind) || frame.Err != nil {
		t.Fatalf("client-go: %v %v, here: %v", kind, obj, frame)
	}
	got, err := decodeMap(e, frame.Raw)
	if err != nil {
		t.Fatalf("client-go: %v, here: %v", obj, err)
	}
	got.TypeMeta, m.TypeMeta = mapType, mapType
	if got.String() != m.String() {
		t.Errorf("client-go: %v\nhere: %v", m, got)
	}
	return true
}
