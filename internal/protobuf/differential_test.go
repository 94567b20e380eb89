package protobuf

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// modes are the ways to decode everything.
var modes = map[string]Options{
	"shared":       {},
	"unshared":     {Unshared: true},
	"small tables": {TableBytes: 8 << 10},
}

func decoderFor(t testing.TB, typ reflect.Type, o Options) *Decoder {
	t.Helper()
	d, err := NewDecoder(typ, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func unmarshal(t testing.TB, typ reflect.Type, b []byte) stock {
	t.Helper()
	o := reflect.New(typ.Elem()).Interface().(stock)
	if err := o.Unmarshal(b); err != nil {
		t.Fatalf("%v: stock: %v", typ, err)
	}
	return o
}

// decode decodes a copy of b and overwrites it before it returns.
func decode(t testing.TB, d *Decoder, b []byte) stock {
	t.Helper()
	raw := bytes.Clone(b)
	got, err := d.Decode(raw)
	for i := range raw {
		raw[i] = 0xAA
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
	return got.(stock)
}

// copied returns a copy for Marshal, which keeps results in quantities.
func copied(o stock) stock { return o.(runtime.Object).DeepCopyObject().(stock) }

// sameAs fails if got and want differ or are encoded differently.
func sameAs(t testing.TB, what string, want, got stock) {
	t.Helper()
	if !reflect.DeepEqual(want, got) {
		t.Fatalf("%s: %s", what, difference("", reflect.ValueOf(want).Elem(), reflect.ValueOf(got).Elem()))
	}
	if !bytes.Equal(encode(t, copied(want)), encode(t, copied(got))) {
		t.Fatalf("%s: %T is encoded differently", what, got)
	}
}

// difference describes the first field in which a and b differ.
func difference(path string, a, b reflect.Value) string {
	same := func(a, b reflect.Value) bool { return reflect.DeepEqual(a.Interface(), b.Interface()) }
	switch a.Kind() {
	case reflect.Struct:
		for i := range a.NumField() {
			if sf := a.Type().Field(i); sf.IsExported() && !same(a.Field(i), b.Field(i)) {
				return difference(path+"."+sf.Name, a.Field(i), b.Field(i))
			}
		}
	case reflect.Pointer:
		if !a.IsNil() && !b.IsNil() {
			return difference(path, a.Elem(), b.Elem())
		}
	case reflect.Slice:
		for i := 0; a.Len() == b.Len() && i < a.Len(); i++ {
			if !same(a.Index(i), b.Index(i)) {
				return difference(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i))
			}
		}
	}
	return fmt.Sprintf("%s (%v): want %.200s, got %.200s", path, a.Type(), fmt.Sprintf("%#v", a), fmt.Sprintf("%#v", b))
}

func TestEveryKindIsDecodedAsByItsUnmarshal(t *testing.T) {
	const rounds, again = 5, 3 // met again, values are shared
	for _, typ := range kinds(t) {
		decoders := map[string]*Decoder{}
		for name, o := range modes {
			decoders[name] = decoderFor(t, typ, o)
		}
		for seed := range uint64(rounds) {
			r := newFiller(seed)
			r.full = seed == 0
			b := encode(t, r.object(typ))
			want := unmarshal(t, typ, b)
			var held []stock
			for range again {
				for name, d := range decoders {
					got := decode(t, d, b)
					sameAs(t, fmt.Sprintf("%v, seed %d, %s", typ, seed, name), want, got)
					held = append(held, got)
				}
			}
			for _, got := range held {
				if !reflect.DeepEqual(want, got) {
					t.Fatalf("%v, seed %d, after others were decoded: %s", typ, seed, difference("", reflect.ValueOf(want).Elem(), reflect.ValueOf(got).Elem()))
				}
			}
		}
	}
}

func TestAFieldInPiecesIsMergedAndSharedValuesStayAsTheyAre(t *testing.T) {
	for _, typ := range kinds(t) {
		shared, unshared := decoderFor(t, typ, Options{}), decoderFor(t, typ, Options{Unshared: true})
		for seed := range uint64(4) {
			r := newFiller(seed)
			a, b := encode(t, r.object(typ)), encode(t, r.object(typ))
			wantA, want := unmarshal(t, typ, a), unmarshal(t, typ, append(slices.Clone(a), b...))
			var before []stock
			for range 3 {
				before = append(before, decode(t, shared, a))
			}
			for _, d := range []*Decoder{shared, unshared} {
				sameAs(t, fmt.Sprintf("%v, seed %d", typ, seed), want, decode(t, d, append(slices.Clone(a), b...)))
			}
			for _, o := range append(before, decode(t, shared, a)) {
				sameAs(t, fmt.Sprintf("%v, seed %d, before", typ, seed), wantA, o)
			}
		}
	}
}

// withoutManagedFields clears them wherever v has any.
func withoutManagedFields(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			withoutManagedFields(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			withoutManagedFields(v.Index(i))
		}
	case reflect.Struct:
		if m, ok := v.Addr().Interface().(*metav1.ObjectMeta); ok {
			m.ManagedFields = nil
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				withoutManagedFields(v.Field(i))
			}
		}
	}
}

