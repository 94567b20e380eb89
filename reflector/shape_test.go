package reflector

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"heliograph.example/internal/wire"
)

// fullPod has a value wherever a shape may cut.
func fullPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "ns", UID: "u", ResourceVersion: "7", Labels: map[string]string{"app": "a"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Update", FieldsV1: metav1.NewFieldsV1(`{}`)}},
		},
		Spec: corev1.PodSpec{
			NodeName: "n",
			Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "Memory"}}},
				{Name: "w"}},
			Containers: []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{"cpu": resource.MustParse("1")}}}},
			SecurityContext: &corev1.PodSecurityContext{RunAsUser: new(int64), FSGroup: new(int64)},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// identified returns a pod with nothing but what is always kept.
func identified(change func(p *corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "ns", UID: "u", ResourceVersion: "7"}}
	change(p)
	return p
}

var shapes = map[string]struct {
	shape Shape
	want  *corev1.Pod
}{
	"everything": {Shape{}, fullPod("a")},
	"no managed fields": {Shape{DropManagedFields: true}, func() *corev1.Pod {
		p := fullPod("a")
		p.ManagedFields = nil
		return p
	}()},
	"a field of a list, of an inlined struct and of a pointer": {
		Shape{Fields: []string{"spec.volumes.emptyDir", "spec.containers.image", "spec.securityContext.fsGroup"}},
		identified(func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: "Memory"}}}, {}}
			p.Spec.Containers = []corev1.Container{{Image: "i"}}
			p.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: new(int64)}
		})},
	"a path above another": {Shape{Fields: []string{"spec.nodeName", "spec"}}, identified(func(p *corev1.Pod) { p.Spec = fullPod("").Spec })},
	"metadata without managed fields": {Shape{Fields: []string{"metadata", "kind"}, DropManagedFields: true},
		identified(func(p *corev1.Pod) { p.Labels = map[string]string{"app": "a"} })},
}

// cutBy decodes raw into a T of a shape, with or without the reflector's help.
func cutBy[T any](t *testing.T, shape Shape, e wire.Encoding, raw []byte) T {
	t.Helper()
	all, err := newDecoders[T](shape, json.Unmarshal)
	if err != nil {
		t.Fatal(err)
	}
	decode, err := all.of(e)
	if err != nil {
		t.Fatal(err)
	}
	obj, err := decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestAnObjectHasTheShapeThatIsAskedForInEveryEncoding(t *testing.T) {
	inProtobuf, err := fullPod("a").Marshal()
	if err != nil {
		t.Fatal(err)
	}
	inJSON := []byte(strings.TrimSuffix(strings.TrimPrefix(frame("ADDED", fullPod("a")), `{"object":`), `,"type":"ADDED"}`+"\n"))
	for name, test := range shapes {
		for e, raw := range map[wire.Encoding][]byte{wire.Protobuf: inProtobuf, wire.JSON: inJSON} {
			if got := cutBy[*corev1.Pod](t, test.shape, e, raw); !equality.Semantic.DeepEqual(got, test.want) {
				t.Errorf("%s in %v:\n%v\nwant\n%v", name, e, got, test.want)
			}
		}
		u := cutBy[*unstructured.Unstructured](t, test.shape, wire.JSON, inJSON)
		var got corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &got); err != nil {
			t.Fatal(err)
		}
		if !equality.Semantic.DeepEqual(&got, test.want) {
			t.Errorf("%s, unstructured:\n%v\nwant\n%v", name, &got, test.want)
		}
	}
}

func TestWhatASourceCannotCutIsCutWithoutTouchingIt(t *testing.T) {
	for name, test := range shapes {
		c, err := newCut[*corev1.Pod](test.shape)
		if err != nil {
			t.Fatal(err)
		}
		given := fullPod("a")
		if got := c.of(given, false); !equality.Semantic.DeepEqual(got, test.want) {
			t.Errorf("%s:\n%v\nwant\n%v", name, got, test.want)
		}
		if !equality.Semantic.DeepEqual(given, fullPod("a")) {
			t.Errorf("%s: the object of the source has changed", name)
		}
		whatever, err := newCut[runtime.Object](Shape{DropManagedFields: test.shape.DropManagedFields})
		if err != nil {
			t.Fatal(err)
		}
		left, _ := whatever.of(given, false).(*corev1.Pod)
		if (left.ManagedFields == nil) != test.shape.DropManagedFields || given.ManagedFields == nil {
			t.Errorf("%s: through an interface, managedFields are %v, and of the source %v", name, left.ManagedFields, given.ManagedFields)
		}

		first, err := runtime.DefaultUnstructuredConverter.ToUnstructured(given)
		if err != nil {
			t.Fatal(err)
		}
		before := runtime.DeepCopyJSON(first)
		maps, err := newCut[*unstructured.Unstructured](test.shape)
		if err != nil {
			t.Fatal(err)
		}
		u := maps.of(&unstructured.Unstructured{Object: first}, false)
		if (u.GetManagedFields() == nil) != (test.want.ManagedFields == nil) || !reflect.DeepEqual(first, before) {
			t.Errorf("%s, unstructured: left %v of %v", name, u.Object, first)
		}
	}
}

