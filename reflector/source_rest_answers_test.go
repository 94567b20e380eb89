package reflector

import (
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// answers is a transport without a server: every request is answered with the
// same body.
type answers struct {
	body   func() io.ReadCloser
	closed atomic.Int32
	accept string
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.accept = r.Header.Get("Accept")
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: &noted{a.body(), a}}, nil
}

// noted tells when a body is closed.
type noted struct {
	io.ReadCloser
	answers *answers
}

func (n *noted) Close() error { n.answers.closed.Add(1); return n.ReadCloser.Close() }

// answering returns a source of what a server answers.
func answering[T Object](t testing.TB, a *answers, opts ...SourceOptions) Source[T] {
	t.Helper()
	client, err := rest.RESTClientForConfigAndClient(&rest.Config{Host: "http://nowhere", APIPath: "/api", QPS: -1, ContentConfig: rest.ContentConfig{
		GroupVersion: &corev1.SchemeGroupVersion, NegotiatedSerializer: scheme.Codecs.WithoutConversion()}}, &http.Client{Transport: a})
	if err != nil {
		t.Fatal(err)
	}
	source, err := NewRESTSource[T](client, "pods", append(opts, SourceOptions{})[0])
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func saying[T Object](t testing.TB, body string) Source[T] {
	t.Helper()
	return answering[T](t, &answers{body: func() io.ReadCloser { return io.NopCloser(strings.NewReader(body)) }})
}

// lines lists a source and shows each item as a line.
func lines[T Object](t *testing.T, source Source[T]) (got []string, err error) {
	t.Helper()
	_, err = source.List(t.Context(), metav1.ListOptions{}, func(it Item[T]) error {
		line := it.Key.String() + "/" + it.Version
		var problem *ObjectError
		switch {
		case errors.As(it.Err, &problem):
			line += " " + string(problem.Stage)
		case it.Err != nil:
			line += " " + it.Err.Error()
		default:
			line += " " + it.Object.GetObjectKind().GroupVersionKind().String()
		}
		got = append(got, line)
		return nil
	})
	return got, err
}

// pbField is a field of type bytes in protobuf.
func pbField(num byte, value []byte) []byte {
	return append(binary.AppendUvarint([]byte{num<<3 | 2}, uint64(len(value))), value...)
}

// pbPod is a pod in protobuf, perhaps with bytes in place of its spec that are none.
func pbPod(t *testing.T, name, version string, poison bool) []byte {
	t.Helper()
	meta := pod(name, version).ObjectMeta
	raw, err := meta.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if raw = pbField(1, raw); poison {
		raw = append(raw, pbField(2, []byte{0x0a, 0x7f})...)
	}
	return raw
}

// pbObject puts an envelope around a message.
func pbObject(kind string, raw []byte) []byte {
	names := append(pbField(1, []byte("v1")), pbField(2, []byte(kind))...)
	return append(append([]byte("k8s\x00"), pbField(1, names)...), pbField(2, raw)...)
}

func pbFrame(kind, object string, raw []byte) []byte {
	body := append(pbField(1, []byte(kind)), pbField(2, pbField(1, pbObject(object, raw)))...)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}
