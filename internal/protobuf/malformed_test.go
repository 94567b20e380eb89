package protobuf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// stockVerdict decodes by the generated code, which panics over some lengths.
func stockVerdict(typ reflect.Type, b []byte) (o stock, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	o = reflect.New(typ.Elem()).Interface().(stock)
	return o, o.Unmarshal(b)
}

// agree decodes b and compares the result with the generated code's. It
// reports whether both took it or both refused it.
func agree(t testing.TB, d *Decoder, typ reflect.Type, b []byte) (bool, error, error) {
	t.Helper()
	got, err := d.Decode(b)
	var e *Error
	if err != nil && (!errors.As(err, &e) || e.Type != typ || e.Offset < 0 || e.Offset > len(b) || got != nil) {
		t.Fatalf("%v of %x: not a proper error: %#v", typ, b, err)
	}
	if err != nil && strings.Contains(err.Error(), "quantity") {
		return true, err, err // this is where the generated code may take for ever
	}
	want, stockErr := stockVerdict(typ, b)
	if err == nil && stockErr == nil {
		sameAs(t, fmt.Sprintf("%v of %x", typ, b), want, got.(stock))
	}
	return (err == nil) == (stockErr == nil), stockErr, err
}

// stricter holds for what the decoder refuses although the generated code takes
// it: a string in the entry of a map, or a number in a packed list, that goes on
// after the end of its entry or list. The rest of the entry is then read twice.
func stricter(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrVarint) || errors.Is(err, ErrField) || errors.Is(err, ErrExpands)
}

func TestMutatedInputIsDecodedAsByUnmarshalOrRefused(t *testing.T) {
	total, differ := 0, 0
	for _, typ := range kinds(t) {
		shared, unshared := decoderFor(t, typ, Options{}), decoderFor(t, typ, Options{Unshared: true})
		for seed := range uint64(4) {
			r := newFiller(seed)
			b := encode(t, r.object(typ))
			for range 25 {
				m := mutate(r.Rand, b)
				for _, d := range []*Decoder{shared, unshared} {
					total++
					ok, stock, ours := agree(t, d, typ, m)
					if ok {
						continue
					}
					differ++
					if !stricter(ours) {
						t.Errorf("%v, seed %d: stock %v, ours %v, of %x", typ, seed, stock, ours, m)
					}
				}
			}
		}
	}
	if differ*200 > total {
		t.Errorf("%d verdicts of %d differ", differ, total)
	}
}

func TestTruncatedInputIsTakenOrRefusedAsByUnmarshal(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[*corev1.Pod](), reflect.TypeFor[*resourcev1.ResourceSlice]()} {
		d := decoderFor(t, typ, Options{})
		r := newFiller(3)
		b := encode(t, r.object(typ))
		for n := range b {
			if ok, stock, ours := agree(t, d, typ, b[:n]); !ok {
				t.Errorf("%v cut to %d bytes: stock %v, ours %v", typ, n, stock, ours)
			}
		}
	}
}

// at puts b into the field with this number.
func at(number int, b string) string {
	return string(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number<<3|wireBytes)), uint64(len(b)))) + b
}

