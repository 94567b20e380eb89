package reflector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"heliograph.example/internal/wire"
)

func TestAnItemThatCannotBeDecodedDoesNotHarmTheNext(t *testing.T) {
	const good = `{"metadata":{"name":"%s","namespace":"ns","resourceVersion":"%d"}}`
	bad := `{"metadata":{"name":"bad","namespace":"ns","resourceVersion":"2","uid":"u"},"spec":{"nodeName":7}}`
	inJSON := `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[` +
		fmt.Sprintf(good, "a", 1) + "," + bad + `,{},7,null,` + fmt.Sprintf(good, "b", 3) + "]}"
	inProtobuf := bytes.Join([][]byte{pbField(2, pbPod(t, "a", "1", false)), pbField(2, pbPod(t, "bad", "2", true)), pbField(2, nil),
		pbField(2, pbPod(t, "b", "3", false))}, nil)
	for name, test := range map[string]struct {
		body string
		want []string
	}{
		"JSON":     {inJSON, []string{"ns/a/1 /, Kind=", "ns/bad/2 decode", "// decode", "// decode", "// decode", "ns/b/3 /, Kind="}},
		"protobuf": {string(pbObject("PodList", inProtobuf)), []string{"ns/a/1 /, Kind=", "ns/bad/2 decode", "// decode", "ns/b/3 /, Kind="}},
	} {
		got, err := lines(t, saying[*corev1.Pod](t, test.body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wantLines(t, name, got, test.want...)
	}
}

func TestAFrameThatCannotBeDecodedDoesNotHarmTheNext(t *testing.T) {
	bad := pod("bad", "2")
	odd := strings.Replace(frame("MODIFIED", bad), `"nodeName":"node-of-bad"`, `"nodeName":7`, 1)
	service := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: bad.ObjectMeta}
	unknown := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Odd"}, ObjectMeta: bad.ObjectMeta}
	bare := &metav1.PartialObjectMetadata{ObjectMeta: bad.ObjectMeta}
	want := []string{"Added a 1 ", "Updated bad 2 decode", "Deleted bad 2 type", "Updated bad 2 decode", "Added bad 2 decode", "Updated bad 2 decode", "Bookmark  3 ", "Added b 4 "}
	for name, body := range map[string]string{
		"JSON": frame("ADDED", pod("a", "1")) + odd + frame("DELETED", service) + frame("MODIFIED", unknown) + frame("ADDED", bare) +
			frame("ODD", bad) + frame("BOOKMARK", endPod("3")) + frame("ADDED", pod("b", "4")),
		"protobuf": string(bytes.Join([][]byte{
			pbFrame("ADDED", "Pod", pbPod(t, "a", "1", false)), pbFrame("MODIFIED", "Pod", pbPod(t, "bad", "2", true)),
			pbFrame("DELETED", "Service", pbPod(t, "bad", "2", false)), pbFrame("MODIFIED", "Odd", pbPod(t, "bad", "2", false)),
			pbFrame("ADDED", "", pbPod(t, "bad", "2", false)), pbFrame("ODD", "Pod", pbPod(t, "bad", "2", false)),
			pbFrame("BOOKMARK", "Pod", pbPod(t, "", "3", true)), pbFrame("ADDED", "Pod", pbPod(t, "b", "4", false)),
		}, nil)),
	} {
		stream, err := saying[*corev1.Pod](t, body).Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Stop()
		var got []string
		for {
			var events []Event[*corev1.Pod]
			if events, err = stream.Next(); err != nil {
				break
			}
			for _, e := range events {
				stage := ""
				var problem *ObjectError
				if errors.As(e.Err, &problem) {
					stage = string(problem.Stage)
				}
				got = append(got, fmt.Sprint(e.Type, " ", e.Key.Name, " ", e.Version, " ", stage))
			}
		}
		if err != io.EOF {
			t.Errorf("%s: %v", name, err)
		}
		wantLines(t, name, got, want...)
	}
}

func TestTheKindsOfUnstructuredItemsWaitForThatOfTheirList(t *testing.T) {
	got, err := lines(t, saying[*unstructured.Unstructured](t,
		`{"items":[{"kind":"Own","apiVersion":"v2","metadata":{"name":"a"}},{"metadata":{"name":"b"}},{"kind":"Own","apiVersion":"v2","metadata":{"name":"c"}},7],"metadata":{},"kind":"PodList","apiVersion":"v1"}`))
	if err != nil {
		t.Error(err)
	}
	wantLines(t, "items", got, "/a/ /v2, Kind=Own", "/b/ /v1, Kind=Pod", "/c/ /v2, Kind=Own", "// decode")
}

func TestWhatIsNoListIsAnErrorOfTheWhole(t *testing.T) {
	for name, test := range map[string]struct {
		body  string
		words string
	}{
		"another list, named late": {`{"items":[],"kind":"ServiceList","apiVersion":"v1"}`, "want *v1.Pod"},
		"a list of no kind":        {`{"items":[]}`, "no kind"},
		"an object with items":     {`{"kind":"Pod","apiVersion":"v1","items":[{}]}`, "not a list"},
		"CBOR":                     {"\xd9\xd9\xf7\xa1", "neither protobuf nor JSON"},
		"a page for people":        {"<html>", "neither protobuf nor JSON"},
		"a good status":            {`{"kind":"Status","apiVersion":"v1","status":"Success"}`, "status"},
		"a broken status":          {`{"kind":"Status","apiVersion":"v1","code":"x"}`, "status"},
		"broken metadata":          {`{"kind":"PodList","apiVersion":"v1","metadata":7,"items":[]}`, "metadata"},
	} {
		if _, err := lines(t, saying[*corev1.Pod](t, test.body)); !errors.Is(err, ErrDecode) || classify(err) != ClassDecode || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s: %v, want %q", name, err, test.words)
		}
	}
	status := status(http.StatusGone, metav1.StatusReasonExpired).Status()
	raw, err := status.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{string(pbObject("Status", raw)), `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`} {
		if _, err := lines(t, saying[*corev1.Pod](t, body)); !apierrors.IsResourceExpired(err) {
			t.Errorf("a status in place of a list: %v", err)
		}
	}
	// Unstructured objects have no names for the fields of a message.
	protobuf := saying[*unstructured.Unstructured](t, string(pbObject("PodList", pbField(2, pbPod(t, "a", "1", false)))))
	if _, err := lines(t, protobuf); !errors.Is(err, ErrDecode) {
		t.Errorf("protobuf for unstructured objects: %v", err)
	}
	stream, err := saying[*unstructured.Unstructured](t, string(pbFrame("ADDED", "Pod", pbPod(t, "a", "1", false)))).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	if _, err := stream.Next(); !errors.Is(err, ErrDecode) {
		t.Errorf("protobuf for a watch of unstructured objects: %v", err)
	}
}

