package jsonobject

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	stock "k8s.io/apimachinery/pkg/util/json"
)

// modes are the ways to decode everything.
var modes = map[string]Options{
	"shared":       {},
	"unshared":     {Unshared: true},
	"small tables": {TableBytes: 8 << 10},
}

// stockDecode is what apimachinery does. A number that is out of range is an
// error only after all else is decoded.
func stockDecode(raw []byte) (object map[string]any, err error) {
	err = stock.Unmarshal(raw, &object)
	return object, err
}

// decode decodes a copy of raw and overwrites it before it returns.
func decode(d *Decoder, raw []byte) (map[string]any, error) {
	raw = bytes.Clone(raw)
	object, err := d.Decode(raw)
	for i := range raw {
		raw[i] = 0xAA
	}
	return object, err
}

// same reports whether two values are equal, bit by bit for numbers, and slices
// have no spare capacity.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) || (a == nil) != (b == nil) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !same(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) || a == nil || b == nil || cap(b) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	case float64:
		b, ok := b.(float64)
		return ok && math.Float64bits(a) == math.Float64bits(b)
	}
	return a == b
}

// compare decodes raw with both decoders and fails if they do not agree.
func compare(t testing.TB, how string, d *Decoder, raw []byte) {
	t.Helper()
	want, wantErr := stockDecode(raw)
	got, err := decode(d, raw)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s: %q\nstock: %v\nhere: %v", how, raw, wantErr, err)
	}
	if err != nil {
		var e *Error
		if got != nil || !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(raw) {
			t.Fatalf("%s: %q: %v, %v", how, raw, got, err)
		}
		return
	}
	if !same(want, got) {
		t.Fatalf("%s: %q\nstock: %#v\nhere: %#v", how, raw, want, got)
	}
}

func TestWhatIsDecodedIsWhatTheStockDecoderMakes(t *testing.T) {
	for _, raw := range corners {
		for how, o := range modes {
			d := NewDecoder(o)
			for range 4 {
				compare(t, how, d, []byte(raw))
			}
		}
	}
}

