package rawread

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const mark = "example.com/mark"

// serve starts a server with n objects and returns readers of it.
func serve(t *testing.T, n int) (*apiservertest.Server, []Reader) {
	t.Helper()
	s := apiservertest.Start(t, apiserver.Options{})
	for i := range n {
		create(t, s, i)
	}
	config := s.Config()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	var readers []Reader
	for _, media := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		readers = append(readers, Reader{Client: client, URL: config.Host + "/api/v1/configmaps", Media: media, Mark: mark})
	}
	return s, readers
}

func create(t *testing.T, s *apiservertest.Server, i int) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("m%03d", i), Annotations: map[string]string{mark: "x"}}}
	if _, err := s.Client().CoreV1().ConfigMaps("a").Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestEveryWayOfReadingCountsEveryObject(t *testing.T) {
	_, readers := serve(t, 25)
	for _, r := range readers {
		ways := map[string]func() (Count, error){
			"a list":           func() (Count, error) { return r.List(t.Context(), nil) },
			"pages":            func() (Count, error) { return r.Pages(t.Context(), 10) },
			"full pages":       func() (Count, error) { return r.Pages(t.Context(), 25) },
			"a streaming list": func() (Count, error) { return r.Initial(t.Context()) },
		}
		for way, read := range ways {
			if c, err := read(); err != nil || c.Objects != 25 || c.Bytes < 25*len(mark) {
				t.Errorf("%s in %s: %+v, %v", way, r.Media, c, err)
			}
		}
	}
}

func TestAWatchIsReadUntilEnoughHasCome(t *testing.T) {
	s, readers := serve(t, 0)
	var open []*Watch
	for _, r := range readers {
		w, err := r.Watch(t.Context(), url.Values{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		open = append(open, w)
	}
	for i := range 7 {
		create(t, s, i)
	}
	for i, w := range open {
		if c, err := w.Events(7); err != nil || c.Objects != 7 {
			t.Errorf("%s: %+v, %v", readers[i].Media, c, err)
		}
	}
}

func TestARefusedRequestSaysWhy(t *testing.T) {
	_, readers := serve(t, 0)
	if _, err := readers[0].List(t.Context(), url.Values{"continue": {"nonsense"}}); err == nil || !strings.Contains(err.Error(), "continue") {
		t.Errorf("got %v", err)
	}
}

func TestTextsAcrossTheBordersOfReadsCountOnce(t *testing.T) {
	text := strings.Repeat("aab-ab-", 50)
	for name, from := range map[string]io.Reader{
		"whole":     strings.NewReader(text),
		"by bytes":  iotest.OneByteReader(strings.NewReader(text)),
		"by halves": iotest.HalfReader(strings.NewReader(text)),
	} {
		c := counter{marks: []string{"ab-ab", "b", "aab-ab-"}}
		if err := c.read(from, nil); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if c.found[0] != 50 || c.found[1] != 100 || c.found[2] != 50 || c.bytes != len(text) {
			t.Errorf("%s: %v in %d bytes", name, c.found, c.bytes)
		}
	}
}

func TestAListThatIsNoneIsAnError(t *testing.T) {
	for name, data := range map[string]string{
		"empty":       "",
		"short":       "k8s\x00",
		"no metadata": "k8s\x00\x12\x02\x12\x00",
		"cut off":     "k8s\x00\x12\x02\x0a\x09",
	} {
		if _, err := listMeta([]byte(data), runtime.ContentTypeProtobuf); err == nil {
			t.Errorf("protobuf, %s: no error", name)
		}
	}
	for _, data := range []string{"", "[]", "{}", `{"kind":`} {
		if _, err := listMeta([]byte(data), runtime.ContentTypeJSON); err == nil {
			t.Errorf("JSON %q: no error", data)
		}
	}
}
