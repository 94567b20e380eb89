package jsonobject

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"weak"

	"heliograph.example/internal/sharing"
)

func decoded(t testing.TB, d *Decoder, raw []byte) map[string]any {
	t.Helper()
	object, err := decode(d, raw)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// below returns what is under keys.
func below(object any, keys ...string) any {
	for _, key := range keys {
		object = object.(map[string]any)[key]
	}
	return object
}

// oneMap reports whether two maps or slices are the same in memory.
func oneMap(a, b any) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }

func TestObjectsOfASetShareWhatIsEqual(t *testing.T) {
	for _, o := range []Options{{}, {Unshared: true}} {
		d := NewDecoder(o)
		var last [2]map[string]any
		for n := range 10 { // twice seen, a value is wanted, unless the mark of another took its place
			last[n%2] = decoded(t, d, application(t, 1, n))
		}
		for _, keys := range [][]string{{"spec"}, {"metadata", "labels"}, {"metadata", "ownerReferences"}} {
			if shared := oneMap(below(last[0], keys...), below(last[1], keys...)); shared == o.Unshared {
				t.Errorf("%+v: %v shared: %v", o, keys, shared)
			}
		}
		for _, keys := range [][]string{nil, {"metadata"}, {"status"}} {
			if oneMap(below(last[0], keys...), below(last[1], keys...)) {
				t.Errorf("%+v: %v differ and are shared", o, keys)
			}
		}
		if s := d.Stats(); s.Objects != 10 || s.PartHits == 0 == !o.Unshared || s.StringHits == 0 || s.StringLookups <= s.StringHits || s.Strings == 0 || s.Bytes < 1000 {
			t.Errorf("stats are %+v", s)
		}
	}
}

func TestTheOutermostMapIsNeverShared(t *testing.T) {
	for _, raw := range []string{`{}`, `{"a":{}}`, `{"a":1}`} {
		d := NewDecoder(Options{})
		for range 5 {
			object := decoded(t, d, []byte(raw))
			if _, there := object["kind"]; there {
				t.Fatalf("%s: what was written to another object shows", raw)
			}
			object["kind"] = "List"
		}
	}
}

func TestUnsharedObjectsMayBeWrittenTo(t *testing.T) {
	d := NewDecoder(Options{Unshared: true})
	raw := []byte(`{"a":{},"b":[],"c":{"d":[{},[],{"e":1}]},"f":[{"e":1}]}`)
	want, _ := stockDecode(raw)
	var write func(v any)
	write = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, v := range v {
				write(v)
			}
			v["new"] = "x"
		case []any:
			for i := range v {
				write(v[i])
				v[i] = "x"
			}
		}
	}
	for range 5 {
		got := decoded(t, d, raw)
		if !same(want, got) {
			t.Fatalf("got %v", got)
		}
		write(got)
	}
}

func TestWhatIsLeftOutIsNotTakenFromWholeParts(t *testing.T) {
	// Equal bytes at places of which different things are wanted.
	d := NewDecoder(Options{Fields: []string{"a", "b.x", "c.y"}})
	part := `{"x":[1,2,3],"y":{"z":1},"metadata":{"managedFields":[1]}}`
	raw := []byte(`{"a":` + part + `,"b":` + part + `,"c":` + part + `,"d":` + part + `}`)
	whole, _ := stockDecode(raw)
	want := cutAway(whole, Options{Fields: []string{"a", "b.x", "c.y"}})
	for range 5 {
		if got := decoded(t, d, raw); !same(want, got) {
			t.Errorf("got %v", got)
		}
	}
	d = NewDecoder(Options{DropManagedFields: true})
	meta := `{"managedFields":[{"manager":"a"}],"name":"a"}`
	for range 5 {
		got := decoded(t, d, []byte(`{"other":`+meta+`,"metadata":`+meta+`,"spec":{"metadata":`+meta+`}}`))
		if len(below(got, "metadata").(m)) != 1 || len(below(got, "other").(m)) != 2 || len(below(got, "spec", "metadata").(m)) != 2 {
			t.Errorf("got %v", got)
		}
	}
}

func TestTablesStayWithinTheirBudget(t *testing.T) {
	const budget = 100 << 10
	d := NewDecoder(Options{TableBytes: budget})
	for set := range 200 {
		for n := range 3 {
			decoded(t, d, application(t, set, n))
		}
		if s := d.Stats(); s.Bytes-d.learnt()-numbers*16 > budget {
			t.Fatalf("after set %d the tables hold %d bytes", set, s.Bytes)
		}
	}
	if s := d.Stats(); s.Evictions == 0 || s.PartHits == 0 {
		t.Errorf("stats are %+v", s)
	}
}

