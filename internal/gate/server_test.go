package gate

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// server answers each watch with the same frames, encoded before, and then with
// what is sent later. It is a RoundTripper: without connections and goroutines of
// its own, what is counted is the informer's.
type server struct {
	media  string
	frames []byte
	// later is sent to the one watch that reads it, behind the frames.
	later *feed
}

const (
	protobufMedia = "application/vnd.kubernetes.protobuf"
	jsonMedia     = "application/json"
)

// newServer encodes a streaming list of so many pods.
func newServer(t *testing.T, media string, pods int) *server {
	s := &server{media: media}
	var all bytes.Buffer
	for i := range pods {
		all.Write(encode(t, media, "ADDED", pod(i, i+1)))
	}
	all.Write(encode(t, media, "BOOKMARK", &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: fmt.Sprint(pods + 1), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}},
	}))
	s.frames = all.Bytes()
	return s
}

// encode returns a frame of a watch.
func encode(t *testing.T, media, event string, p *corev1.Pod) []byte {
	t.Helper()
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media)
	if !ok {
		t.Fatalf("no serializer of %s", media)
	}
	object, err := runtime.Encode(info.Serializer, p)
	if err != nil {
		t.Fatal(err)
	}
	var body, out bytes.Buffer
	if err := info.StreamSerializer.Encode(&metav1.WatchEvent{Type: event, Object: runtime.RawExtension{Raw: object}}, &body); err != nil {
		t.Fatal(err)
	}
	if _, err := info.StreamSerializer.Framer.NewFrameWriter(&out).Write(body.Bytes()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (s *server) config() *rest.Config {
	c := &rest.Config{Host: "http://nobody.invalid", Transport: s}
	c.ContentType, c.AcceptContentTypes = s.media, s.media
	return c
}

const discovery = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[` +
	`{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["get","list","watch"]}]}`

// RoundTrip answers a request.
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: r}
	switch {
	case strings.HasSuffix(r.URL.Path, "/api/v1"):
		answer.Header.Set("Content-Type", jsonMedia)
		answer.Body = io.NopCloser(strings.NewReader(discovery))
	case r.URL.Query().Get("sendInitialEvents") == "true":
		media := s.media
		if media == protobufMedia {
			media += ";stream=watch"
		}
		answer.Header.Set("Content-Type", media)
		answer.Body = &body{ctx: r.Context(), rest: s.frames, later: s.later, closed: make(chan struct{})}
	default:
		return nil, fmt.Errorf("unexpected request of %s", r.URL)
	}
	return answer, nil
}

// feed has bytes for a watch that is open.
type feed struct{ parts chan []byte }

// body is that of a watch: frames, then what is fed, until it is closed.
type body struct {
	ctx    context.Context
	rest   []byte
	later  *feed
	once   sync.Once
	closed chan struct{}
}

func (b *body) Read(to []byte) (int, error) {
	if len(b.rest) == 0 {
		var parts chan []byte
		if b.later != nil {
			parts = b.later.parts
		}
		select {
		case b.rest = <-parts:
		case <-b.closed:
			return 0, io.EOF
		case <-b.ctx.Done():
			return 0, b.ctx.Err()
		}
	}
	n := copy(to, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *body) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}
