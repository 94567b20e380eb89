package reflector

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"heliograph.example/deltafifo"
	"heliograph.example/internal/wire"
)

// skipping is a source that need not decode what its reader has.
type skipping struct {
	Source[object]
	held func(types.NamespacedName) (types.UID, string, bool)
	// decoded counts the objects that are not skipped.
	decoded *int
}

func (s skipping) Skipping(held func(types.NamespacedName) (types.UID, string, bool)) Source[object] {
	s.held = held
	return s
}

func (s skipping) item(it Item[object]) Item[object] {
	if s.held != nil {
		if uid, version, ok := s.held(it.Key); ok && uid == it.UID && version == it.Version {
			return Item[object]{Key: it.Key, UID: uid, Version: version, Unchanged: true}
		}
	}
	*s.decoded++
	return it
}

func (s skipping) List(ctx context.Context, opts metav1.ListOptions, each func(Item[object]) error) (Page, error) {
	return s.Source.List(ctx, opts, func(it Item[object]) error { return each(s.item(it)) })
}

func (s skipping) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[object], error) {
	stream, err := s.Source.Watch(ctx, opts)
	return &skippingStream{stream, s, opts.SendInitialEvents != nil}, err
}

type skippingStream struct {
	Stream[object]
	source  skipping
	initial bool
}

func (s *skippingStream) Next() ([]Event[object], error) {
	events, err := s.Stream.Next()
	for i := range events {
		s.initial = s.initial && !events[i].InitialEventsEnd
		if s.initial && events[i].Type == deltafifo.Added {
			events[i].Item = s.source.item(events[i].Item)
		}
	}
	return events, err
}

// skippingRig is newRig over a source that skips, with the count of what it has
// decoded.
func skippingRig(t *testing.T, s *script, opts Options[object]) (*rig, *int) {
	g, decoded := newRig(t, s, opts), new(int)
	opts.Name, opts.OnObjectError = "pods", func(*ObjectError) {}
	r, err := New[object](skipping{Source: s, decoded: decoded}, g.sink, opts)
	if err != nil {
		t.Fatal(err)
	}
	g.Reflector = r
	return g, decoded
}

func TestWhatHasNotChangedIsNotDecodedAgain(t *testing.T) {
	before := []Item[object]{obj("a", "u1", "5"), obj("b", "u2", "6"), obj("c", "u3", "7")}
	bad := obj("d", "u4", "8")
	bad.Err = &ObjectError{Key: bad.Key, UID: bad.UID, Version: bad.Version, Stage: StageDecode, Err: errInternal}
	for _, test := range []struct {
		name    string
		first   []Item[object]
		after   []Item[object]
		pushed  string
		decoded int // of the second state
	}{
		{"nothing differs", before, before, "Replaced@1000[]", 0},
		{"one has changed", before, []Item[object]{before[0], obj("b", "u2", "150"), before[2]}, "Replaced@1000[Updated b/u2@150]", 1},
		{"one has been replaced", before, []Item[object]{before[0], obj("b", "u9", "6"), before[2]}, "Replaced@1000[Deleted b/u2@6? Added b/u9@6]", 1},
		{"one is gone, one is new", before, []Item[object]{before[0], before[1], obj("d", "u4", "150")}, "Replaced@1000[Deleted c/u3@1000? Added d/u4@150]", 1},
		{"one comes twice, older the second time", before, []Item[object]{before[0], obj("b", "u2", "150"), before[1], before[2]}, "Replaced@1000[Updated b/u2@150]", 1},
		{"one comes twice, as another before", before, []Item[object]{before[0], obj("b", "u9", "5"), before[1], before[2]}, "Replaced@1000[]", 1},
		{"one was broken", append(before[:3:3], bad), append(before[:3:3], obj("d", "u4", "8")), "Replaced@1000[Added d/u4@8]", 1},
		{"one has no version", append(before[:3:3], obj("d", "u4", "")), append(before[:3:3], obj("d", "u4", "")), "Replaced@1000[Updated d/u4@]", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, streamed := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					s := &script{onList: lists(test.first, test.after), onWatch: expiring(1)}
					if streamed {
						s.onStream = func(n int, _ metav1.ListOptions) ([]act, error) {
							var events []Event[object]
							for _, it := range [][]Item[object]{test.first, test.after}[min(n, 1)] {
								events = append(events, Event[object]{Type: deltafifo.Added, Item: it})
							}
							events = append(events, end(fmt.Sprint(100+900*n)))
							if n == 0 {
								return []act{send(events...), fail(errExpired).wait(time.Minute)}, nil
							}
							// What follows is no initial event, though it looks like one.
							return []act{send(append(events, event(deltafifo.Added, "a", "u1", "1001"))...)}, nil
						}
					}
					g, decoded := skippingRig(t, s, Options[object]{})
					want := test.decoded
					g.during(3*time.Minute, func() {
						pushed := g.sink.took()
						if len(pushed) < 2 || pushed[1] != test.pushed || streamed && len(pushed) < 3 {
							t.Errorf("streamed %v: pushed: %q", streamed, pushed)
						}
						if got := *decoded - len(test.first); got != want {
							t.Errorf("streamed %v: %d objects were decoded, want %d", streamed, got, want)
						}
						if report := g.Status().LastList; report.Skipped != len(test.after)-want || report.Streamed != streamed {
							t.Errorf("report: %+v", report)
						}
					})
				})
			}
		})
	}
}

func TestAServerThatWentBackIsDecodedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := []Item[object]{obj("a", "u1", "5"), obj("b", "u2", "6")}
		s := &script{onWatch: expiring(1), onList: func(n int, _ metav1.ListOptions) ([]Item[object], Page, error) {
			return items, Page{Version: []string{"100", "50"}[min(n, 1)]}, nil
		}}
		g, decoded := skippingRig(t, s, Options[object]{})
		g.during(10*time.Minute, func() {
			// The list that raises the doubt is compared by version, the one that
			// settles it is not: equal versions mean nothing after a restore.
			if st := g.Status(); st.Epoch != 1 || *decoded != 4 || st.LastList.Skipped != 0 {
				t.Errorf("%d were decoded, status %+v", *decoded, st)
			}
		})
	})
}

// TestASourceOverRESTDecodesOnlyWhatIsNotHeld shows pods that cannot be decoded,
// so that it is seen at once whether anybody has tried.
func TestASourceOverRESTDecodesOnlyWhatIsNotHeld(t *testing.T) {
	held := map[string][2]string{"same": {"u1", "5"}, "newer": {"u2", "5"}, "another": {"u3", "5"}, "strange": {"", ""}}
	lookup := func(key types.NamespacedName) (types.UID, string, bool) {
		h, ok := held[key.Name]
		return types.UID(h[0]), h[1], ok && key.Namespace == "ns"
	}
	objects := []struct{ name, uid, version, want string }{
		{"same", "u1", "5", "unchanged"}, {"newer", "u2", "6", "decoded"}, {"another", "u9", "5", "decoded"},
		{"unknown", "u4", "5", "decoded"}, {"strange", "", "", "decoded"}, {"same", "u1", "5", "unchanged"},
	}
	var text, list, stream, textStream bytes.Buffer
	var want []string
	for i, o := range objects {
		if want = append(want, o.name+" "+o.want); i > 0 {
			text.WriteByte(',')
		}
		bad := fmt.Sprintf(`"metadata":{"name":%q,"namespace":"ns","uid":%q,"resourceVersion":%q,"labels":7}}`, o.name, o.uid, o.version)
		text.WriteString("{" + bad)
		fmt.Fprintf(&textStream, `{"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod",%s}`+"\n", bad)
		meta := metav1.ObjectMeta{Name: o.name, Namespace: "ns", UID: types.UID(o.uid), ResourceVersion: o.version}
		raw, err := meta.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		raw = pbField(1, append(raw, pbField(11, []byte{0x0a, 0x7f})...))
		list.Write(pbField(2, raw))
		stream.Write(pbFrame("ADDED", "Pod", raw))
	}
	marked := pod("", "9")
	marked.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	raw, err := marked.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	// After the bookmark, and unless it is an Added, nothing is skipped.
	stream.Write(pbFrame("MODIFIED", "Pod", pbField(1, append(pbField(1, []byte("same")), pbField(11, []byte{0x0a, 0x7f})...))))
	stream.Write(pbFrame("BOOKMARK", "Pod", raw))
	bookmarked := `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"9","annotations":{"` + metav1.InitialEventsAnnotationKey + `":"true"}}}}` + "\n"
	first := strings.SplitAfterN(textStream.String(), "\n", 2)[0]
	textStream.WriteString(strings.Replace(first, "ADDED", "MODIFIED", 1) + bookmarked + first)
	meta := metav1.ObjectMeta{Name: "same", Namespace: "ns", UID: "u1", ResourceVersion: "5"}
	if raw, err = meta.Marshal(); err != nil {
		t.Fatal(err)
	}
	stream.Write(pbFrame("ADDED", "Pod", pbField(1, append(raw, pbField(11, []byte{0x0a, 0x7f})...))))

	inJSON := `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[` + text.String() + "]}"
	inProtobuf := string(pbObject("PodList", list.Bytes()))
	t.Run("typed, list in JSON", func(t *testing.T) {
		wantLines(t, "items", listSkipping(t, saying[*corev1.Pod](t, inJSON), lookup), want...)
	})
	t.Run("typed, list in protobuf", func(t *testing.T) {
		wantLines(t, "items", listSkipping(t, saying[*corev1.Pod](t, inProtobuf), lookup), want...)
	})
	t.Run("metadata, list in protobuf", func(t *testing.T) {
		body := string(pbObject("PartialObjectMetadataList", list.Bytes()))
		wantLines(t, "items", listSkipping(t, saying[*metav1.PartialObjectMetadata](t, body), lookup), want...)
	})
	t.Run("unstructured", func(t *testing.T) {
		// Maps take anything, so these are no JSON at all. Their kind comes last.
		body := `{"items":[` + strings.ReplaceAll(text.String(), `"labels":7`, `"labels":{"a":01}`) + `],"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"}}`
		wantLines(t, "items", listSkipping(t, saying[*unstructured.Unstructured](t, body), lookup), want...)
	})
	after := append(want[:len(want):len(want)], "same decoded", "bookmark", "same decoded")
	t.Run("typed, stream in protobuf", func(t *testing.T) {
		wantLines(t, "events", streamSkipping(t, saying[*corev1.Pod](t, stream.String()), lookup), after...)
	})
	t.Run("typed, stream in JSON", func(t *testing.T) {
		wantLines(t, "events", streamSkipping(t, saying[*corev1.Pod](t, textStream.String()), lookup), after...)
	})
}

