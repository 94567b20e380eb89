package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	restwatch "k8s.io/client-go/rest/watch"
)

// watchBody is what a server sends for these events.
func watchBody(t testing.TB, e Encoding, events ...watch.Event) []byte {
	t.Helper()
	info := serializer(t, e)
	var body bytes.Buffer
	encoder := streaming.NewEncoder(info.StreamSerializer.Framer.NewFrameWriter(&body), info.StreamSerializer.Serializer)
	for _, event := range events {
		raw := encode(t, e, event.Object)
		if err := encoder.Encode(&metav1.WatchEvent{Type: string(event.Type), Object: runtime.RawExtension{Raw: raw}}); err != nil {
			t.Fatal(err)
		}
	}
	return body.Bytes()
}

// stockFrames decodes a body with the decoders of client-go.
func stockFrames(t testing.TB, e Encoding, body []byte) *restwatch.Decoder {
	info := serializer(t, e)
	reader := info.StreamSerializer.Framer.NewFrameReader(io.NopCloser(bytes.NewReader(body)))
	return restwatch.NewDecoder(streaming.NewDecoder(reader, info.StreamSerializer.Serializer), scheme.Codecs.UniversalDeserializer())
}

func someEvents() (events []watch.Event) {
	types := []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark}
	for i := range 40 {
		m := configMap(fmt.Sprint(i), i*i*13)
		m.TypeMeta = mapType
		events = append(events, watch.Event{Type: types[i%len(types)], Object: &m})
	}
	status := &metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: 410}
	return append(events, watch.Event{Type: watch.Error, Object: status})
}

func TestTheFramesOfAWatchAreThoseThatClientGoDecodes(t *testing.T) {
	for _, e := range []Encoding{Protobuf, JSON} {
		body := watchBody(t, e, someEvents()...)
		for how, reader := range readers {
			t.Run(fmt.Sprint(e, " ", how), func(t *testing.T) {
				stock := stockFrames(t, e, body)
				frames := NewFrames(reader(body))
				for {
					kind, obj, err := stock.Decode()
					frame, ourErr := frames.Next()
					if err != nil || ourErr != nil {
						if err != io.EOF || ourErr != io.EOF || frames.Encoding() != e {
							t.Errorf("client-go: %v, here: %v", err, ourErr)
						}
						return
					}
					sameFrame(t, e, frame, kind, obj)
				}
			})
		}
	}
}

// sameFrame fails if a frame is not what client-go has made of it.
func sameFrame(t *testing.T, e Encoding, frame Frame, kind watch.EventType, obj runtime.Object) {
	t.Helper()
	gvk := obj.GetObjectKind().GroupVersionKind()
	if frame.Type != string(kind) || frame.Kind != gvk || frame.Err != nil {
		t.Fatalf("client-go: %v %v, here: %v %v (%v)", kind, gvk, frame.Type, frame.Kind, frame.Err)
	}
	m, ok := obj.(*corev1.ConfigMap)
	if !ok {
		return
	}
	got, err := decodeMap(e, frame.Raw)
	if err != nil {
		t.Fatal(err)
	}
	if got.TypeMeta = mapType; got.String() != m.String() {
		t.Errorf("client-go: %v\nhere: %v", m, got)
	}
	id := who(e, frame.Raw)
	if want := (identity{m.Namespace, m.Name, string(m.UID), m.ResourceVersion}); id != want {
		t.Errorf("it is %v, want %v", id, want)
	}
}

// identity is an Identity that can be compared.
type identity struct{ namespace, name, uid, version string }

func who(e Encoding, raw []byte) identity {
	id := Identify(e, raw)
	return identity{string(id.Namespace), string(id.Name), string(id.UID), string(id.ResourceVersion)}
}

// next shows what comes next.
func next(f *Frames, get func() (Frame, error)) string {
	frame, err := get()
	switch {
	case errors.Is(err, ErrNotReady):
		return "not ready"
	case err != nil:
		return err.Error()
	}
	return frame.Type + " " + plainly(frame.Item)
}

