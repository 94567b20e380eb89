package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestTheItemsOfAListAreThoseThatClientGoDecodes(t *testing.T) {
	list := listOf(configMap("a", 10), configMap("big", 100_000), configMap("b", 0), configMap("c", 5000))
	for _, e := range []Encoding{Protobuf, JSON} {
		body := encode(t, e, list)
		for how, reader := range readers {
			t.Run(fmt.Sprint(e, " ", how), func(t *testing.T) {
				l := NewList(reader(body))
				var got []corev1.ConfigMap
				_, err := read(l, func(i Item) string {
					m, err := decodeMap(e, i.Raw)
					if err != nil || i.Err != nil {
						t.Error(err, i.Err)
					}
					got = append(got, *m)
					return ""
				})
				if err != io.EOF || l.Encoding() != e || !l.HasItems() || l.Kind() != list.GroupVersionKind() {
					t.Errorf("%v, %v, %v", err, l.Encoding(), l.Kind())
				}
				if !equality.Semantic.DeepEqual(got, list.Items) {
					t.Errorf("%d items differ from those sent", len(got))
				}
				if meta := listMeta(t, l); !reflect.DeepEqual(meta, list.ListMeta) {
					t.Errorf("metadata: %+v", meta)
				}
			})
		}
	}
}

// listMeta decodes the rest of a list.
func listMeta(t *testing.T, l *List) metav1.ListMeta {
	t.Helper()
	rest, err := metav1.PartialObjectMetadataList{}, error(nil)
	if l.Encoding() == Protobuf {
		err = rest.Unmarshal(l.Rest())
	} else {
		err = utiljson.Unmarshal(l.Rest(), &rest)
	}
	if err != nil {
		t.Fatal(err)
	}
	return rest.ListMeta
}

func TestAListOfEveryKindIsSplitByItsFields(t *testing.T) {
	for kind, goType := range scheme.Scheme.AllKnownTypes() {
		items, ok := goType.FieldByName("Items")
		meta, isList := goType.FieldByName("ListMeta")
		if !ok || !isList || kind.Version == "__internal" {
			continue
		}
		if !strings.HasPrefix(items.Tag.Get("protobuf"), "bytes,2,") || !strings.HasPrefix(meta.Tag.Get("protobuf"), "bytes,1,") {
			t.Errorf("%v has its items in %q and its metadata in %q", kind, items.Tag, meta.Tag)
		}
	}
}

func TestWhatAListMayLookLike(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		want []string
		kind string
		rest string
	}{
		"items first":         {`{"items":[{"a":1},{"b":2}],"kind":"L","apiVersion":"g/v1","metadata":{"resourceVersion":"1"}}`, []string{`{"a":1}`, `{"b":2}`}, "g/v1, Kind=L", `{"kind":"L","apiVersion":"g/v1","metadata":{"resourceVersion":"1"}}`},
		"items in the middle": {`{"apiVersion":"v1","items":[{"a":1}],"kind":"L"}`, []string{`{"a":1}`}, "/v1, Kind=L", `{"apiVersion":"v1","kind":"L"}`},
		"spread out":          {" {\n \"kind\" :\t\"L\" , \"items\" : [ {\"a\" : [1, {}]} ,\r\n2 , \"x]\\\"\" , null ] } \n", []string{`{"a" : [1, {}]}`, `2`, `"x]\""`, `null`}, "/, Kind=L", "{\"kind\" :\t\"L\"}"},
		"empty":               {`{"kind":"L","items":[]}`, nil, "/, Kind=L", `{"kind":"L"}`},
		"null":                {`{"items":null,"kind":"L"}`, nil, "/, Kind=L", `{"kind":"L"}`},
		"no items":            {`{"kind":"L"}`, nil, "/, Kind=L", `{"kind":"L"}`},
		"nothing":             {`{}`, nil, "/, Kind=", `{}`},
		"an escaped key":      {`{"it\u0065ms":[{}]}`, []string{`{}`}, "/, Kind=", `{}`},
		"a broken item":       {`{"items":[{"a":tru,"b":},{"b":2}]}`, []string{`{"a":tru,"b":}`, `{"b":2}`}, "/, Kind=", `{}`},
		"a status":            {`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure"}`, nil, "/v1, Kind=Status", `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure"}`},
		"protobuf":            {protoListOf("L", str(2, "one")+str(1, "meta")+str(2, "")+"\x18\x07"), []string{"one", ""}, "/v1, Kind=L", str(1, "meta") + "\x18\x07"},
		"an empty one":        {protoListOf("L", ""), nil, "/v1, Kind=L", ""},
		"a protobuf status":   {protoListOf("Status", str(2, "Failure")), nil, "/v1, Kind=Status", str(2, "Failure")},
		"odd fields":          {magic + "\x28\x96\x01" + str(1, str(1, "v1")+str(2, "L")) + str(2, "\x19abcdefgh"+"\x1dabcd"+str(2, "i")) + str(3, "") + str(4, ""), []string{"i"}, "/v1, Kind=L", "\x19abcdefgh\x1dabcd"},
	} {
		for how, reader := range readers {
			l := NewList(reader([]byte(test.body)))
			got, err := read(l, plainly)
			if err != io.EOF || !slices.Equal(got, test.want) {
				t.Errorf("%s, %s: %q, %v", name, how, got, err)
			}
			if l.Kind().String() != test.kind || string(l.Rest()) != test.rest {
				t.Errorf("%s, %s: %v, %q", name, how, l.Kind(), l.Rest())
			}
		}
	}
}