func TestAPathThatNamesNoFieldIsRefused(t *testing.T) {
	for path, why := range map[string]string{
		"spec.nodename":                `has no field "nodename"`,
		"spec.containers.0":            `has no field "0"`,
		"metadata.labels.app":          "taken as a whole",
		"spec.containers.command.a":    "taken as a whole",
		"metadata.creationTimestamp.a": "taken as a whole",
		"status.":                      "a name is empty",
		"":                             "a name is empty",
		"metadata.managedFields":       "are to be dropped",
	} {
		_, err := newDecoders[*corev1.Pod](Shape{Fields: []string{"spec", path}, DropManagedFields: true}, json.Unmarshal)
		if !errors.Is(err, ErrInvalid) || err != nil && !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := newDecoders[*unstructured.Unstructured](Shape{Fields: []string{"spec.no.such"}}, nil); err != nil {
		t.Errorf("unstructured: %v", err)
	}
	for what, err := range map[string]error{
		"fields of an interface":      second(newCut[runtime.Object](Shape{Fields: []string{"spec"}})),
		"metadata of what has none":   second(newCut[*corev1.PodSpec](Shape{DropManagedFields: true})),
		"a reflector":                 second(New[*corev1.Pod](saying[*corev1.Pod](t, ""), names[*corev1.Pod]{}, Options[*corev1.Pod]{Shape: Shape{Fields: []string{"a"}}})),
		"a reflector of what is less": second(New[object](&script{}, names[object]{}, Options[object]{Shape: Shape{Fields: []string{"a"}}})),
	} {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// twoPods returns a source of two pods that are equal in nearly everything.
func twoPods(t *testing.T) Source[*corev1.Pod] {
	var list []byte
	for _, name := range []string{"a", "b", "c"} {
		raw, err := fullPod(name).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, pbField(2, raw)...)
	}
	return saying[*corev1.Pod](t, string(pbObject("PodList", list)))
}

func TestObjectsShareWhatIsEqualUnlessSomebodyMayWriteToThem(t *testing.T) {
	keep := func(p *corev1.Pod) (*corev1.Pod, error) { return p, nil }
	for name, test := range map[string]struct {
		opts   *Options[*corev1.Pod] // nil for a source by itself
		shared bool
	}{
		"a source by itself":          {nil, false},
		"a reflector":                 {&Options[*corev1.Pod]{}, true},
		"unshared":                    {&Options[*corev1.Pod]{Shape: Shape{Unshared: true}}, false},
		"with a transform":            {&Options[*corev1.Pod]{Transform: keep}, false},
		"with a transform that reads": {&Options[*corev1.Pod]{Transform: keep, ReadOnlyTransform: true}, true},
		"unshared and one that reads": {&Options[*corev1.Pod]{Transform: keep, ReadOnlyTransform: true, Shape: Shape{Unshared: true}}, false},
	} {
		source := twoPods(t)
		if test.opts != nil {
			r, err := New(source, names[*corev1.Pod]{}, *test.opts)
			if err != nil {
				t.Fatal(err)
			}
			source = r.source
		}
		var labels []unsafe.Pointer
		_, err := source.List(t.Context(), metav1.ListOptions{}, func(it Item[*corev1.Pod]) error {
			labels = append(labels, reflect.ValueOf(it.Object.Labels).UnsafePointer())
			return it.Err
		})
		if err != nil || len(labels) != 3 {
			t.Fatalf("%s: %d pods, %v", name, len(labels), err)
		}
		// What is met for the second time is what the third object shares.
		if shared := labels[1] == labels[2]; shared != test.shared {
			t.Errorf("%s: shared: %v", name, shared)
		}
	}
}

// manyMaps returns a list of unstructured objects that are equal in nearly
// everything, and have no kind of their own.
func manyMaps(t *testing.T) Source[*unstructured.Unstructured] {
	var items []string
	for i := range 20 {
		items = append(items, fmt.Sprintf(`{"metadata":{"name":"a%d","labels":{"app":"a"},"managedFields":[{"manager":"m"}]},"spec":{"list":[1,{"x":"y"}]},"empty":{}}`, i))
	}
	return saying[*unstructured.Unstructured](t, `{"kind":"ThingList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[`+strings.Join(items, ",")+`]}`)
}

func TestUnstructuredObjectsShareWhatIsEqualUnlessSomebodyMayWriteToThem(t *testing.T) {
	keep := func(u *unstructured.Unstructured) (*unstructured.Unstructured, error) { return u, nil }
	for name, test := range map[string]struct {
		opts   *Options[*unstructured.Unstructured] // nil for a source by itself
		shared bool
	}{
		"a source by itself": {nil, false},
		"a reflector":        {&Options[*unstructured.Unstructured]{Shape: Shape{DropManagedFields: true}}, true},
		"some fields":        {&Options[*unstructured.Unstructured]{Shape: Shape{Fields: []string{"metadata.labels", "spec.list.x", "empty"}}}, true},
		"unshared":           {&Options[*unstructured.Unstructured]{Shape: Shape{Unshared: true}}, false},
		"with a transform":   {&Options[*unstructured.Unstructured]{Transform: keep}, false},
	} {
		source := manyMaps(t)
		if test.opts != nil {
			r, err := New(source, names[*unstructured.Unstructured]{}, *test.opts)
			if err != nil {
				t.Fatal(err)
			}
			source = r.source
		}
		var objects []*unstructured.Unstructured
		_, err := source.List(t.Context(), metav1.ListOptions{}, func(it Item[*unstructured.Unstructured]) error {
			objects = append(objects, it.Object)
			return it.Err
		})
		if err != nil || len(objects) != 20 {
			t.Fatalf("%s: %d objects, %v", name, len(objects), err)
		}
		a, b := objects[18], objects[19]
		for _, path := range [][]string{{"metadata", "labels"}, {"spec"}, {"empty"}} {
			ofA, _, _ := unstructured.NestedFieldNoCopy(a.Object, path...)
			ofB, _, _ := unstructured.NestedFieldNoCopy(b.Object, path...)
			if shared := reflect.ValueOf(ofA).Pointer() == reflect.ValueOf(ofB).Pointer(); shared != test.shared {
				t.Errorf("%s: %v shared: %v", name, path, shared)
			}
		}
		if a.GetName() != "a18" || b.GetName() != "a19" || a.GetKind() != "Thing" || b.GetAPIVersion() != "v1" || b.GetLabels()["app"] != "a" {
			t.Errorf("%s: got %v and %v", name, a, b)
		}
	}
}

func TestAllReadersOfASourceMayDecodeAtTheSameTime(t *testing.T) {
	pod, err := fullPod("a").Marshal()
	if err != nil {
		t.Fatal(err)
	}
	decodeTogether(t, wire.Protobuf, pod, fullPod("a"))
	decodeTogether(t, wire.JSON, []byte(`{"metadata":{"name":"a"},"spec":{"list":[1,{"x":"y"}]}}`), &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "a"}, "spec": map[string]any{"list": []any{int64(1), map[string]any{"x": "y"}}}}})
}

