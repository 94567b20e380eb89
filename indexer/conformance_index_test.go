package indexer

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func testValuesFollow(t *testing.T, create newStore) {
	s := makeStore(t, create, things)
	mustPut(t, s, "b", &thing{id: 2, values: []string{"m"}})
	for _, values := range [][]string{
		{"b", "d"}, {"a", "b", "c", "d", "e"}, {"c"}, {}, {"x"}, {"x"}, {"y", "z"}, nil, {"m"},
	} {
		mustPut(t, s, "a", &thing{id: 1, values: values})
		for _, value := range []string{"a", "b", "c", "d", "e", "m", "x", "y", "z"} {
			want := []int{}
			if slices.Contains(values, value) {
				want = append(want, 1)
			}
			if value == "m" {
				want = append(want, 2)
			}
			wantIndex(t, s, "values", value, want...)
		}
	}
}

func testDuplicates(t *testing.T, create newStore) {
	s := makeStore(t, create, things)
	values := []string{"c", "a", "c", "b", "a"}
	mustPut(t, s, "a", &thing{id: 1, values: values})
	if want := []string{"c", "a", "c", "b", "a"}; !slices.Equal(values, want) {
		t.Errorf("the values of the object became %q", values)
	}
	for _, value := range []string{"a", "b", "c"} {
		wantIndex(t, s, "values", value, 1)
	}
	mustPut(t, s, "a", &thing{id: 2, values: []string{"b", "b"}})
	wantIndex(t, s, "values", "a")
	wantIndex(t, s, "values", "b", 2)
	wantIndex(t, s, "values", "c")
}

func testValuesInUse(t *testing.T, create newStore) {
	s := makeStore(t, create, things)
	want := func(want ...string) {
		t.Helper()
		got, err := s.IndexValues("values")
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("IndexValues = %q, %v; want %q", got, err, want)
		}
	}
	want()
	mustPut(t, s, "a", &thing{values: []string{"x", "y"}})
	mustPut(t, s, "b", &thing{values: []string{"y", ""}})
	want("", "x", "y")
	mustPut(t, s, "a", &thing{values: []string{"z"}})
	want("", "y", "z")
	remove(s, "b")
	want("z")
	remove(s, "a")
	want()
}

func testFailures(t *testing.T, create newStore) {
	for name, bad := range map[string]*thing{
		"error":             {id: 2, color: "red", values: []string{"x"}, fails: errBad},
		"panic":             {id: 2, color: "red", panics: "cannot"},
		"panic of an error": {id: 2, color: "red", panics: errBad},
	} {
		t.Run(name, func(t *testing.T) {
			s := makeStore(t, create, things)
			mustPut(t, s, "a", &thing{id: 1, color: "red", values: []string{"x"}})
			err := put(s, "a", bad)
			var failure *IndexError
			if !errors.As(err, &failure) || failure.Index != "values" || failure.Key != named("a") {
				t.Fatalf("Put = %v, want an IndexError of values and ns/a", err)
			}
			if name != "panic" && !errors.Is(err, errBad) {
				t.Errorf("Put = %v, which does not wrap its cause", err)
			}
			var panicked *PanicError
			if errors.As(err, &panicked) != (bad.panics != nil) {
				t.Errorf("Put = %v: a PanicError is expected for a panic only", err)
			}
			if panicked != nil && (panicked.Value != bad.panics || !strings.Contains(string(panicked.Stack), "valuesOf")) {
				t.Errorf("the panic has value %v and stack %s", panicked.Value, panicked.Stack)
			}
			if o, _ := s.Get(named("a")); o != bad {
				t.Errorf("Get = %v, want the object that could not be indexed", o)
			}
			wantIndex(t, s, "values", "x")
			wantIndex(t, s, "color", "red", 2)
			mustPut(t, s, "a", &thing{id: 3, values: []string{"x"}})
			wantIndex(t, s, "values", "x", 3)
		})
	}
}

func testJoinedFailures(t *testing.T, create newStore) {
	fail := Index[*thing]{Values: func(_ *thing, values []string) ([]string, error) { return append(values, "x"), errBad }}
	s := makeStore(t, create, Indexes[*thing]{"one": fail, "two": fail, "color": byColor})
	err := put(s, "a", &thing{id: 1, color: "red"})
	for _, name := range []string{"one", "two"} {
		if err == nil || !strings.Contains(err.Error(), `index "`+name+`" of object "ns/a": bad object`) {
			t.Errorf("Put = %v, which does not name index %s", err, name)
		}
	}
	wantIndex(t, s, "color", "red", 1)
}

