package protobuf

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
)

// against decodes a copy of b by old and overwrites it before it returns.
func against(t testing.TB, d *Decoder, b []byte, old any) stock {
	t.Helper()
	raw := bytes.Clone(b)
	got, err := d.DecodeAgainst(raw, old)
	for i := range raw {
		raw[i] = 0xAA
	}
	if err != nil {
		t.Fatal(err)
	}
	return got.(stock)
}

// states are objects of one type, encoded: some that have little in common, and of
// each a later state that differs in its version alone.
func states(t *testing.T, typ reflect.Type) (out [][]byte) {
	for seed := range uint64(3) {
		r := newFiller(seed)
		r.full = seed == 0
		o := r.object(typ)
		out = append(out, encode(t, copied(o)))
		if m, err := meta.Accessor(o); err == nil {
			m.SetResourceVersion("later")
			out = append(out, encode(t, o))
		}
	}
	return out
}

func TestAnObjectIsTheSameWhateverItIsDecodedBy(t *testing.T) {
	for _, typ := range kinds(t) {
		encoded := states(t, typ)
		for name, o := range modes {
			if o.Unshared {
				continue
			}
			d := decoderFor(t, typ, o)
			for i, b := range encoded {
				want := unmarshal(t, typ, b)
				for _, j := range []int{i, (i + 1) % len(encoded)} {
					what := fmt.Sprintf("%v, %s, %d by %d", typ, name, i, j)
					by := decode(t, d, encoded[j])
					sameAs(t, what, want, against(t, d, b, by))
					sameAs(t, what+", the old one", unmarshal(t, typ, encoded[j]), by)
				}
			}
		}
	}
}

func TestANewStateHasThePartsOfTheOldOneThatAreTheSame(t *testing.T) {
	d := decoderFor(t, reflect.TypeFor[*corev1.Pod](), Options{})
	// So many that the tables do not have the parts of the first any more.
	var pods []*corev1.Pod
	for i := range 200 {
		pods = append(pods, decode(t, d, encode(t, pod(i, 1))).(*corev1.Pod))
		d.tables.Sweep()
		d.tables.Sweep()
	}
	old := pods[0]
	next := pod(0, 1)
	next.ResourceVersion, next.Status.Phase = "next", corev1.PodFailed
	next.Labels = map[string]string{"other": "labels"}
	got := against(t, d, encode(t, next), old).(*corev1.Pod)
	for what, same := range map[string]bool{
		"name":        unsafe.StringData(got.Name) == unsafe.StringData(old.Name),
		"containers":  &got.Spec.Containers[0] == &old.Spec.Containers[0],
		"volumes":     &got.Spec.Volumes[0] == &old.Spec.Volumes[0],
		"conditions":  &got.Status.Conditions[0] == &old.Status.Conditions[0],
		"annotations": reflect.ValueOf(got.Annotations).Pointer() == reflect.ValueOf(old.Annotations).Pointer(),
		"owners":      &got.OwnerReferences[0] == &old.OwnerReferences[0],
	} {
		if !same {
			t.Errorf("%s are the same, and were made anew", what)
		}
	}
	if got.Labels["other"] != "labels" || got.Status.Phase != corev1.PodFailed || got == old {
		t.Errorf("the new state is %v", got)
	}
}

func TestOnlyAnObjectOfItsOwnTypeIsUsed(t *testing.T) {
	b := encode(t, pod(1, 1))
	want := unmarshal(t, reflect.TypeFor[*corev1.Pod](), b)
	for what, old := range map[string]any{
		"nil": nil, "nil pointer": (*corev1.Pod)(nil), "another type": &corev1.Node{}, "no pointer": corev1.Pod{},
	} {
		for name, o := range modes {
			sameAs(t, what+", "+name, want, against(t, decoderFor(t, reflect.TypeFor[*corev1.Pod](), o), b, old))
		}
	}
	private := decoderFor(t, reflect.TypeFor[*corev1.Pod](), Options{Unshared: true})
	old := decode(t, private, b).(*corev1.Pod)
	if got := against(t, private, b, old).(*corev1.Pod); &got.Spec.Containers[0] == &old.Spec.Containers[0] {
		t.Error("a private object has parts of another")
	}
}

func TestBrokenInputIsAnErrorAlsoByAnOldObject(t *testing.T) {
	d := decoderFor(t, reflect.TypeFor[*corev1.Pod](), Options{})
	b := encode(t, pod(1, 1))
	old := decode(t, d, b)
	for n := range len(b) {
		if n%7 == 0 {
			_, _ = d.DecodeAgainst(b[:n], old) // most are errors, none is a panic
		}
	}
	sameAs(t, "after broken ones", unmarshal(t, reflect.TypeFor[*corev1.Pod](), b), against(t, d, b, old))
	sameAs(t, "the old one", unmarshal(t, reflect.TypeFor[*corev1.Pod](), b), old)
}
