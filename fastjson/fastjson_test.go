package fastjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/intstr"
	stock "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
)

// application is a custom resource with fields of all the types that decode
// themselves.
type application struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec struct {
		spec
		Free     map[string]any `json:"free,omitempty"`
		Anything any            `json:"anything,omitempty"`
	} `json:"spec,omitempty"`
	Status status `json:"status,omitempty"`
}

// usual is one without interfaces.
type usual struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   spec   `json:"spec,omitempty"`
	Status status `json:"status,omitempty"`
}

type spec struct {
	Replicas *int32                 `json:"replicas,omitempty"`
	Ratio    float64                `json:"ratio,omitempty"`
	Port     intstr.IntOrString     `json:"port,omitempty"`
	Ports    []intstr.IntOrString   `json:"ports,omitempty"`
	Size     resource.Quantity      `json:"size,omitempty"`
	Limits   corev1.ResourceList    `json:"limits,omitempty"`
	Timeout  *metav1.Duration       `json:"timeout,omitempty"`
	Pause    time.Duration          `json:"pause,omitempty"`
	At       *metav1.Time           `json:"at,omitempty"`
	Exactly  metav1.MicroTime       `json:"exactly,omitempty"`
	Config   *runtime.RawExtension  `json:"config,omitempty"`
	Values   map[string]string      `json:"values,omitempty"`
	Raw      json.RawMessage        `json:"raw,omitempty"`
	Data     []byte                 `json:"data,omitempty"`
	Fixed    [2]int                 `json:"fixed,omitempty"`
	Quoted   int64                  `json:"quoted,string,omitempty"`
	ByNumber map[int]string         `json:"byNumber,omitempty"`
	Template corev1.PodTemplateSpec `json:"template"`
	Untagged string
	hidden   string
}

type status struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

const whole = `{"apiVersion":"example.com/v1","kind":"Application","metadata":{"name":"a","namespace":"ns","uid":"u","resourceVersion":"7",
"creationTimestamp":"2026-05-01T10:00:00Z","labels":{"app":"a"},"managedFields":[{"manager":"m","operation":"Update","time":"2026-05-01T10:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:a":{}}}}]},
"spec":{"replicas":3,"ratio":0.25,"port":8080,"ports":["http",8080,"8080"],"size":"1.5Gi","limits":{"cpu":"500m","memory":"1Gi"},"timeout":"30s","pause":5,"at":"2026-05-01T10:00:00+02:00","exactly":"2026-05-01T10:00:00.123456Z",
"config":{"b": [1, 2.0], "a":"x"},"values":{"a":"b"},"free":{"n":9007199254740993,"f":1.0,"l":[1,{"x":1e3}],"z":null,"big":18446744073709551615},"anything":[1,"2",{"three":3}],"raw":{ "kept" : true },"data":"aGVsbG8=","fixed":[1,2],"byNumber":{"1":"one"},
"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}],"resources":{"limits":{"cpu":1}}}]}},"Untagged":"u"},
"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-05-01T10:00:00Z","reason":"r","message":"é \u00e9 \n"}]}}`

// compare decodes raw with both and fails if they do not agree.
func compare[T any](t testing.TB, raw []byte) (failed bool) {
	t.Helper()
	want, got := new(T), new(T)
	wantErr := stock.Unmarshal(raw, want)
	given := bytes.Clone(raw)
	err := Unmarshal(given, got)
	for i := range given {
		given[i] = 0xAA
	}
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s\nstock: %v\nhere: %v", raw, wantErr, err)
	}
	if err == nil && !reflect.DeepEqual(want, got) {
		t.Fatalf("%s\nstock: %#v\nhere: %#v", raw, want, got)
	}
	if a, ok := any(got).(*application); ok && a.Spec.hidden != "" {
		t.Fatalf("%s\na field that is not exported was set: %q", raw, a.Spec.hidden)
	}
	return err != nil
}