// corners are inputs with something peculiar about them.
var corners = []string{
	``, ` `, `{}`, ` { } `, `[]`, `null`, ` null `, `nul`, `nulll`, `true`, `"x"`, `7`, `{`, `}`, `{}}`, `{} {}`, `{},`, "\ufeff{}",
	`{"a":1}`, `{"a":1,"a":2}`, `{"a":{"x":1},"a":{"y":2}}`, `{"a":{"b":1,"b":{"c":2},"b":3}}`, `{"a":1,"a":null}`, `{"a":[1],"a":[]}`,
	`{"a":[],"b":{},"c":[[],{}],"d":null}`, `{"a":[null,true,false,1,1.5,"",[],{}]}`, `{"":""}`, `{"":{"":{"":1}}}`,
	`{"a":9007199254740993,"b":1.0,"c":1e3,"d":-0,"e":-0.0,"f":18446744073709551615,"g":0,"h":-1,"i":255,"j":256}`,
	`{"a":9223372036854775807,"b":-9223372036854775808,"c":9223372036854775808,"d":-9223372036854775809}`,
	`{"a":999999999999999999,"b":-999999999999999999,"c":1000000000000000000,"d":123456789012345678901234567890}`,
	`{"a":1E3,"b":1e+3,"c":1e-3,"d":0e0,"e":0.1E-5,"f":1e-400,"g":5e-324,"h":1.7976931348623157e308}`,
	`{"a":1e400}`, `{"a":-1e400}`, `{"a":1e309,"a":1}`, `{"a":[1e999]}`, `{"a":{"b":1e999}} x`,
	`{"a":01}`, `{"a":-}`, `{"a":-a}`, `{"a":1.}`, `{"a":.5}`, `{"a":+1}`, `{"a":1e}`, `{"a":1e+}`, `{"a":--1}`, `{"a":0x1}`, `{"a":1_0}`, `{"a":NaN}`, `{"a":-Infinity}`,
	`{"a":tru}`, `{"a":truee}`, `{"a":fals}`, `{"a":nul}`, `{"a":True}`, `{"a":undefined}`,
	`{"a":"x`, `{"a":"x\`, `{"a":"\u00`, `{"a":"\u00zz"}`, `{"a":"\x"}`, `{"a":"\'"}`, "{\"a\":\"\t\"}", "{\"a\":\"\x00\"}", "{\"a\":\"\x7f\"}", "{\"a\n\":1}", `{'a':1}`,
	`{"a":"\"\\\/\b\f\n\r\t"}`, `{"a":"\u0041\u00e9\u20ac\ud83d\ude00"}`, `{"a":"\ud800"}`, `{"a":"\ud800x"}`, `{"a":"\udc00\ud800"}`, `{"a":"\ud800\u0041"}`, `{"a":"\ud800\ud800\udc00"}`, `{"a":"\uD83D\uDE00\uFFFD\u0000"}`, `{"a":"x\ud800\"y"}`,
	`{"a":"é€😀"}`, "{\"a\":\"\xff\"}", "{\"a\":\"x\xc3\"}", "{\"a\":\"\xe2\x82\"}", "{\"a\":\"\xed\xa0\x80\"}", "{\"a\":\"\xf0\x9f\x98\x80\xf0\x9f\"}", "{\"\xff\":1,\"\ufffd\":2}", "{\"a\":\"\xc0\x80\\n\xff\"}",
	`{"\u0061":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a\"b":1}`, `{"a\"b":1,"a":2}`, `{"\\":{"\"":1}}`, `{"a":2}`, `{"a"b":1}`, `{"\n":1}`,
	`{"a" : 1 , "b" : [ 1 , 2 ] , "c" : { "d" : 1 } }`, "\t{\r\n\"a\"\n:\n1\n}\n", "{\"a\":1}\v", "{\u00a0}", `{"a":1}x`, `{"a":1}}`,
	`{"a":1,}`, `{,"a":1}`, `{"a":1,,"b":2}`, `{"a":[1,]}`, `{"a":[,1]}`, `{"a":[1 2]}`, `{"a":1 "b":2}`, `{"a"}`, `{"a":}`, `{"a",1}`, `{a:1}`, `{1:1}`, `{"a":[}`, `{"a":{]}`, `{"a":[1}`, `{"a":{"b":1]}`, `{"a":1;}`,
	`{"a":{"x":[1,2,3]},"b":{"x":[1,2,3]},"c":[{"x":[1,2,3]},{"x":[1,2,3]}]}`,
	`{"a":` + strings.Repeat("[", 9999) + strings.Repeat("]", 9999) + `}`,
	`{"a":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000) + `}`,
	strings.Repeat(`{"a":`, 10000) + "1" + strings.Repeat("}", 10000),
	strings.Repeat(`{"a":`, 10001) + "1" + strings.Repeat("}", 10001),
	strings.Repeat(`{"a":`, 20000), `{"a":` + strings.Repeat("[", 100000),
	`{"metadata":{"managedFields":[1],"name":"a"},"spec":{"metadata":{"managedFields":1}}}`,
}

// A generator writes objects of a collection, as JSON: of one form, with values
// that come again and others that do not.
type generator struct {
	*rand.Rand
	out  strings.Builder
	neat bool // no white space
}

var someKeys = []string{"a", "b", "spec", "status", "metadata", "name", "managedFields", "items", "é", `q\"`, `\u0061`, "", "a.b", "long key with blanks"}

var someScalars = []string{`1`, `0`, `-7`, `300`, `1.5`, `1e3`, `-0.0`, `123456789012345678901`, `true`, `false`, `null`, `""`, `"x"`, `"same"`, `"two words"`, `"é"`, `"\u00e9\n"`, "\"\xff\"", `"\ud800"`, `[]`, `{}`}

func (g *generator) ws() {
	if !g.neat && g.IntN(8) == 0 {
		g.out.WriteString([]string{" ", "\n", "\t", "\r\n  "}[g.IntN(4)])
	}
}

// value writes a value. The seed makes most of it, so that it comes again.
func (g *generator) value(depth int) {
	g.ws()
	defer g.ws()
	switch n := g.IntN(10); {
	case n < 4 || depth > 4:
		g.out.WriteString(someScalars[g.IntN(len(someScalars))])
	case n < 7:
		g.object(depth, g.IntN(6))
	default:
		g.out.WriteByte('[')
		for i := range g.IntN(4) {
			if i > 0 {
				g.out.WriteByte(',')
			}
			g.value(depth + 1)
		}
		g.out.WriteByte(']')
	}
}

func (g *generator) object(depth, keys int) {
	g.out.WriteByte('{')
	for i := range keys {
		if i > 0 {
			g.out.WriteByte(',')
		}
		g.ws()
		g.out.WriteString(`"` + someKeys[g.IntN(len(someKeys))] + `"`)
		g.ws()
		g.out.WriteByte(':')
		g.value(depth + 1)
	}
	g.ws()
	g.out.WriteByte('}')
}

// object returns an object: each seed always gives the same.
func generated(seed uint64) []byte {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 7)), neat: seed%2 == 0}
	g.object(0, 6)
	return []byte(g.out.String())
}

func TestGeneratedObjectsAreDecodedAsByTheStockDecoder(t *testing.T) {
	for how, o := range modes {
		d := NewDecoder(o)
		random := rand.New(rand.NewPCG(1, 1))
		for range 2_000 {
			compare(t, how, d, generated(uint64(random.IntN(200))))
		}
		if s := d.Stats(); !o.Unshared && s.PartHits == 0 || s.StringHits == 0 {
			t.Errorf("%s: %+v", how, s)
		}
	}
}

func TestBrokenObjectsAreRefusedAsByTheStockDecoder(t *testing.T) {
	for how, o := range modes {
		d := NewDecoder(o)
		random := rand.New(rand.NewPCG(2, 2))
		for range 2_000 {
			raw := generated(uint64(random.IntN(100)))
			for range 1 + random.IntN(3) {
				raw[random.IntN(len(raw))] = "{}[]\",:\\0123.eE-+tfnu \x00\xff\xc3a"[random.IntN(26)]
			}
			compare(t, how, d, raw)
			compare(t, how, d, raw[:random.IntN(len(raw))])
		}
	}
}

// TestWhatIsLeftOutIsWhatIsCutAway compares with what is left of a whole object.
func TestWhatIsLeftOutIsWhatIsCutAway(t *testing.T) {
	for _, o := range []Options{
		{DropManagedFields: true},
		{Fields: []string{"a"}},
		{Fields: []string{"a.b", "spec.status.name", "metadata"}},
		{Fields: []string{"metadata", "metadata.name", "items.a"}, DropManagedFields: true},
		{Fields: []string{"metadata.managedFields.a", "b"}},
		{Fields: []string{"metadata.a", "metadata.name", "b.b.b"}, DropManagedFields: true},
		{Fields: []string{"metadata.name", "é.a", "a.a.a.a", "nowhere.at.all"}, Unshared: true},
		{Fields: []string{"q\"", "a.a", "a"}},
	} {
		d := NewDecoder(o)
		random := rand.New(rand.NewPCG(3, 3))
		kept := 0
		check := func(raw []byte) {
			want, err := stockDecode(raw)
			if err != nil || want == nil {
				return
			}
			got, err := decode(d, raw)
			if left := cutAway(want, o); err != nil || !same(left, got) {
				t.Fatalf("%+v: %q\nwant %#v\ngot  %#v (%v)", o, raw, left, got, err)
			}
			if whole, _ := stockDecode(raw); !same(whole, got) {
				kept += len(got)
			}
		}
		for _, raw := range corners {
			check([]byte(raw))
		}
		for range 2_000 {
			check(generated(uint64(random.IntN(300))))
		}
		if kept == 0 {
			t.Errorf("%+v: nothing was left out, or everything", o)
		}
	}
}

// cutAway returns what is left of a decoded object.
func cutAway(object map[string]any, o Options) map[string]any {
	if len(o.Fields) > 0 {
		paths := make([][]string, len(o.Fields))
		for i, path := range o.Fields {
			paths[i] = strings.Split(path, ".")
		}
		left, _ := only(object, paths)
		object = left.(map[string]any)
	}
	if meta, ok := object["metadata"].(map[string]any); ok && o.DropManagedFields {
		delete(meta, "managedFields")
	}
	return object
}

func only(v any, paths [][]string) (any, bool) {
	for _, path := range paths {
		if len(path) == 0 {
			return v, true
		}
	}
	switch v := v.(type) {
	case map[string]any:
		left := map[string]any{}
		for k, v := range v {
			var below [][]string
			for _, path := range paths {
				if path[0] == k {
					below = append(below, path[1:])
				}
			}
			if v, ok := only(v, below); ok && len(below) > 0 {
				left[k] = v
			}
		}
		return left, true
	case []any:
		left := []any{}
		for _, v := range v {
			if v, ok := only(v, paths); ok {
				left = append(left, v)
			}
		}
		return left[:len(left):len(left)], true
	}
	return nil, false
}

func TestWhatIsLeftOutIsCheckedForItsSyntax(t *testing.T) {
	d := NewDecoder(Options{Fields: []string{"metadata.name"}})
	for _, raw := range corners {
		_, stockErr := stockDecode([]byte(raw))
		got, err := decode(d, []byte(raw))
		var e *Error
		if stockErr != nil && strings.Contains(stockErr.Error(), "into Go value of type float64") {
			if err != nil && !strings.HasSuffix(raw, "x") {
				t.Errorf("%q: %v", raw, err)
			}
			continue
		}
		if (err == nil) != (stockErr == nil) || err != nil && (got != nil || !errors.As(err, &e)) {
			t.Errorf("%q: %v, %v; stock: %v", raw, got, err, stockErr)
		}
	}
	random := rand.New(rand.NewPCG(4, 4))
	for range 2_000 {
		raw := generated(uint64(random.IntN(100)))
		raw[random.IntN(len(raw))] = "{}[]\",:\\0123.eE-+tfnu \x00\xff\xc3a"[random.IntN(26)]
		if _, err := d.Decode(raw); (err == nil) != json.Valid(raw) {
			t.Fatalf("%q: %v", raw, err)
		}
	}
}