// shown tells whether anybody has tried to decode the item.
func shown[T any](it Item[T]) string {
	switch {
	case it.Unchanged && it.Err == nil:
		return it.Key.Name + " unchanged"
	case it.Err != nil && !it.Unchanged:
		return it.Key.Name + " decoded"
	}
	return fmt.Sprintf("%+v", it)
}

func listSkipping[T Object](t *testing.T, source Source[T], held func(types.NamespacedName) (types.UID, string, bool)) (got []string) {
	t.Helper()
	page, err := source.(Skipper[T]).Skipping(held).List(t.Context(), metav1.ListOptions{}, func(it Item[T]) error {
		got = append(got, shown(it))
		return nil
	})
	if err != nil || page.Version != "9" && page.Version != "" {
		t.Errorf("%+v, %v", page, err)
	}
	return got
}

func streamSkipping[T Object](t *testing.T, source Source[T], held func(types.NamespacedName) (types.UID, string, bool)) (got []string) {
	t.Helper()
	stream, err := source.(Skipper[T]).Skipping(held).Watch(t.Context(), metav1.ListOptions{SendInitialEvents: ptr.To(true)})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	for {
		events, err := stream.Next()
		if err != nil {
			return got
		}
		for _, e := range events {
			if e.Type == deltafifo.Bookmark {
				got = append(got, "bookmark")
				continue
			}
			got = append(got, shown(e.Item))
		}
	}
}

func TestSkippingAnObjectAllocatesItsNameOnly(t *testing.T) {
	p := pod("a", "5")
	p.UID, p.Spec.Containers = "u1", []corev1.Container{{Name: "c"}}
	s := &skip{held: func(types.NamespacedName) (types.UID, string, bool) { return "u1", "5", true }}
	for _, e := range []wire.Encoding{wire.Protobuf, wire.JSON} {
		raw, err := p.Marshal()
		if e == wire.JSON {
			raw, err = json.Marshal(p)
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(100, func() {
			if it, unchanged := skipped[*corev1.Pod](s, e, wire.Item{Raw: raw}, nil); !unchanged || it.Key != key("a") {
				t.Fatalf("%v: %+v", e, it)
			}
		}); n > 1 {
			t.Errorf("%v: %v allocations", e, n)
		}
	}
}

// BenchmarkListAgain lists 500 pods, none of which have changed, with and without a
// look at what is held.
func BenchmarkListAgain(b *testing.B) {
	const pods = 500
	var list bytes.Buffer
	for i := range pods {
		p := pod(fmt.Sprint("pod-", i), "5")
		p.UID = types.UID(fmt.Sprint("uid-of-", i))
		for range 4 {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: p.Name, Image: p.Name, Env: []corev1.EnvVar{{Name: "A", Value: p.Name}}})
		}
		raw, err := p.Marshal()
		if err != nil {
			b.Fatal(err)
		}
		list.Write(pbField(2, raw))
	}
	source := saying[*corev1.Pod](b, string(pbObject("PodList", list.Bytes())))
	held := make(map[types.NamespacedName]types.UID, pods)
	for i := range pods {
		held[key(fmt.Sprint("pod-", i))] = types.UID(fmt.Sprint("uid-of-", i))
	}
	skipper := source.(Skipper[*corev1.Pod]).Skipping(func(key types.NamespacedName) (types.UID, string, bool) {
		uid, ok := held[key]
		return uid, "5", ok
	})
	for name, source := range map[string]Source[*corev1.Pod]{"decoded": source, "skipped": skipper} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				if _, err := source.List(b.Context(), metav1.ListOptions{}, func(it Item[*corev1.Pod]) error { n++; return it.Err }); err != nil || n != pods {
					b.Fatal(n, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pods), "ns/object")
		})
	}
}