func TestACustomResourceIsDecodedAsByTheStockDecoder(t *testing.T) {
	if compare[application](t, []byte(whole)) {
		t.Fatal("it is not decoded")
	}
	for _, spec := range []string{
		`{"REPLICAS":3}`, `{"Replicas":3}`, `{"untagged":"x"}`, `{"hidden":"x"}`, `{"unknown":{"a":[1]}}`,
		`{"replicas":1,"replicas":2}`, `{"values":{"a":"1"},"values":{"b":"2"}}`, `{"free":{"a":{"x":1}},"free":{"a":{"y":2}}}`, `{"ports":[1,2,3],"ports":["a"]}`,
		`{"anything":{"a":1},"anything":{"b":2}}`, `{"anything":[1,2],"anything":[3]}`, `{"at":"2026-05-01T10:00:00Z","at":null}`,
		`{"replicas":null,"size":null,"port":null,"config":null,"values":null,"free":null,"raw":null,"data":null,"fixed":null,"template":null,"anything":null,"timeout":null,"exactly":null}`,
		`{"replicas":1.0}`, `{"replicas":1e2}`, `{"replicas":3000000000}`, `{"replicas":"3"}`, `{"ratio":1}`, `{"ratio":1e400}`, `{"ratio":"NaN"}`,
		`{"port":1.5}`, `{"port":"x"}`, `{"port":{}}`, `{"port":99999999999}`, `{"size":1}`, `{"size":"1x"}`, `{"size":1.5}`, `{"size":{}}`, `{"limits":{"cpu":"x"}}`,
		`{"timeout":1}`, `{"timeout":"1"}`, `{"pause":1.5}`, `{"pause":"5s"}`, `{"at":""}`, `{"at":"2026-05-01"}`, `{"at":1}`, `{"exactly":"2026-05-01T10:00:00Z"}`,
		`{"config":[1]}`, `{"config":"x"}`, `{"config":1}`, `{"values":{"a":1}}`, `{"values":[]}`, `{"values":{"a":null}}`, `{"free":[]}`, `{"free":{"a":-0,"b":-0.0,"c":1E3,"d":0.1}}`, `{"free":{"a":1e400}}`,
		`{"data":"!"}`, `{"data":"aGVsbG8"}`, `{"data":[1,2]}`, `{"data":""}`, `{"fixed":[1]}`, `{"fixed":[1,2,3]}`, `{"quoted":"12"}`, `{"quoted":12}`, `{"quoted":"x"}`, `{"quoted":""}`, `{"byNumber":{"x":"y"}}`, `{"byNumber":{"01":"y","1":"z"}}`,
		`{"template":[]}`, `{"ports":{}}`, `{"ports":[null]}`, `[]`, `null`, `"x"`, `7`, `{`, `{}}`, `{"a":}`, `{"a":01}`, `{"a":"\x"}`, "{\"Untagged\":\"\xff\"}", `{"Untagged":"\ud800"}`, "{\"Untagged\":\"\t\"}", "{\"values\":{\"\xff\":\"1\",\"\ufffd\":\"2\"}}",
		`{"raw":{"a":1,"a":2}}`, "{\"raw\":\"\xff\"}", `{"unknown":"\ud800"}`, `{"unknown":1e400}`, `{"unknown":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`, `{"anything":` + strings.Repeat("[", 11000) + strings.Repeat("]", 11000) + `}`,
	} {
		compare[application](t, []byte(`{"metadata":{"name":"a"},"spec":`+spec+`}`))
		compare[usual](t, []byte(`{"metadata":{"name":"a"},"spec":`+spec+`}`))
	}
	for _, raw := range []string{``, ` `, `null`, `[]`, `{} {}`, `{}x`, ` {} `, `{"metadata":{"name":"a","name":"b"}}`, `{"metadata":{"name":"a"},"metadata":{"namespace":"b"}}`, `{"metadata":{"Name":"a"}}`, `{"Metadata":{}}`, `{"metadata":{"labels":{"a":null}}}`} {
		compare[application](t, []byte(raw))
	}
}

func TestNumbersInInterfacesAreThoseOfTheStockDecoder(t *testing.T) {
	raw := []byte(`{"a":1,"b":[1.0,{"c":9007199254740993}],"d":-0.0}`)
	compare[any](t, raw)
	compare[map[string]any](t, raw)
	compare[map[string]*any](t, raw)
	compare[struct {
		A **any             `json:"a"`
		B [][]any           `json:"b"`
		D []struct{ E any } `json:"d"`
	}](t, []byte(`{"a":1,"b":[[1,1.5,"x"]],"d":[{"E":1},{"E":{"f":[2]}}]}`))
}

