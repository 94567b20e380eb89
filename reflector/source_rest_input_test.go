package reflector

import (
	"errors"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"heliograph.example/internal/wire"
)

// oddItem is the bytes of an object that no server of Kubernetes should send.
type oddItem struct {
	raw string
	// key and version are what is known of the object, and words are in its error.
	// Without words, the object has to be what the stock decoder makes of it.
	key, version, words string
}

// between checks that an odd item is dealt with alone: in a list and in a watch, the
// items before and after it come.
func between[T Object](t *testing.T, odd oddItem, stock func(raw string) (T, error), list, watch string) {
	t.Helper()
	expect := func(where string, items []Item[T], err error) {
		t.Helper()
		if err != nil || len(items) != 3 {
			t.Fatalf("%s: %d items, %v", where, len(items), err)
		}
		for i, name := range map[int]string{0: "a", 2: "b"} {
			if items[i].Err != nil || items[i].Object.GetName() != name {
				t.Errorf("%s: %q: %v", where, name, items[i].Err)
			}
		}
		it := items[1]
		if odd.words == "" {
			want, err := stock(odd.raw)
			if err != nil || it.Err != nil {
				t.Fatalf("%s: %v; the stock decoder: %v", where, it.Err, err)
			}
			// Objects of a watch do not repeat what type they are.
			want.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
			it.Object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
			if !apiequality.Semantic.DeepEqual(want, it.Object) {
				t.Errorf("%s: %v; the stock decoder: %v", where, it.Object, want)
			}
			return
		}
		var problem *ObjectError
		if !errors.As(it.Err, &problem) || problem.Stage != StageDecode || problem.Key != it.Key || problem.Resource != "pods" {
			t.Fatalf("%s: %v", where, it.Err)
		}
		if it.Key.String() != odd.key || it.Version != odd.version || !strings.Contains(problem.Error(), odd.words) {
			t.Errorf("%s: %s at version %q: %v; want %s at %q with %q", where, it.Key, it.Version, problem, odd.key, odd.version, odd.words)
		}
		if n := len(problem.Error()); n > 1000 {
			t.Errorf("%s: an error of %d bytes", where, n)
		}
	}
	var items []Item[T]
	_, err := saying[T](t, list).List(t.Context(), metav1.ListOptions{}, func(it Item[T]) error { items = append(items, it); return nil })
	expect("in a list", items, err)
	stream, err := saying[T](t, watch).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	items = nil
	for err == nil {
		var events []Event[T]
		events, err = stream.Next()
		for _, e := range events {
			items = append(items, e.Item)
		}
	}
	if err == io.EOF {
		err = nil
	}
	expect("in a watch", items, err)
}

