package protobuf

import (
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"weak"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/internal/sharing"
)

var podType = reflect.TypeFor[*corev1.Pod]()

func TestPodsOfASetShareWhatIsEqual(t *testing.T) {
	d := decoderFor(t, podType, Options{})
	var last [2]*corev1.Pod
	const pods = 10 // twice seen, a value is wanted, unless the mark of another took its place
	for n := range pods {
		last[n%2] = decode(t, d, encode(t, pod(1, n))).(*corev1.Pod)
	}
	a, b := last[0], last[1]
	for name, same := range map[string]bool{
		"containers":       &a.Spec.Containers[0] == &b.Spec.Containers[0],
		"labels":           reflect.ValueOf(a.Labels).Pointer() == reflect.ValueOf(b.Labels).Pointer(),
		"owners":           &a.OwnerReferences[0] == &b.OwnerReferences[0],
		"security context": a.Spec.SecurityContext == b.Spec.SecurityContext,
		"numbers":          a.Spec.Priority == b.Spec.Priority && a.Spec.TerminationGracePeriodSeconds == b.Spec.TerminationGracePeriodSeconds,
		"booleans":         a.Spec.EnableServiceLinks == b.Spec.EnableServiceLinks,
		"what differs":     a.Status.StartTime != b.Status.StartTime && &a.Status.PodIPs[0] != &b.Status.PodIPs[0],
	} {
		if !same {
			t.Errorf("%s are not as expected", name)
		}
	}
	if s := d.Stats(); s.Objects != pods || s.PartHits == 0 || s.PartLookups <= s.PartHits || s.StringHits == 0 || s.StringLookups <= s.StringHits ||
		s.Strings == 0 || s.Parts == 0 || s.Bytes < 1000 || s.InPieces != 0 || s.Evictions != 0 {
		t.Errorf("stats are %+v", s)
	}
}

// TestReadingAQuantityWritesToNoOtherObject: String keeps its result in the
// quantity, and Add works in place on a big number, even that of a copy.
func TestReadingAQuantityWritesToNoOtherObject(t *testing.T) {
	for _, text := range []string{"1Gi", "16Gi", "0.5Gi", "0.1Gi", "100m", "1000m", "123456789012345678901234567890"} {
		limit := resource.MustParse(text)
		p := &corev1.Pod{Spec: corev1.PodSpec{
			Overhead: corev1.ResourceList{"memory": limit},
			Volumes:  []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}}},
		}}
		// As it was written, which Marshal would bring into canonical form.
		raw := []byte(strings.ReplaceAll(string(encode(t, p)), limit.String(), text))
		if limit.String() != text && len(limit.String()) != len(text) {
			raw = []byte(at(2, at(1, at(1, "scratch")+at(2, at(2, at(2, at(1, text)))))+at(32, at(1, "memory")+at(2, at(1, text)))))
		}
		d := decoderFor(t, podType, Options{})
		var pods []*corev1.Pod
		for range 5 {
			pods = append(pods, decode(t, d, raw).(*corev1.Pod))
		}
		want := unmarshal(t, podType, raw)
		_ = pods[2].Spec.Volumes[0].EmptyDir.SizeLimit.String()
		total := pods[2].Spec.Overhead["memory"]
		total.Add(resource.MustParse("1"))
		for i, p := range pods {
			if i != 2 && !reflect.DeepEqual(want, p) {
				t.Errorf("%s: object %d: %s", text, i, difference("", reflect.ValueOf(want).Elem(), reflect.ValueOf(p).Elem()))
			}
		}
	}
}

func TestTablesStayWithinTheirBudget(t *testing.T) {
	const budget = 100 << 10
	d := decoderFor(t, podType, Options{TableBytes: budget})
	fixed := 0
	for set := range 300 {
		for n := range 3 {
			decode(t, d, encode(t, pod(set, n)))
		}
		if set == 0 {
			fixed = len(d.trials)*16 + len(d.lists)*24 + quantityCount*int(reflect.TypeFor[quantityEntry]().Size())
		}
		if s := d.Stats(); s.Bytes > budget+fixed {
			t.Fatalf("after set %d the tables hold %d bytes", set, s.Bytes)
		}
	}
	if s := d.Stats(); s.Evictions == 0 || s.PartHits == 0 {
		t.Errorf("stats are %+v", s)
	}
}

func TestWhatIsNoLongerUsedIsForgotten(t *testing.T) {
	d := decoderFor(t, podType, Options{})
	var context weak.Pointer[corev1.PodSecurityContext]
	var container weak.Pointer[corev1.Container]
	for n := range 10 {
		p := decode(t, d, encode(t, pod(1, n))).(*corev1.Pod)
		context, container = weak.Make(p.Spec.SecurityContext), weak.Make(&p.Spec.Containers[0])
	}
	runtime.GC()
	if context.Value() == nil || container.Value() == nil {
		t.Fatal("the tables do not hold what they are to forget")
	}
	for range 2 * sharing.SweepEvery {
		decode(t, d, nil)
	}
	runtime.GC()
	if context.Value() != nil || container.Value() != nil {
		t.Error("values of objects that are gone are held")
	}
	if s := d.Stats(); s.Parts != 0 || s.Strings != 0 || d.tables.Held() != 0 {
		t.Errorf("stats are %+v", s)
	}
}

func TestFieldsThatNeverRepeatAreLeftAlone(t *testing.T) {
	const n = 20 * sharing.Window
	o := Options{Fields: []string{"metadata.uid", "metadata.namespace"}}
	d := decoderFor(t, podType, o)
	for i := range n {
		decode(t, d, encode(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: podUID(0, i), Namespace: "same"}}))
	}
	s := d.Stats()
	// The namespace is looked up each time.
	if uids := s.StringLookups - n; uids > n/3 || uids < sharing.Window {
		t.Errorf("%d of %d UIDs were looked up", uids, n)
	}
	if s.StringHits < n-n/100 || s.Strings > n/3 {
		t.Errorf("stats are %+v", s)
	}
	for range 40 * sharing.Window {
		decode(t, d, encode(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "same"}}))
	}
	if before, s := s, d.Stats(); s.StringHits-before.StringHits < sharing.Window {
		t.Errorf("a field that has begun to repeat is still left alone: %+v", s)
	}
}

// TestObjectsAreReadWhileOthersAreDecoded is for the race detector, and with a
// collector that always runs for pointers that it cannot see.
func TestObjectsAreReadWhileOthersAreDecoded(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	d := decoderFor(t, podType, Options{TableBytes: 64 << 10})
	var readers sync.WaitGroup
	for set := range 20 {
		for n := range 4 {
			raw := encode(t, pod(set, n))
			want := unmarshal(t, podType, raw)
			p := decode(t, d, raw)
			readers.Go(func() {
				if !reflect.DeepEqual(want, p) {
					t.Errorf("pod %d of set %d: %s", n, set, difference("", reflect.ValueOf(want).Elem(), reflect.ValueOf(p).Elem()))
				}
				p.(*corev1.Pod).DeepCopy()
				_ = fmt.Sprint(p)
			})
		}
	}
	readers.Wait()
}

func TestDecodersMayBeMadeAndUsedAtTheSameTime(t *testing.T) {
	raw := encode(t, pod(1, 1))
	want := unmarshal(t, podType, raw)
	var done sync.WaitGroup
	for i := range 4 {
		done.Go(func() {
			d, err := NewDecoder(podType, Options{Fields: []string{"metadata", "spec", "status"}})
			if err != nil {
				t.Error(err)
				return
			}
			for range 3 + i {
				if got, err := d.Decode(raw); err != nil || !reflect.DeepEqual(want, got) {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
}