func TestBrokenCustomResourcesAreRefusedAsByTheStockDecoder(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	refused := 0
	for range 5_000 {
		raw := []byte(whole)
		for range 1 + random.Intn(3) {
			raw[random.Intn(len(raw))] = "{}[]\",:\\0123.eE-+tfnu \x00\xff\xc3a"[random.Intn(26)]
		}
		compare[usual](t, raw)
		if compare[application](t, raw) {
			refused++
		}
	}
	if refused < 1_000 || refused > 4_900 {
		t.Errorf("%d of 5000 are refused", refused)
	}
}

func TestObjectsOfEveryKindAreDecodedAsByTheStockDecoder(t *testing.T) {
	types := scheme.Scheme.AllKnownTypes()
	kinds := slices.SortedFunc(maps.Keys(types), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	filler := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(1), scheme.Codecs)
	decoded := 0
	for _, kind := range kinds {
		object, err := scheme.Scheme.New(kind)
		if err != nil {
			t.Fatal(err)
		}
		filler.Fill(object)
		raw, err := json.Marshal(object)
		if err != nil {
			continue // the filler makes extensions that are no JSON
		}
		want, _ := scheme.Scheme.New(kind)
		got, _ := scheme.Scheme.New(kind)
		wantErr, err := stock.Unmarshal(raw, want), Unmarshal(raw, got)
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(want, got) {
			t.Errorf("%v: %s\nstock: %v, %v\nhere: %v, %v", kind, raw, want, wantErr, got, err)
		}
		if err == nil {
			decoded++
		}
	}
	if decoded < len(kinds)/2 {
		t.Errorf("%d of %d kinds are decoded", decoded, len(kinds))
	}
}

// FuzzUnmarshalEqualsStock compares on any input.
func FuzzUnmarshalEqualsStock(f *testing.F) {
	f.Add([]byte(whole))
	f.Fuzz(func(t *testing.T, raw []byte) { compare[application](t, raw); compare[usual](t, raw) })
}

// large is a custom resource of the usual kind: mostly strings, lists and a
// template of a Pod.
func large(t testing.TB) []byte {
	o := &usual{}
	if err := stock.Unmarshal([]byte(whole), o); err != nil {
		t.Fatal(err)
	}
	o.Spec.Raw = nil
	c := &o.Spec.Template.Spec.Containers[0]
	c.Args, c.WorkingDir, c.ImagePullPolicy = []string{"--verbose", "--listen=:8080"}, "/srv", corev1.PullIfNotPresent
	c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080), Scheme: "HTTP"}}, PeriodSeconds: 10}
	for i := range 8 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprint("SETTING_", i), Value: fmt.Sprint("value-", i)})
		o.Status.Conditions = append(o.Status.Conditions, metav1.Condition{Type: fmt.Sprint("Type", i), Status: "True", Reason: "AsItShouldBe", Message: "there is nothing wrong with it"})
	}
	o.Spec.Template.Spec.Containers = append(o.Spec.Template.Spec.Containers, *c, *c)
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// cpu is what the process has used. On a machine that others use too it says more
// than the time that has passed.
func cpu() int64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

// BenchmarkUnmarshal compares with client-go's typed client, which looks for the
// kind first, and with the decoder that it then uses.
func BenchmarkUnmarshal(b *testing.B) {
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Application"}
	known := runtime.NewScheme()
	known.AddKnownTypeWithName(kind, &usual{})
	serializer := kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, known, known, kjson.SerializerOptions{})
	for size, raw := range map[string][]byte{"small": []byte(whole), "large": large(b)} {
		for _, decoder := range []struct {
			name      string
			unmarshal func([]byte, any) error
		}{
			{"client-go", func(raw []byte, into any) error {
				_, _, err := serializer.Decode(raw, nil, into.(*usual))
				return err
			}},
			{"apimachinery", stock.Unmarshal}, {"fastjson", Unmarshal},
		} {
			b.Run(size+"/"+decoder.name, func(b *testing.B) {
				b.ReportAllocs()
				before := cpu()
				for b.Loop() {
					if err := decoder.unmarshal(raw, &usual{}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
				b.ReportMetric(float64(len(raw)), "json-B")
			})
		}
	}
}

// DeepCopyObject makes it an object of a scheme. It is not a deep copy.
func (u *usual) DeepCopyObject() runtime.Object { v := *u; return &v }
