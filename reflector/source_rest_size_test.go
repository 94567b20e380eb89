package reflector

import (
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestALengthThatIsOnlyClaimedTakesNoMemory(t *testing.T) {
	meta := string(pbPod(t, "a", "1", false))
	list := "k8s\x00" + string(pbField(1, append(pbField(1, []byte("v1")), pbField(2, []byte("PodList"))...)))
	for name, test := range map[string]struct {
		list, watch string
	}{
		"of a list":            {list: list + "\x12\xff\xff\xff\xff\xff\xff\x7f" + string(pbField(2, []byte(meta)))},
		"of an item":           {list: list + "\x12\xff\xff\xff\x3f" + "\x12\xf0\xff\xff\x3f" + meta},
		"of a frame":           {watch: "\x00\xff\xff\xff" + meta},
		"of a frame, past all": {watch: "\x07\xff\xff\xff" + meta},
		"of an object in JSON": {list: `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"`},
		"of a frame in JSON":   {watch: `{"type":"ADDED","object":{"metadata":{"name":"`},
	} {
		t.Run(name, func(t *testing.T) {
			err, before := error(nil), spent()
			if test.list != "" {
				_, err = lines(t, saying[*corev1.Pod](t, test.list))
			} else {
				var stream Stream[*corev1.Pod]
				if stream, err = saying[*corev1.Pod](t, test.watch).Watch(t.Context(), metav1.ListOptions{}); err != nil {
					t.Fatal(err)
				}
				defer stream.Stop()
				_, err = stream.Next()
			}
			if !errors.Is(err, errCut) && !errors.Is(err, ErrDecode) || !strings.Contains(err.Error(), "pods") {
				t.Error(err)
			}
			if took := spent() - before; took > 4<<20 {
				t.Errorf("%d bytes were taken", took)
			}
		})
	}
}

// spent is how many bytes were allocated so far.
func spent() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// repeated is a body of a beginning, many times the same, and an end.
type repeated struct {
	begin, item, end string
	n                int
	rest             string
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.rest == "" {
		switch {
		case r.begin != "":
			r.rest, r.begin = r.begin, ""
		case r.n > 0:
			n := min(r.n, 1000)
			r.rest, r.n = strings.Repeat(r.item, n), r.n-n
		case r.end != "":
			r.rest, r.end = r.end, ""
		default:
			return 0, io.EOF
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// TestAListOfAMillionItemsNeedsTheMemoryOfOneWithoutRace reads it, good and bad, and
// looks at what is alive meanwhile.
func TestAListOfAMillionItemsNeedsTheMemoryOfOneWithoutRace(t *testing.T) {
	good := string(pbField(2, pbPod(t, "a-pod", "1", false)))
	length := func(item string) string {
		size := binary.AppendUvarint(nil, uint64(manyItems*len(item)))
		return "k8s\x00" + string(pbField(1, append(pbField(1, []byte("v1")), pbField(2, []byte("PodList"))...))) + "\x12" + string(size)
	}
	bad := string(pbField(2, pbPod(t, "a-pod", "1", true)))
	inJSON := `{"kind":"PodList","apiVersion":"v1","items":[{}`
	for name, body := range map[string]repeated{
		"protobuf":      {begin: length(good), item: good},
		"bad protobuf":  {begin: length(bad), item: bad},
		"JSON":          {begin: inJSON, item: `,{"metadata":{"name":"a-pod"}}`, end: "]}"},
		"bad JSON":      {begin: inJSON, item: `,{"metadata":{"name":"a-pod"},"spec":7}`, end: "]}"},
		"JSON, nothing": {begin: inJSON, item: `,7`, end: "]}"},
	} {
		t.Run(name, func(t *testing.T) {
			body.n = manyItems
			source := answering[*corev1.Pod](t, &answers{body: func() io.ReadCloser { return io.NopCloser(&body) }})
			alive := func() uint64 {
				runtime.GC()
				var stats runtime.MemStats
				runtime.ReadMemStats(&stats)
				return stats.HeapAlloc
			}
			before, most, items := alive(), uint64(0), 0
			_, err := source.List(t.Context(), metav1.ListOptions{}, func(it Item[*corev1.Pod]) error {
				if items++; items%(manyItems/4) == 0 {
					most = max(most, alive())
				}
				return nil
			})
			if err != nil || items < manyItems {
				t.Errorf("%d items, %v", items, err)
			}
			if most > before+4<<20 {
				t.Errorf("%d bytes more are alive in the middle of it", most-before)
			}
		})
	}
}