func TestABrokenListNamesTheOffset(t *testing.T) {
	long := strings.Repeat("x", maxRest)
	for name, test := range map[string]struct {
		body   string
		offset int64
		words  string
	}{
		"a page for people":        {"<html>", 0, "neither"},
		"CBOR":                     {"\xd9\xd9\xf7\xa0", 0, "neither"},
		"an array":                 {" []", 1, "want '{'"},
		"something behind":         {`{"items":[]}{`, 12, "behind"},
		"items twice":              {`{"items":[],"items":[]}`, 20, "second"},
		"items that are a number":  {`{"items":7}`, 9, "no array"},
		"items that are not null":  {`{"items":nil}`, 12, "nil"},
		"no comma":                 {`{"items":[{} {}]}`, 13, "comma"},
		"a comma too many":         {`{"items":[{},]}`, 13, "want a value"},
		"no key":                   {`{7:8}`, 1, "key"},
		"no colon":                 {`{"a" 8}`, 5, "want ':'"},
		"too much beside":          {`{"a":"` + long + `"}`, 5, "beside"},
		"a long key":               {`{"` + long + `":1}`, 1, "key"},
		"other magic":              {"k9s\x00", 0, "k8s"},
		"a bad tag":                {magic + "\x00", 4, "tag"},
		"a group":                  {magic + "\x2b", 4, "wire type 3"},
		"a second list":            {magic + str(2, "") + str(2, ""), 6, "second"},
		"a type of another type":   {magic + "\x08\x01", 4, "wire type"},
		"a giant length":           {magic + "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 5, "length"},
		"a varint without end":     {magic + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 4, "varint"},
		"an item beyond the list":  {magic + str(2, "\x12\x05abc"), 8, "5 bytes"},
		"items of another type":    {magic + str(2, "\x10\x05"), 6, "wire type 0"},
		"a number beyond the list": {magic + "\x12\x05" + "\x19abcdefgh", 7, "8 bytes"},
		"a tag beyond the list":    {magic + "\x12\x01" + "\x92\x01\x05", 8, "has -1 left"},
		"much beside, in protobuf": {protoListOf("L", str(1, long)), 18, "beside"},
	} {
		for how, reader := range readers {
			l := NewList(reader([]byte(test.body)))
			_, err := read(l, plainly)
			var problem *SyntaxError
			if !errors.As(err, &problem) || problem.Offset != test.offset || !strings.Contains(problem.Problem, test.words) {
				t.Errorf("%s, %s: %v, want byte %d and %q", name, how, err, test.offset, test.words)
			}
			if _, again := l.Next(); again != err {
				t.Errorf("%s: then %v", name, again)
			}
		}
	}
}

func TestAListThatEndsTooEarlyIsCutAndNotBroken(t *testing.T) {
	list := listOf(configMap("a", 1), configMap("b", 1))
	for _, e := range []Encoding{Protobuf, JSON} {
		body := bytes.TrimSpace(encode(t, e, list))
		for n := range len(body) {
			_, err := read(NewList(bytes.NewReader(body[:n])), plainly)
			if !errors.Is(err, io.ErrUnexpectedEOF) && e == JSON || err == nil || errors.As(err, new(*SyntaxError)) {
				t.Errorf("%v after %d bytes: %v", e, n, err)
			}
		}
	}
}

func TestWhatTheReaderOfAListSaysIsPassedOn(t *testing.T) {
	for _, body := range []string{"", `{"items":[`, magic, protoListOf("L", str(2, "one"))[:20]} {
		_, err := read(NewList(io.MultiReader(strings.NewReader(body), iotest.ErrReader(iotest.ErrTimeout))), plainly)
		if !errors.Is(err, iotest.ErrTimeout) {
			t.Errorf("after %q: %v", body, err)
		}
	}
	if _, err := read(NewList(silent{}), plainly); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("from a reader that never says anything: %v", err)
	}
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

func TestAnItemThatIsTooLargeOrTooDeepDoesNotHarmTheNext(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	big := encode(t, JSON, ptr(configMap("big", MaxItem)))
	nested := ""
	for range MaxDepth + 10 {
		nested = str(1, nested)
	}
	large := ptr(configMap("big", MaxItem))
	protoBig, err := large.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	var list bytes.Buffer
	list.WriteString(magic + "\x12")
	inner := string([]byte{0x12, byte(len(protoBig)) | 0x80, byte(len(protoBig)>>7) | 0x80, byte(len(protoBig)>>14) | 0x80, byte(len(protoBig) >> 21)}) +
		string(protoBig) + str(2, "one") + str(2, nested) + str(2, "two")
	n := len(inner)
	list.Write([]byte{byte(n) | 0x80, byte(n>>7) | 0x80, byte(n>>14) | 0x80, byte(n >> 21)})
	list.WriteString(inner)
	for e, body := range map[Encoding]string{
		JSON:     `{"items":[` + string(big) + `,"one",` + deep + `,"two"]}`,
		Protobuf: list.String(),
	} {
		l := NewList(strings.NewReader(body))
		got, err := read(l, func(i Item) string {
			switch {
			case errors.Is(i.Err, ErrTooLarge):
				return "large " + who(e, i.Raw).name
			case i.Err != nil:
				return fmt.Sprint(errors.Is(i.Err, ErrTooDeep))
			}
			return strings.Trim(string(i.Raw), `"`)
		})
		if want := []string{"large big", "one", "true", "two"}; err != io.EOF || !slices.Equal(got, want) {
			t.Errorf("%v: %q, %v", e, got, err)
		}
	}
}

func ptr[T any](v T) *T { return &v }

func TestALengthThatIsOnlyClaimedAllocatesNothing(t *testing.T) {
	for name, body := range map[string]string{
		"an item":  magic + "\x12\xff\xff\xff\x07" + "\x12\xf0\xff\xff\x07" + "abc",
		"a list":   magic + "\x12\xff\xff\xff\xff\xff\xff\x7f",
		"the type": magic + "\x0a\xff\xff\x3f",
	} {
		l := NewList(strings.NewReader(body))
		if _, err := read(l, plainly); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", name, err)
		}
		if len(l.w.buf) > listWindow {
			t.Errorf("%s: the window has %d bytes", name, len(l.w.buf))
		}
	}
}