func TestMalformedInputIsRefusedWithFieldAndOffset(t *testing.T) {
	spec := func(b string) string { return at(1, "") + at(2, b) }
	for name, c := range map[string]struct {
		raw    string
		path   string
		offset int
		is     error
	}{
		"a length past the end":             {spec(at(2, "\x0a\x05app")), "spec.containers[0].name", 7, io.ErrUnexpectedEOF},
		"a length of 2^63":                  {at(1, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), "metadata.name", 3, io.ErrUnexpectedEOF},
		"a length of 2^64":                  {at(1, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), "metadata.name", 3, io.ErrUnexpectedEOF},
		"a varint without end":              {at(1, "\x38\x80"), "metadata.generation", 3, io.ErrUnexpectedEOF},
		"a varint of eleven bytes":          {at(1, "\x38"+strings.Repeat("\x80", 10)+"\x01"), "metadata.generation", 3, ErrVarint},
		"a tag of eleven bytes":             {strings.Repeat("\x80", 10) + "\x01", "", 0, ErrVarint},
		"a number for a string":             {at(1, "\x08\x01"), "metadata.name", 2, ErrWireType},
		"a string for a number":             {at(1, at(7, "1")), "metadata.generation", 2, ErrWireType},
		"a fixed word for a number":         {at(1, "\x39\x01\x02\x03\x04\x05\x06\x07\x08"), "metadata.generation", 2, ErrWireType},
		"field number 0":                    {at(1, "\x02\x00"), "metadata", 2, ErrTag},
		"the end of no group":               {at(1, "\x0c"), "metadata", 2, ErrTag},
		"a group without end":               {"\xfb\x01", "", 0, ErrField},
		"a million groups":                  {strings.Repeat("\xfb\x01", 1<<20), "", 0, ErrField},
		"an illegal wire type":              {"\xfe\x01", "", 0, ErrField},
		"a label of which a part is lost":   {at(1, at(11, "\x0a\x05app")), "metadata.labels", 5, io.ErrUnexpectedEOF},
		"a quantity that is none":           {spec(at(2, at(8, at(1, at(1, "cpu")+at(2, at(1, "much")))))), "spec.containers[0].resources.limits[cpu]", 19, resource.ErrFormatWrong},
		"an empty quantity":                 {spec(at(2, at(8, at(1, at(1, "cpu")+at(2, at(1, "")))))), "spec.containers[0].resources.limits[cpu]", 19, resource.ErrFormatWrong},
		"containers without end of 2 bytes": {spec(strings.Repeat(at(2, ""), 1<<20)), "spec.containers", 7, ErrExpands},
	} {
		for mode, o := range modes {
			t.Run(name+", "+mode, func(t *testing.T) {
				d := decoderFor(t, reflect.TypeFor[*corev1.Pod](), o)
				got, err := d.Decode([]byte(c.raw))
				var e *Error
				if !errors.As(err, &e) || !errors.Is(err, c.is) || e.Path != c.path || e.Offset != c.offset || got != nil {
					t.Fatalf("got %v, %v at %d; want %q at %d, %v", got, err, e.Offset, c.path, c.offset, c.is)
				}
				if s := err.Error(); !strings.Contains(s, "*v1.Pod") || !strings.Contains(s, fmt.Sprint(c.path, " at byte ", c.offset)) {
					t.Errorf("the message is %q", s)
				}
				raw := encode(t, pod(1, 1))
				sameAs(t, "after an error", unmarshal(t, reflect.TypeFor[*corev1.Pod](), raw), decode(t, d, raw))
			})
		}
	}
}

func TestAQuantityThatTakesForEverIsRefused(t *testing.T) {
	d := decoderFor(t, reflect.TypeFor[*corev1.Pod](), Options{})
	for text, taken := range map[string]bool{
		"1000000000000000000000e2147483647": false, "1e-2147483648": false, "1e1000": false, "1" + strings.Repeat("0", 1000): false,
		"1e999": true, "1E3": true, "1e0000003": true, "2Ei": true, "1000000000000000000000000000": true,
	} {
		_, err := d.Decode([]byte(at(2, at(32, at(1, "cpu")+at(2, at(1, text))))))
		if (err == nil) != taken {
			t.Errorf("%.40s: %v", text, err)
		}
	}
}

// A link is a type that contains itself, as no type of Kubernetes does yet.
type link struct {
	Next  *link  `json:"next" protobuf:"bytes,1,opt,name=next"`
	Links []link `json:"links" protobuf:"bytes,2,rep,name=links"`
}

func TestNestingIsBounded(t *testing.T) {
	p, err := compile(reflect.TypeFor[*link](), nil, false, func(reflect.Type) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range []int{1, 2} {
		nested := ""
		for range maxDepth {
			nested = at(number, nested)
		}
		d := newDecoder(p, Options{})
		if _, err := d.Decode([]byte(nested)); err != nil {
			t.Errorf("field %d, %d levels: %v", number, maxDepth, err)
		}
		if _, err := d.Decode([]byte(at(number, nested))); !errors.Is(err, ErrDepth) {
			t.Errorf("field %d, %d levels: %v", number, maxDepth+1, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	types := kinds(f)
	for i, typ := range types {
		f.Add(uint16(i), encode(f, newFiller(uint64(i)).object(typ)))
	}
	decoders := map[reflect.Type][]*Decoder{}
	last := map[*Decoder]any{}
	f.Fuzz(func(t *testing.T, kind uint16, b []byte) {
		typ := types[int(kind)%len(types)]
		if decoders[typ] == nil {
			decoders[typ] = []*Decoder{decoderFor(t, typ, Options{}), decoderFor(t, typ, Options{Unshared: true}), decoderFor(t, typ, Options{TableBytes: 8 << 10})}
		}
		for range 3 { // so that values are shared
			for _, d := range decoders[typ] {
				if ok, stock, ours := agree(t, d, typ, b); !ok && !stricter(ours) {
					t.Errorf("%v of %x: stock %v, ours %v", typ, b, stock, ours)
				}
				if got, err := d.DecodeAgainst(b, last[d]); err == nil {
					sameAs(t, "by another object", unmarshal(t, typ, b), got.(stock))
					last[d] = got
				}
			}
		}
	})
}