func decodeTogether[T any](t *testing.T, e wire.Encoding, raw []byte, want T) {
	decoders, err := newDecoders[T](Shape{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	decode, err := decoders.of(e)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 200 {
				if obj, err := decode(raw); err != nil || !equality.Semantic.DeepEqual(obj, want) {
					t.Error(obj, err)
				}
				decoders.shared.quiet()
			}
		})
	}
	all.Wait()
	if s := decoders.shared.stats(); s.Hits == 0 || s.Hits > s.Lookups || s.Bytes == 0 {
		t.Errorf("%v: %+v", e, s)
	}
}

func TestAQuietSourceForgetsWhatItSharesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shaped, err := twoPods(t).(Shaper[*corev1.Pod]).Shaped(Shape{})
		if err != nil {
			t.Fatal(err)
		}
		source := shaped.(*restSource[*corev1.Pod])
		for range 5 {
			if _, err := source.List(t.Context(), metav1.ListOptions{}, func(it Item[*corev1.Pod]) error { return it.Err }); err != nil {
				t.Fatal(err)
			}
		}
		full := source.sharing().Bytes
		if full == 0 {
			t.Error("nothing is shared")
		}
		quiet := func(after time.Duration) int {
			time.Sleep(after)
			stream, err := source.Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			stream.Stop()
			return source.sharing().Bytes
		}
		if left := quiet(forgetAfter - time.Second); left != full {
			t.Errorf("%d of %d bytes are left too soon", left, full)
		}
		quiet(time.Second)
		if left := quiet(forgetAfter); left != 0 {
			t.Errorf("%d of %d bytes are left", left, full)
		}
	})
}

// foreign is a type that our decoder does not know.
type foreign struct{ corev1.ConfigMap }

func TestATypeWithoutAPlanIsDecodedByItsOwnCode(t *testing.T) {
	meta, err := fullPod("a").ObjectMeta.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	all, err := newDecoders[*foreign](Shape{DropManagedFields: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := all.protobuf(pbField(1, meta))
	if err != nil || got.Name != "a" || got.ManagedFields != nil || !all.shared.unsupported {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := all.protobuf([]byte{0xff}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("of nonsense: %v", err)
	}
}
