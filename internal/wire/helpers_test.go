package wire

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
)

// serializer returns the one that client-go uses for an encoding.
func serializer(t testing.TB, e Encoding) runtime.SerializerInfo {
	t.Helper()
	media := runtime.ContentTypeJSON
	if e == Protobuf {
		media = runtime.ContentTypeProtobuf
	}
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media)
	if !ok {
		t.Fatal("no serializer for ", media)
	}
	return info
}

func encode(t testing.TB, e Encoding, obj runtime.Object) []byte {
	t.Helper()
	b, err := runtime.Encode(serializer(t, e).Serializer, obj)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var mapType = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}

// configMap has n bytes of data.
func configMap(name string, n int) corev1.ConfigMap {
	return corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: "uid-of-" + "x", ResourceVersion: "7",
			Annotations: map[string]string{"text": `a "quoted" \ ]}{[ text`},
		},
		Data: map[string]string{"key": string(bytes.Repeat([]byte("x"), n))},
	}
}

func listOf(maps ...corev1.ConfigMap) *corev1.ConfigMapList {
	remaining := int64(3)
	return &corev1.ConfigMapList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "42", Continue: "more", RemainingItemCount: &remaining},
		Items:    maps,
	}
}

// decodeMap decodes one object as client-go does.
func decodeMap(e Encoding, raw []byte) (*corev1.ConfigMap, error) {
	m := &corev1.ConfigMap{}
	if e == Protobuf {
		return m, m.Unmarshal(raw)
	}
	return m, utiljson.Unmarshal(raw, m)
}

// readers give the same bytes in different pieces.
var readers = map[string]func(b []byte) io.Reader{
	"at once":           func(b []byte) io.Reader { return bytes.NewReader(b) },
	"byte by byte":      func(b []byte) io.Reader { return iotest.OneByteReader(bytes.NewReader(b)) },
	"half by half":      func(b []byte) io.Reader { return iotest.HalfReader(bytes.NewReader(b)) },
	"with an early EOF": func(b []byte) io.Reader { return iotest.DataErrReader(bytes.NewReader(b)) },
}

// read reads a list to its end; each item is a line, made while it is valid.
func read(l *List, line func(Item) string) (lines []string, err error) {
	for {
		item, err := l.Next()
		if err != nil {
			return lines, err
		}
		lines = append(lines, line(item))
	}
}

// plainly shows an item as it is.
func plainly(i Item) string {
	if i.Err != nil {
		return fmt.Sprintf("%v after %d bytes", i.Err, len(i.Raw))
	}
	return string(i.Raw)
}

// str is a field of type bytes in protobuf.
func str(num byte, value string) string {
	n := len(value)
	if n < 0x80 {
		return string([]byte{num<<3 | 2, byte(n)}) + value
	}
	return string([]byte{num<<3 | 2, byte(n) | 0x80, byte(n>>7) | 0x80, byte(n >> 14)}) + value
}

// protoListOf is a list in protobuf with these fields.
func protoListOf(kind, fields string) string {
	return magic + str(1, str(1, "v1")+str(2, kind)) + str(2, fields)
}
