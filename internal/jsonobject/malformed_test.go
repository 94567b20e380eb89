package jsonobject

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
)

func TestAnErrorSaysWhatIsWrongAndWhere(t *testing.T) {
	for raw, want := range map[string]string{
		``:                    "decoding JSON: at byte 0: unexpected EOF, want an object",
		`[1]`:                 "decoding JSON: at byte 0: not an object",
		`{"a":1`:              "decoding JSON: at byte 6: unexpected EOF, want ','",
		`{"a":1;`:             "decoding JSON: at byte 6: not JSON, want ','",
		`{"a" 1}`:             "decoding JSON: at byte 5: not JSON, want ':'",
		`{a:1}`:               "decoding JSON: at byte 1: not JSON, want a string",
		`{"a":[1,]}`:          "decoding JSON: at byte 8: not JSON, want a value",
		`{"a":trie}`:          "decoding JSON: at byte 7: not JSON, want true",
		`{"a":-}`:             "decoding JSON: at byte 6: not JSON, want a digit",
		`{"a":1e999}`:         "decoding JSON: at byte 5: number out of range",
		`{"a":"b`:             "decoding JSON: at byte 7: unexpected EOF, want the end of a string",
		`{"a":"b\q"}`:         "decoding JSON: at byte 7: not JSON, want an escape sequence",
		`{"a":"b\u12`:         "decoding JSON: at byte 11: unexpected EOF, want an escape sequence",
		"{\"a\":\"b\n\"}":     "decoding JSON: at byte 7: not JSON, want no control character in a string",
		`{} x`:                "decoding JSON: at byte 3: not JSON, want the end",
		`{"a":` + deep:        "decoding JSON: at byte 10004: nested deeper than 10000 levels",
		`{"left out":` + deep: "decoding JSON: at byte 10011: nested deeper than 10000 levels",
		`{"left out":"\q"}`:   "decoding JSON: at byte 13: not JSON, want an escape sequence",
	} {
		_, err := NewDecoder(Options{Fields: []string{"a"}}).Decode([]byte(raw))
		if err == nil || err.Error() != want {
			t.Errorf("%.20s: %v, want %s", raw, err, want)
		}
	}
	_, err := NewDecoder(Options{}).Decode([]byte(`{"a"`))
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, io.ErrUnexpectedEOF) || e.Offset != 4 {
		t.Errorf("got %v", err)
	}
}

var deep = strings.Repeat("[", 20_000)

func TestAFailedObjectLeavesNothingBehind(t *testing.T) {
	d := NewDecoder(Options{})
	whole := application(t, 1, 1)
	want, _ := stockDecode(whole)
	for n := range len(whole) {
		if object, err := decode(d, whole[:n]); err == nil || object != nil {
			t.Fatalf("%d bytes give %v", n, object)
		}
		if n%97 == 0 {
			if got := decoded(t, d, whole); !same(want, got) {
				t.Fatalf("after a failure at byte %d: %v", n, got)
			}
		}
	}
	if len(d.members) != 0 || len(d.values) != 0 || d.raw != nil {
		t.Error("the decoder holds parts of an object")
	}
	for _, m := range d.members[:cap(d.members)] {
		if m != (member{}) {
			t.Fatal("the decoder holds parts of an object")
		}
	}
}

// TestMemoryIsBoundedByTheInput has many items of the kinds that take most.
func TestMemoryIsBoundedByTheInput(t *testing.T) {
	for name, item := range map[string]string{"lists": "[]", "objects": "{}", "numbers": "0", "strings": `""`, "nested": `[[]]`, "members": `{"":0}`} {
		raw := []byte(`{"a":[` + strings.Repeat(item+",", 200_000) + item + `]}`)
		for _, o := range []Options{{}, {Unshared: true}, {Fields: []string{"b"}}, {Fields: []string{"a.b"}}} {
			d := NewDecoder(o)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			object, err := d.Decode(raw)
			runtime.ReadMemStats(&after)
			if spent := after.TotalAlloc - before.TotalAlloc; err != nil || spent > 64*uint64(len(raw)) {
				t.Errorf("%s, %+v: %d bytes for %d (%v)", name, o, spent, len(raw), err)
			}
			runtime.KeepAlive(object)
			if held := cap(d.members)*32 + cap(d.values)*16 + cap(d.scratch); held > 64<<10 {
				t.Errorf("%s, %+v: the decoder keeps %d bytes", name, o, held)
			}
		}
	}
	for _, raw := range []string{`{"a":"` + strings.Repeat(`\n`, 1<<20) + `"}`, `{"` + strings.Repeat("x", 1<<20) + `":1}`, "{" + strings.Repeat(`"a":1,`, 1<<18) + `"a":1}`} {
		d := NewDecoder(Options{})
		compare(t, raw[:6], d, []byte(raw))
		if held := cap(d.members)*32 + cap(d.scratch); held > 64<<10 {
			t.Errorf("%s: the decoder keeps %d bytes", raw[:6], held)
		}
	}
}

// FuzzDecodeEqualsStock compares with apimachinery's decoder, twice with what was
// decoded before at hand.
func FuzzDecodeEqualsStock(f *testing.F) {
	for _, raw := range corners {
		if len(raw) < 1000 {
			f.Add([]byte(raw))
		}
	}
	for seed := range uint64(20) {
		f.Add(generated(seed))
	}
	f.Add(application(f, 1, 1))
	options := []Options{{DropManagedFields: true}, {Fields: []string{"a", "metadata.name", "spec.a.b"}}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for how, o := range modes {
			d := NewDecoder(o)
			for range 3 {
				compare(t, how, d, raw)
			}
		}
		want, err := stockDecode(raw)
		if err != nil || want == nil {
			return
		}
		for _, o := range options {
			d := NewDecoder(o)
			left := cutAway(want, o)
			for range 3 {
				if got, err := decode(d, raw); err != nil || !same(left, got) {
					t.Fatalf("%+v: %q\nwant %#v\ngot  %#v (%v)", o, raw, left, got, err)
				}
			}
			want, _ = stockDecode(bytes.Clone(raw))
		}
	})
}