func testUnknownIndex(t *testing.T, create newStore) {
	s := makeStore(t, create, things)
	for call, err := range map[string]error{
		"ByIndex":     errorOf(s.ByIndex("size", "x")),
		"AllByIndex":  errorOf(s.AllByIndex("size", "x")),
		"IndexKeys":   errorOf(s.IndexKeys("size", "x")),
		"IndexValues": errorOf(s.IndexValues("size")),
	} {
		want := `unknown index "size" (known are ["color" "values"])`
		if !errors.Is(err, ErrUnknownIndex) || err.Error() != want {
			t.Errorf("%s = %v, want %s", call, err, want)
		}
	}
}

func testNilIndex(t *testing.T, create newStore) {
	if s, err := create(Indexes[*thing]{"color": byColor, "size": {}}); s != nil || !errors.Is(err, ErrNilIndexFunc) ||
		!strings.Contains(err.Error(), `"size"`) {
		t.Errorf("New = %v, %v; want ErrNilIndexFunc that names the index", s, err)
	}
}

func testAddIndexes(t *testing.T, create newStore) {
	s := makeStore(t, create, Indexes[*thing]{"color": byColor})
	mustPut(t, s, "a", &thing{id: 1, color: "red", values: []string{"y", "x"}})
	mustPut(t, s, "b", &thing{id: 2, color: "red"})
	failed, err := s.AddIndexes(Indexes[*thing]{"values": byValues})
	if err != nil || failed != nil {
		t.Fatalf("AddIndexes = %v, %v", failed, err)
	}
	wantIndex(t, s, "values", "x", 1)
	wantIndex(t, s, "values", "y", 1)
	mustPut(t, s, "b", &thing{id: 3, color: "red", values: []string{"x"}})
	mustPut(t, s, "a", &thing{id: 4, color: "blue", values: []string{"y"}})
	wantIndex(t, s, "values", "x", 3)
	wantIndex(t, s, "values", "y", 4)
	wantIndex(t, s, "color", "red", 3)
	remove(s, "a")
	wantIndex(t, s, "values", "y")
	if got := s.Indexes(); !slices.Equal(got, []string{"color", "values"}) {
		t.Errorf("Indexes = %q", got)
	}
	if failed, err := s.AddIndexes(nil); err != nil || failed != nil {
		t.Errorf("AddIndexes of none = %v, %v", failed, err)
	}
}

func testAddIndexesFailures(t *testing.T, create newStore) {
	s := makeStore(t, create, Indexes[*thing]{"color": byColor})
	mustPut(t, s, "a", &thing{id: 1, values: []string{"x"}})
	mustPut(t, s, "b", &thing{id: 2, values: []string{"x"}, fails: errBad})
	failed, err := s.AddIndexes(Indexes[*thing]{"values": byValues})
	if err != nil || len(failed) != 1 || failed[0].Index != "values" || failed[0].Key != named("b") || !errors.Is(failed[0], errBad) {
		t.Fatalf("AddIndexes = %v, %v; want the failure of ns/b", failed, err)
	}
	wantIndex(t, s, "values", "x", 1)
	mustPut(t, s, "b", &thing{id: 3, values: []string{"x"}})
	wantIndex(t, s, "values", "x", 1, 3)
}

func testAddIndexesRefused(t *testing.T, create newStore) {
	s := makeStore(t, create, Indexes[*thing]{"color": byColor})
	mustPut(t, s, "a", &thing{id: 1, color: "red"})
	for want, indexes := range map[error]Indexes[*thing]{
		ErrIndexExists:  {"color": byValues, "a": byValues},
		ErrNilIndexFunc: {"size": {}, "a": byValues},
	} {
		if failed, err := s.AddIndexes(indexes); failed != nil || !errors.Is(err, want) {
			t.Errorf("AddIndexes = %v, %v; want %v", failed, err, want)
		}
	}
	if got := s.Indexes(); !slices.Equal(got, []string{"color"}) {
		t.Errorf("Indexes = %q after refusals", got)
	}
	wantIndex(t, s, "color", "red", 1)
	mustPut(t, s, "a", &thing{id: 2, color: "blue"})
	wantIndex(t, s, "color", "red")
}

func testOncePerVersion(t *testing.T, create newStore) {
	calls := map[int]int{}
	s := makeStore(t, create, Indexes[*thing]{"counted": {Values: func(o *thing, values []string) ([]string, error) {
		calls[o.id]++
		return append(values, o.color), nil
	}}})
	mustPut(t, s, "a", &thing{id: 1, color: "red"})
	mustPut(t, s, "b", &thing{id: 2, color: "red"})
	mustPut(t, s, "a", &thing{id: 3, color: "blue"})
	if _, err := s.AddIndexes(Indexes[*thing]{"color": byColor}); err != nil {
		t.Fatal(err)
	}
	wantIndex(t, s, "counted", "red", 2)
	remove(s, "a")
	remove(s, "b")
	for id := 1; id <= 3; id++ {
		if calls[id] != 1 {
			t.Errorf("the function ran %d times for object %d, want once", calls[id], id)
		}
	}
}