func TestAMillionTinyItemsNeedNoLargerWindow(t *testing.T) {
	const n = 1_000_000
	for e, body := range map[Encoding]string{
		JSON:     `{"items":[` + strings.Repeat("{},", n-1) + "{}]}",
		Protobuf: magic + str(2, strings.Repeat(str(2, ""), n)),
	} {
		l := NewList(strings.NewReader(body))
		items, largest := 0, 0
		for {
			_, err := l.Next()
			if err != nil {
				if err != io.EOF || items != n || largest > usualWindow {
					t.Errorf("%v: %d items, the window had %d bytes (%v)", e, items, largest, err)
				}
				break
			}
			items, largest = items+1, max(largest, len(l.w.buf))
		}
	}
}

func TestTheWindowIsSmallAgainAfterALargeItem(t *testing.T) {
	maps := []corev1.ConfigMap{configMap("big", 1<<20)}
	for i := range 3000 {
		maps = append(maps, configMap(fmt.Sprint(i), 1000))
	}
	for _, e := range []Encoding{Protobuf, JSON} {
		l := NewList(bytes.NewReader(encode(t, e, listOf(maps...))))
		largest := 0
		_, err := read(l, func(Item) string { largest = max(largest, len(l.w.buf)); return "" })
		if err != io.EOF || largest > 4<<20 || len(l.w.buf) > usualWindow {
			t.Errorf("%v: the window had %d bytes and has %d (%v)", e, largest, len(l.w.buf), err)
		}
	}
}

func TestSplittingAListAllocatesNothingPerItem(t *testing.T) {
	for _, e := range []Encoding{Protobuf, JSON} {
		bodies := make(map[int][]byte)
		for _, n := range []int{10, 1000} {
			maps := make([]corev1.ConfigMap, n)
			for i := range maps {
				maps[i] = configMap("a", 100)
			}
			bodies[n] = encode(t, e, listOf(maps...))
		}
		count := func(n int) float64 {
			return testing.AllocsPerRun(10, func() {
				l := NewList(bytes.NewReader(bodies[n]))
				for {
					if _, err := l.Next(); err != nil {
						return
					}
				}
			})
		}
		// The window grows once or twice more.
		if few, many := count(10), count(1000); many > few+3 {
			t.Errorf("%v: %v allocations for 10 items, %v for 1000", e, few, many)
		}
	}
}