func TestAnErrorEventWithoutAStatusIsADecodeError(t *testing.T) {
	for _, body := range []string{`{"type":"ERROR","object":null}`, frame("ERROR", pod("a", "1")), `{"type":"ERROR","object":{"kind":"Status","code":"x"}}`,
		string(pbFrame("ERROR", "Status", []byte{0x0a, 0x7f}))} {
		stream, err := saying[*corev1.Pod](t, body).Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Stop()
		for range 2 {
			if _, err := stream.Next(); !errors.Is(err, ErrDecode) {
				t.Errorf("%q: %v", body, err)
			}
		}
	}
}

func TestAnAnswerThatBreaksOffIsACut(t *testing.T) {
	broken := errors.New("stream error: INTERNAL_ERROR")
	for name, test := range map[string]struct {
		rest io.Reader
		want error
	}{
		"at its end": {strings.NewReader(""), io.ErrUnexpectedEOF},
		"broken":     {iotest.ErrReader(broken), broken},
	} {
		source := func(body string) Source[*corev1.Pod] {
			return answering[*corev1.Pod](t, &answers{body: func() io.ReadCloser { return io.NopCloser(io.MultiReader(strings.NewReader(body), test.rest)) }})
		}
		_, err := lines(t, source(`{"kind":"PodList","apiVersion":"v1","items":[`))
		if !errors.Is(err, test.want) || classify(err) != ClassUnreachable {
			t.Errorf("%s: the list: %q: %v", name, classify(err), err)
		}
		stream, err := source(frame("ADDED", pod("a", "1"))+`{"type":`).Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer stream.Stop()
		if events, err := stream.Next(); err != nil || len(events) != 1 {
			t.Errorf("%s: %d events, %v", name, len(events), err)
		}
		if _, err := stream.Next(); !errors.Is(err, test.want) || !isCut(err) {
			t.Errorf("%s: the watch: %q: %v", name, classify(err), err)
		}
	}
}