func TestAnOddMessageHarmsNoOther(t *testing.T) {
	field := func(num byte, value string) string { return string(pbField(num, []byte(value))) }
	whole := string(pbPod(t, "bad", "2", false))
	nested := ""
	for range wire.MaxDepth + 10 {
		nested = field(2, nested)
	}
	label := func(v string) string { return field(1, field(11, field(1, "k")+field(2, v))) }
	for name, odd := range map[string]oddItem{
		"cut off in its spec":                  {whole + "\x12\x7f\x0a", "ns/bad", "2", "spec at byte"},
		"cut off in its metadata":              {whole[:len(whole)-3], "ns/bad", "2", "metadata at byte"},
		"cut off in its namespace":             {"\x0a\x07\x0a\x03bad\x1a\x7f", "/bad", "", "metadata.namespace at byte"},
		"a varint of eleven bytes":             {whole + "\x98\x06" + strings.Repeat("\x80", 10) + "\x01", "ns/bad", "2", "at byte"},
		"a varint without end":                 {whole + "\x98\x06\x80", "ns/bad", "2", "at byte"},
		"a length of two gigabytes":            {whole + "\x12\xff\xff\xff\xff\x07", "ns/bad", "2", "spec at byte"},
		"a length of 2^62":                     {whole + "\x12\x80\x80\x80\x80\x80\x80\x80\x80\x40", "ns/bad", "2", "spec at byte"},
		"a length of 2^64":                     {whole + "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "ns/bad", "2", "spec at byte"},
		"a number for its spec":                {whole + "\x10\x01", "ns/bad", "2", "spec at byte 36: wrong wire type"},
		"a number for a name of a node":        {whole + field(2, "\x50\x07"), "ns/bad", "2", "spec.nodeName at byte 38: wrong wire type"},
		"a number for its metadata":            {"\x08\x01" + field(2, ""), "/", "", "metadata at byte 0: wrong wire type"},
		"a field of number 0":                  {whole + "\x00\x01", "ns/bad", "2", "illegal tag"},
		"the end of no group":                  {whole + "\x14", "ns/bad", "2", "illegal tag"},
		"groups without end":                   {whole + strings.Repeat("\xfb\x01", 20_000), "ns/bad", "2", "malformed field"},
		"deeper than a stack may be":           {whole + nested, "ns/bad", "2", "nested deeper than"},
		"no name":                              {field(1, field(3, "ns")), "ns/", "", "no name"},
		"metadata twice, which are merged":     {raw: whole + field(1, field(6, "9"))},
		"another name and a broken spec":       {whole + field(1, field(1, "other")) + "\x12\x7f", "ns/other", "2", "spec at byte"},
		"a spec twice, of which the last wins": {raw: whole + field(2, field(10, "x")) + field(2, field(10, "y"))},
		"a label that is no text":              {raw: whole + label("\xff\xfe")},
		"a name that is no text":               {raw: field(1, field(1, "\xff"))},
		"no text as a name, and broken":        {field(1, field(1, "\xff")) + "\x12\x7f", "/\xff", "", "spec at byte"},
	} {
		t.Run(name, func(t *testing.T) {
			var list, watch string
			for _, raw := range []string{string(pbPod(t, "a", "1", false)), odd.raw, string(pbPod(t, "b", "3", false))} {
				list += field(2, raw)
				watch += string(pbFrame("ADDED", "Pod", []byte(raw)))
			}
			between(t, odd, func(raw string) (*corev1.Pod, error) {
				var pod corev1.Pod
				return &pod, pod.Unmarshal([]byte(raw))
			}, string(pbObject("PodList", []byte(list))), watch)
		})
	}
}

var longText = strings.Repeat("é", 1<<20)

// oddTexts are odd objects in JSON, in which METADATA stands for those of ns/bad at
// version 2.
var oddTexts = map[string]struct {
	oddItem
	// loose says that an object without a type has no fault in this.
	loose bool
}{
	"a number for a text":             {oddItem{`{METADATA,"spec":{"nodeName":7}}`, "ns/bad", "2", "nodeName"}, true},
	"a text for an object":            {oddItem{`{METADATA,"spec":"x"}`, "ns/bad", "2", "spec"}, true},
	"a list for metadata":             {oddItem{`{"metadata":[],"spec":{}}`, "/", "", "name"}, false},
	"no metadata":                     {oddItem{`{"metadata":null}`, "/", "", "no name"}, false},
	"a number for a name":             {oddItem{`{"metadata":{"name":7,"namespace":"ns"}}`, "ns/", "", "name"}, false},
	"a number that is too large":      {oddItem{`{METADATA,"spec":{"priority":1e400}}`, "ns/bad", "2", "number"}, false},
	"a line break in a text":          {oddItem{"{METADATA,\"spec\":{\"nodeName\":\"\n\"}}", "ns/bad", "2", "in"}, false},
	"an escape sequence that is none": {oddItem{`{METADATA,"spec":{"nodeName":"\q"}}`, "ns/bad", "2", "escape"}, false},
	"a word that is none":             {oddItem{`{METADATA,"spec":nul}`, "ns/bad", "2", "null"}, false},
	"a comma too many":                {oddItem{`{METADATA,"spec":{"nodeName":"x",}}`, "ns/bad", "2", "string"}, false},
	"a name without end":              {oddItem{`{"metadata":{"name":"` + longText + `"},"spec":nul}`, "/" + longText, "", "null"}, false},
	"a version without end":           {oddItem{`{"metadata":{"name":"bad","resourceVersion":"` + longText + `"},"spec":nul}`, "/bad", longText, "null"}, false},
	"a time without end":              {oddItem{`{METADATA,"status":{"startTime":"` + longText + `"}}`, "ns/bad", "2", "pars"}, true},
	"deeper than a stack may be": {oddItem{`{METADATA,"spec":` + strings.Repeat("[", 2*wire.MaxDepth) + strings.Repeat("]", 2*wire.MaxDepth) + `}`,
		"ns/bad", "2", "nested deeper than"}, false},
	"longer than an object may be": {oddItem{`{METADATA,"spec":{"nodeName":"` + strings.Repeat("x", wire.MaxItem) + `"}}`, "ns/bad", "2", "longer than"}, false},
	"rather deep where nothing is": {oddItem{raw: `{METADATA,"more":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`}, false},
	"a member twice":               {oddItem{raw: `{METADATA,"spec":{"nodeName":"x","nodeName":"y"}}`}, false},
	"an object twice":              {oddItem{raw: `{METADATA,"spec":{"nodeName":"x"},"spec":{"hostname":"y"}}`}, false},
	"bytes that are no text":       {oddItem{raw: "{METADATA,\"spec\":{\"nodeName\":\"\xff\xfe\"}}"}, false},
	"a name that is no text":       {oddItem{raw: "{\"metadata\":{\"name\":\"\xff\"}}"}, false},
	"half of a pair of surrogates": {oddItem{raw: `{METADATA,"spec":{"nodeName":"\ud800"}}`}, false},
}

func TestAnOddTextHarmsNoOther(t *testing.T) {
	const kind = `"kind":"Pod","apiVersion":"v1",`
	for name, odd := range oddTexts {
		odd.raw = strings.Replace(odd.raw, "METADATA", `"metadata":{"name":"bad","namespace":"ns","resourceVersion":"2"}`, 1)
		// Each object says what it is: so it is the same in a list and in a watch.
		odd.raw = "{" + kind + odd.raw[1:]
		list, watch := `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[`, ""
		for i, raw := range []string{`{` + kind + `"metadata":{"name":"a"}}`, odd.raw, `{` + kind + `"metadata":{"name":"b"}}`} {
			list += strings.Repeat(",", min(i, 1)) + raw
			watch += `{"type":"ADDED","object":` + raw + "}\n"
		}
		list += "]}"
		t.Run(name+", with a type", func(t *testing.T) {
			between(t, odd.oddItem, func(raw string) (*corev1.Pod, error) {
				var pod corev1.Pod
				err := json.Unmarshal([]byte(raw), &pod)
				pod.TypeMeta = metav1.TypeMeta{}
				return &pod, err
			}, list, watch)
		})
		if odd.loose {
			odd.words = ""
		}
		t.Run(name+", without", func(t *testing.T) {
			between(t, odd.oddItem, func(raw string) (*unstructured.Unstructured, error) {
				object := &unstructured.Unstructured{}
				return object, object.UnmarshalJSON([]byte(raw))
			}, list, watch)
		})
	}
}

func TestAListThatIsOddAsAWholeIsAnError(t *testing.T) {
	item := `{"metadata":{"name":"a"}}`
	for name, test := range map[string]struct{ body, words string }{
		"an object for the items":      {`{"kind":"PodList","apiVersion":"v1","items":{"a":` + item + `}}`, "items"},
		"a number for the items":       {`{"kind":"PodList","apiVersion":"v1","items":7}`, "items"},
		"items twice":                  {`{"kind":"PodList","apiVersion":"v1","items":[` + item + `],"items":[` + item + `]}`, "items"},
		"a text for the metadata":      {`{"kind":"PodList","apiVersion":"v1","metadata":"x","items":[` + item + `]}`, "metadata"},
		"a number for the version":     {`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":7},"items":[` + item + `]}`, "metadata"},
		"metadata without end":         {`{"kind":"PodList","apiVersion":"v1","items":[],"metadata":{"continue":"` + strings.Repeat("x", 2<<20) + `"}}`, "beside the items"},
		"metadata deeper than a stack": {`{"kind":"PodList","apiVersion":"v1","metadata":{"a":` + strings.Repeat("[", 2*wire.MaxDepth) + strings.Repeat("]", 2*wire.MaxDepth) + `},"items":[]}`, "max depth"},
		"no comma between items":       {`{"kind":"PodList","apiVersion":"v1","items":[` + item + item + `]}`, "byte"},
		"more after the end":           {`{"kind":"PodList","apiVersion":"v1","items":[]}{}`, "byte"},
		"a length of a wrong type":     {string(pbObject("PodList", []byte("\x10\x01"))), "byte"},
		"a varint of eleven bytes":     {string(pbObject("PodList", []byte("\x12"+strings.Repeat("\x80", 10)+"\x01"))), "byte"},
		"an item past the end":         {string(pbObject("PodList", []byte("\x12\x7f\x0a"))), "byte"},
	} {
		_, err := lines(t, saying[*corev1.Pod](t, test.body))
		if !errors.Is(err, ErrDecode) || !strings.Contains(err.Error(), "pods") || !strings.Contains(err.Error(), test.words) || len(err.Error()) > 1000 {
			t.Errorf("%s: %v, want %q", name, err, test.words)
		}
	}
}