func TestWhatIsNoLongerUsedIsForgotten(t *testing.T) {
	d := NewDecoder(Options{})
	var spec weak.Pointer[any]
	for n := range 10 {
		object := decoded(t, d, application(t, 1, n))
		spec = weak.Make(&below(object, "spec", "steps").([]any)[0])
	}
	runtime.GC()
	if spec.Value() == nil {
		t.Fatal("the tables do not hold what they are to forget")
	}
	for range 2 * sharing.SweepEvery {
		decoded(t, d, []byte("{}"))
	}
	runtime.GC()
	if spec.Value() != nil {
		t.Error("values of objects that are gone are held")
	}
	d.Sweep()
	if s := d.Stats(); s.Parts != 0 || s.Strings != 0 || s.Bytes != 0 {
		t.Errorf("stats are %+v", s)
	}
	decoded(t, d, application(t, 1, 1))
}

func TestKeysThatAreDataAreNotLearnt(t *testing.T) {
	d := NewDecoder(Options{DropManagedFields: true})
	for i := range 2_000 {
		var data strings.Builder
		for k := range 20 {
			fmt.Fprintf(&data, `,"key-%d-%d":{"x":{"y%d":1}}`, i, k, i)
		}
		raw := []byte(`{"metadata":{"name":"a","managedFields":[],"labels":{` + data.String()[1:] + `}}` + data.String() + `}`)
		whole, _ := stockDecode(raw)
		if got := decoded(t, d, raw); !same(cutAway(whole, Options{DropManagedFields: true}), got) {
			t.Fatalf("got %v", got)
		}
	}
	if d.places > 10*maxKeys {
		t.Errorf("%d places are learnt", d.places)
	}
}

// TestWhatIsLearntIsBounded has objects whose keys are different everywhere.
func TestWhatIsLearntIsBounded(t *testing.T) {
	for _, o := range []Options{{}, {Unshared: true}, {Fields: []string{"a", "k1.k2.k3", "k4"}}} {
		d := NewDecoder(o)
		random := rand.New(rand.NewPCG(1, 1))
		var nested func(depth int) string
		nested = func(depth int) string {
			if depth == 0 {
				return `"x"`
			}
			out := ""
			for range 3 {
				out += fmt.Sprintf(`,"k%d":[%s]`, random.IntN(60), nested(depth-1))
			}
			return "{" + out[1:] + "}"
		}
		for range 400 {
			raw := []byte(nested(4))
			whole, _ := stockDecode(raw)
			if got := decoded(t, d, raw); !same(cutAway(whole, o), got) {
				t.Fatalf("%+v: %s: got %v", o, raw, got)
			}
			if d.places > maxPlaces {
				t.Fatalf("%d places are learnt", d.places)
			}
		}
		if len(o.Fields) == 0 && d.places < maxPlaces {
			t.Errorf("only %d places: the test does not reach the limit", d.places)
		}
	}
}

func TestStringsThatNeverRepeatAreLeftAlone(t *testing.T) {
	const n = 20 * sharing.Window
	d := NewDecoder(Options{})
	for i := range n {
		decoded(t, d, fmt.Appendf(nil, `{"uid":"uid-%d","namespace":"same"}`, i))
	}
	s := d.Stats()
	// The namespace is looked up each time.
	if uids := s.StringLookups - n; uids > n/3 || uids < sharing.Window {
		t.Errorf("%d of %d UIDs were looked up", uids, n)
	}
	if s.StringHits < n-n/100 {
		t.Errorf("stats are %+v", s)
	}
}

// TestObjectsAreReadWhileOthersAreDecoded is for the race detector.
func TestObjectsAreReadWhileOthersAreDecoded(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	d := NewDecoder(Options{TableBytes: 64 << 10})
	var readers sync.WaitGroup
	for set := range 10 {
		for n := range 4 {
			raw := application(t, set, n)
			want, _ := stockDecode(raw)
			got := decoded(t, d, raw)
			readers.Go(func() {
				if !same(want, got) {
					t.Errorf("object %d of set %d is another", n, set)
				}
			})
		}
	}
	readers.Wait()
}