func TestTryNextReturnsWhatIsAtHandAndNeverReads(t *testing.T) {
	one, two, bad := `{"type":"A","object":1}`, ` {"type":"B" , "object":{"kind":"K"}}`, "\n7"
	proto := func(kind, object string) string {
		body := str(1, kind) + str(2, str(1, magic+str(2, object)))
		return "\x00\x00\x00" + string([]byte{byte(len(body))}) + body
	}
	for name, test := range map[string]struct {
		pieces []string
		want   []string
	}{
		"JSON": {[]string{one + two + one[:9], one[9:] + "\n", " ", two + bad}, []string{
			"A 1", `B {"kind":"K"}`, "not ready", "wait", "A 1", "not ready", "wait", `B {"kind":"K"}`,
			`wire: at byte 123: got '7', want '{'`, "end"}},
		"protobuf": {[]string{proto("A", "1") + proto("B", "2") + proto("C", "3")[:6], proto("C", "3")[6:]}, []string{
			"A 1", "B 2", "not ready", "wait", "C 3", "not ready", "wait", "EOF", "end"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := &pieces{pieces: test.pieces}
			f := NewFrames(r)
			got := []string{next(f, f.Next)}
			for {
				reads := r.reads
				got = append(got, next(f, f.TryNext))
				if r.reads != reads {
					t.Fatal("TryNext has read")
				}
				if got[len(got)-1] == "not ready" {
					got = append(got, "wait", next(f, f.Next))
				}
				if f.err != nil {
					break
				}
			}
			if got = append(got, "end"); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// pieces gives one piece with each read.
type pieces struct {
	pieces []string
	reads  int
}

func (p *pieces) Read(b []byte) (int, error) {
	p.reads++
	if len(p.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.pieces[0])
	if p.pieces[0] = p.pieces[0][n:]; p.pieces[0] == "" {
		p.pieces = p.pieces[1:]
	}
	return n, nil
}

func TestAWatchEndsCleanlyOnlyBetweenFrames(t *testing.T) {
	m := configMap("a", 10)
	m.TypeMeta = mapType
	for _, e := range []Encoding{Protobuf, JSON} {
		body := bytes.TrimSpace(watchBody(t, e, watch.Event{Type: watch.Added, Object: &m}))
		for n := range len(body) {
			_, err := NewFrames(bytes.NewReader(body[:n])).Next()
			if clean := err == io.EOF; clean != (n == 0) || !clean && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%v, after %d bytes: %v", e, n, err)
			}
			broken := io.MultiReader(bytes.NewReader(body[:n]), iotest.ErrReader(iotest.ErrTimeout))
			if _, err := NewFrames(broken).Next(); !errors.Is(err, iotest.ErrTimeout) {
				t.Errorf("%v, broken after %d bytes: %v", e, n, err)
			}
		}
	}
	if _, err := NewFrames(strings.NewReader(" \n ")).Next(); err != io.EOF {
		t.Errorf("after white space: %v", err)
	}
}

// frame puts a length before the body of a frame.
func frame(body string) string {
	n := len(body)
	return string([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) + body
}

// event is a frame in protobuf.
func event(kind, object string) string {
	return frame(str(1, kind) + str(2, str(1, magic+str(1, str(1, "v1")+str(2, "K"))+str(2, object))))
}

func TestAFrameThatCannotBeReadDoesNotHarmTheNext(t *testing.T) {
	last := map[Encoding]string{JSON: `{"type":"LAST","object":{}}`, Protobuf: event("LAST", "{}")}
	for name, test := range map[string]struct {
		encoding Encoding
		frame    string
		want     string
	}{
		"no members":        {JSON, `{}`, " "},
		"no object":         {JSON, `{"type":"A"}`, "A "},
		"no type":           {JSON, `{"object":[]}`, " []"},
		"an odd type":       {JSON, `{"type":{"a":1},"object":3}`, " 3"},
		"the object first":  {JSON, `{"object":{"a":"}"},"x":[[]],"type":"A"}`, `A {"a":"}"}`},
		"twice":             {JSON, `{"object":1,"object":2,"type":"A","type":"B"}`, "B 2"},
		"a broken object":   {JSON, `{"type":"A","object":{"a":tru,}}`, `A {"a":tru,}`},
		"a deep object":     {JSON, `{"type":"A","object":` + strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1) + "}", "A wire: the object is nested deeper than 10000 levels after 20002 bytes"},
		"empty":             {Protobuf, frame(""), ` wire: at byte 4: not an object in protobuf, which begins with "k8s\x00" after 0 bytes`},
		"without magic":     {Protobuf, frame(str(1, "A") + str(2, str(1, "{}"))), `A wire: at byte 4: not an object in protobuf, which begins with "k8s\x00" after 0 bytes`},
		"no message":        {Protobuf, frame(str(1, "A") + "\x0f"), "A wire: at byte 7: a field of an unknown wire type after 0 bytes"},
		"a type of numbers": {Protobuf, frame("\x08\x01"), " wire: at byte 4: the type of the event has wire type 0 after 0 bytes"},
		"a cut object":      {Protobuf, frame(str(1, "A") + "\x12\x7f\x0a"), "A wire: at byte 7: a field that is longer than its message after 0 bytes"},
	} {
		for how, reader := range readers {
			f := NewFrames(reader([]byte(test.frame + last[test.encoding])))
			if got := next(f, f.Next); got != test.want {
				t.Errorf("%s, %s: %q, want %q", name, how, got, test.want)
			}
			if got := next(f, f.Next); got != "LAST {}" {
				t.Errorf("%s, %s: then %q", name, how, got)
			}
		}
	}
}

func TestAFrameThatIsTooLargeIsPassedOverAndNamed(t *testing.T) {
	m := configMap("big", MaxItem)
	m.TypeMeta = mapType
	small := configMap("small", 1)
	small.TypeMeta = mapType
	for _, e := range []Encoding{Protobuf, JSON} {
		body := watchBody(t, e, watch.Event{Type: watch.Modified, Object: &m}, watch.Event{Type: watch.Added, Object: &small})
		f := NewFrames(&pieces{pieces: []string{string(body)}})
		if got := next(f, f.TryNext); got != "not ready" {
			t.Errorf("%v: %s before the first byte", e, got)
		}
		frame, err := f.Next()
		if err != nil || frame.Type != "MODIFIED" || frame.Kind.Kind != "ConfigMap" || !errors.Is(frame.Err, ErrTooLarge) {
			t.Fatalf("%v: %v %v %v, %v", e, frame.Type, frame.Kind, frame.Err, err)
		}
		if id := who(e, frame.Raw); id.name != "big" || id.namespace != "ns" || id.version != "7" {
			t.Errorf("%v: it is %+v", e, id)
		}
		if frame, err = f.Next(); err != nil || frame.Type != "ADDED" || who(e, frame.Raw).name != "small" {
			t.Errorf("%v: then %v, %v", e, frame.Type, err)
		}
	}
	large := `{"object":{"a":1},"x":"` + strings.Repeat("x", MaxItem+1) + `","type":"A"}`
	f := NewFrames(strings.NewReader(large))
	if frame, err := f.Next(); err != nil || frame.Type != "A" || !errors.Is(frame.Err, ErrTooLarge) || len(frame.Raw) > 0 {
		t.Errorf("with a large member beside: %v, %v", frame.Err, err)
	}
}

func TestAStreamThatIsOutOfStepEnds(t *testing.T) {
	for body, words := range map[string]string{
		"<html>":                        "neither",
		"\xd9\xd9\xf7":                  "neither",
		event("A", "b") + "\x7fabcdefg": "a frame of",
		`{"type":"A"}]`:                 "want '{'",
		`{"type":"A";"object":1}`:       "comma",
		`{"type" "A"}`:                  "want ':'",
	} {
		f := NewFrames(strings.NewReader(body))
		_, err := f.Next()
		if err == nil {
			_, err = f.Next()
		}
		if !errors.As(err, new(*SyntaxError)) || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %q", body, err, words)
		}
		if _, again := f.TryNext(); again != err {
			t.Errorf("%q: then %v", body, again)
		}
	}
}

func TestAwaitWaitsForTheFirstByteAndLeavesTheErrorToNext(t *testing.T) {
	small := configMap("small", 1)
	small.TypeMeta = mapType
	for _, e := range []Encoding{Protobuf, JSON} {
		body := bytes.TrimSpace(watchBody(t, e, watch.Event{Type: watch.Added, Object: &small}))
		down := errors.New("down")
		f := NewFrames(io.MultiReader(iotest.OneByteReader(bytes.NewReader(body)), iotest.ErrReader(down)))
		if f.Await(); len(f.w.have()) != 1 {
			t.Errorf("%v: %d bytes at hand", e, len(f.w.have()))
		}
		if frame, err := f.Next(); err != nil || who(e, frame.Raw).name != "small" {
			t.Errorf("%v: %v", e, err)
		}
		f.Await()
		if _, err := f.Next(); !errors.Is(err, down) {
			t.Errorf("%v: %v", e, err)
		}
	}
}

func TestAReadThatFillsTheWindowMakesItGrow(t *testing.T) {
	small := configMap("small", 1)
	small.TypeMeta = mapType
	f := NewFrames(bytes.NewReader(bytes.Repeat(watchBody(t, Protobuf, watch.Event{Type: watch.Added, Object: &small}), 1000)))
	for {
		if _, err := f.Next(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if len(f.w.buf) < busyWindow {
		t.Errorf("a window of %d bytes after a thousand frames that were at hand", len(f.w.buf))
	}
}

func TestAnIdleWatchKeepsASmallWindow(t *testing.T) {
	big := configMap("big", 100_000)
	big.TypeMeta = mapType
	small := configMap("small", 1)
	small.TypeMeta = mapType
	for _, e := range []Encoding{Protobuf, JSON} {
		f := NewFrames(bytes.NewReader(bytes.TrimSpace(watchBody(t, e, watch.Event{Type: watch.Added, Object: &small}, watch.Event{Type: watch.Added, Object: &big}))))
		if len(f.w.buf) != 0 {
			t.Errorf("%v: a window before the first byte", e)
		}
		if _, err := f.Next(); err != nil || len(f.w.buf) != watchWindow {
			t.Errorf("%v: %d bytes at first (%v)", e, len(f.w.buf), err)
		}
		if f.Trim(); len(f.w.buf) != watchWindow {
			t.Errorf("%v: Trim lost what was at hand", e)
		}
		if frame, err := f.Next(); err != nil || who(e, frame.Raw).name != "big" {
			t.Errorf("%v: %v", e, err)
		}
		if f.Trim(); len(f.w.buf) != 0 {
			t.Errorf("%v: %d bytes after the large one", e, len(f.w.buf))
		}
	}
}

func TestAFrameAllocatesNothing(t *testing.T) {
	m := configMap("a", 100)
	m.TypeMeta = mapType
	events := make([]watch.Event, 2000)
	for i := range events {
		events[i] = watch.Event{Type: watch.Modified, Object: &m}
	}
	for _, e := range []Encoding{Protobuf, JSON} {
		f := NewFrames(bytes.NewReader(watchBody(t, e, events...)))
		for range 500 { // the window has its size by then
			if _, err := f.Next(); err != nil {
				t.Fatal(err)
			}
		}
		if n := testing.AllocsPerRun(1000, func() {
			if _, err := f.Next(); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%v: %v allocations", e, n)
		}
	}
}