func TestASourceOfWhatNoSchemeKnowsLeavesDecodingToTheClient(t *testing.T) {
	s := &plainServer{list: func(w http.ResponseWriter, _ url.Values) {
		fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"a"}}]}`)
	}}
	got, err := lines(t, podSource[Object](t, s, rest.ContentConfig{}, SourceOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, "items", got, "/a/ /, Kind=")
	got, err = lines(t, podSource[*corev1.Pod](t, s, rest.ContentConfig{}, SourceOptions{Scheme: apiruntime.NewScheme()}))
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, "items of a type that the scheme lacks", got, "/a/ /, Kind=")
}

func TestASourceTellsTheBytesItReads(t *testing.T) {
	body := `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}`
	told := 0
	ctx := WithSourceTrace(t.Context(), &SourceTrace{Read: func(n int) { told += n }})
	if _, err := saying[*corev1.Pod](t, body).List(ctx, metav1.ListOptions{}, func(Item[*corev1.Pod]) error { return nil }); err != nil || told != len(body) {
		t.Errorf("%d bytes of %d, %v", told, len(body), err)
	}
	body, told = frame("ADDED", pod("a", "1")), 0
	stream, err := saying[*corev1.Pod](t, body).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	if _, err := stream.Next(); err != nil || told != len(body) {
		t.Errorf("%d bytes of %d, %v", told, len(body), err)
	}
}

func TestAListOverRESTEndsWithItsContext(t *testing.T) {
	a := &answers{body: func() io.ReadCloser { return waiting{make(chan struct{})} }}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		_, err := answering[*corev1.Pod](t, a).List(ctx, metav1.ListOptions{}, func(Item[*corev1.Pod]) error { return nil })
		result <- err
	}()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestEachFormAsksForItsEncoding(t *testing.T) {
	a := &answers{body: func() io.ReadCloser { return io.NopCloser(strings.NewReader(`{"kind":"PodList","apiVersion":"v1"}`)) }}
	metadataOf := answering[*metav1.PartialObjectMetadata](t, a)
	if _, err := lines(t, metadataOf); err != nil || a.accept != acceptMetadataList {
		t.Errorf("a list of metadata: %q, %v", a.accept, err)
	}
	stream, err := metadataOf.Watch(t.Context(), metav1.ListOptions{})
	if err != nil || a.accept != acceptMetadata {
		t.Fatalf("a watch of metadata: %q, %v", a.accept, err)
	}
	stream.Stop()
	if _, err := lines(t, answering[*unstructured.Unstructured](t, a)); err != nil || a.accept != apiruntime.ContentTypeJSON {
		t.Errorf("unstructured objects: %q, %v", a.accept, err)
	}
}

func TestADecoderKeepsNothingOfWhatItReads(t *testing.T) {
	for _, encoding := range []wire.Encoding{wire.JSON, wire.Protobuf} {
		raw := []byte(`{"metadata":{"name":"name","labels":{"a":"b"}}}`)
		if encoding == wire.Protobuf {
			raw = pbPod(t, "name", "1", false)
		}
		all := whole[*corev1.Pod](reflect.TypeFor[*corev1.Pod](), json.Unmarshal)
		decode, err := all.of(encoding)
		if err != nil {
			t.Fatal(err)
		}
		p, err := decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		before := p.String()
		clear(raw)
		if p.String() != before {
			t.Errorf("%v: the object changed with the bytes", encoding)
		}
	}
}