func TestManagedFieldsAreDroppedFromEveryKind(t *testing.T) {
	for _, typ := range kinds(t) {
		d := decoderFor(t, typ, Options{DropManagedFields: true})
		for seed := range uint64(3) {
			r := newFiller(seed)
			r.full = seed == 0
			b := encode(t, r.object(typ))
			want := unmarshal(t, typ, b)
			withoutManagedFields(reflect.ValueOf(want))
			for range 3 {
				sameAs(t, fmt.Sprintf("%v, seed %d", typ, seed), want, decode(t, d, b))
			}
		}
	}
}

// containers calls visit for everything in v that a reader could write to
// through v: pointers, slices with room and maps.
func containers(v reflect.Value, visit func(reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer:
		// The time zone is common to all, as is the address of what has no size.
		if !v.IsNil() && v.Type().Elem().PkgPath() != "time" && v.Type().Elem().Size() > 0 {
			visit(v)
			containers(v.Elem(), visit)
		}
	case reflect.Slice:
		if v.Cap() > 0 {
			visit(v)
		}
		for i := range v.Len() {
			containers(v.Index(i), visit)
		}
	case reflect.Map:
		if !v.IsNil() {
			visit(v)
		}
		for it := v.MapRange(); it.Next(); {
			containers(it.Value(), visit)
		}
	case reflect.Struct:
		if v.Type().PkgPath() == "unique" {
			return // a handle, whose value nobody can write to
		}
		for i := range v.NumField() {
			containers(v.Field(i), visit)
		}
	}
}

func TestUnsharedObjectsHaveNothingInCommon(t *testing.T) {
	for _, typ := range kinds(t) {
		d := decoderFor(t, typ, Options{Unshared: true})
		r := newFiller(1)
		r.full = true
		b := encode(t, r.object(typ))
		owner := map[uintptr]int{}
		var objects []stock // or else their addresses are used again
		for n := range 4 {
			objects = append(objects, decode(t, d, b))
			containers(reflect.ValueOf(objects[n]), func(v reflect.Value) {
				if o, ok := owner[v.Pointer()]; ok && o != n {
					t.Errorf("%v: objects %d and %d have a %v in common", typ, o, n, v.Type())
				}
				owner[v.Pointer()] = n
			})
		}
	}
}

func TestSharedSlicesHaveNoRoomToAppendTo(t *testing.T) {
	for _, typ := range kinds(t) {
		d := decoderFor(t, typ, Options{})
		for seed := range uint64(4) {
			r := newFiller(seed)
			r.full = seed == 0
			b := encode(t, r.object(typ))
			for range 3 {
				containers(reflect.ValueOf(decode(t, d, b)), func(v reflect.Value) {
					if v.Kind() == reflect.Slice && v.Cap() != v.Len() && v.Type().Elem().Kind() != reflect.Uint { // words of a big number
						t.Errorf("%v: %v of length %d has room for %d", typ, v.Type(), v.Len(), v.Cap())
					}
				})
			}
		}
	}
}

// mutate changes b at a few places.
func mutate(r *rand.Rand, b []byte) []byte {
	b = slices.Clone(b)
	for range 1 + r.IntN(3) {
		if len(b) == 0 {
			break
		}
		at := r.IntN(len(b))
		switch r.IntN(6) {
		case 0:
			b = b[:at]
		case 1:
			b = slices.Insert(b, at, byte(r.IntN(256)))
		case 2:
			b = slices.Delete(b, at, at+1)
		case 3: // a part again
			b = slices.Concat(b[:at], b[r.IntN(at+1):])
		case 4:
			b[at] ^= 1 << r.IntN(8)
		default:
			b[at] = byte(r.IntN(256))
		}
	}
	return b
}
