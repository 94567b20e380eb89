package protobuf

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// visible calls visit for the fields of struct v by their JSON names, looking
// into what is inlined.
func visible(v reflect.Value, visit func(name string, f reflect.Value)) {
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		if tag := sf.Tag.Get("protobuf"); tag == "" || tag == "-" {
			continue
		}
		if name, _, _ := strings.Cut(sf.Tag.Get("json"), ","); name != "" {
			visit(name, v.Field(i))
		} else {
			visible(v.Field(i), visit)
		}
	}
}

// onlyFields clears what none of paths, relative to v, names.
func onlyFields(v reflect.Value, paths []string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			onlyFields(v.Elem(), paths)
		}
	case reflect.Slice:
		for i := range v.Len() {
			onlyFields(v.Index(i), paths)
		}
	case reflect.Struct:
		visible(v, func(name string, f reflect.Value) {
			var below []string
			for _, p := range paths {
				if p == name {
					return // all of it
				}
				if rest, ok := strings.CutPrefix(p, name+"."); ok {
					below = append(below, rest)
				}
			}
			if len(below) == 0 {
				f.SetZero()
			} else {
				onlyFields(f, below)
			}
		})
	}
}

// randomPath returns a path into t of up to depth names.
func randomPath(r *rand.Rand, t reflect.Type, depth int) string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || specials[t] != nil || depth == 0 {
		return ""
	}
	var names []string
	var types []reflect.Type
	visible(reflect.New(t).Elem(), func(name string, f reflect.Value) {
		names, types = append(names, name), append(types, f.Type())
	})
	if len(names) == 0 {
		return ""
	}
	i := r.IntN(len(names))
	if rest := randomPath(r, types[i], depth-1); rest != "" && !wrapped(types[i]) {
		return names[i] + "." + rest
	}
	return names[i]
}

func wrapped(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && reflect.PointerTo(t).Implements(unmarshalerType)
}

func TestOnlyTheFieldsAskedForAreDecoded(t *testing.T) {
	for _, typ := range kinds(t) {
		for seed := range uint64(6) {
			r := newFiller(seed)
			r.full = seed < 2
			o := Options{Unshared: seed%3 == 0}
			for range 1 + r.IntN(4) {
				if p := randomPath(r.Rand, typ, 1+r.IntN(5)); p != "" {
					o.Fields = append(o.Fields, p)
				}
			}
			if o.Fields == nil {
				continue // the kind has no fields
			}
			d := decoderFor(t, typ, o)
			b := encode(t, r.object(typ))
			want := unmarshal(t, typ, b)
			onlyFields(reflect.ValueOf(want), o.Fields)
			for range 3 {
				sameAs(t, fmt.Sprintf("%v, seed %d, %q", typ, seed, o.Fields), want, decode(t, d, b))
			}
		}
	}
}

func TestAMaskMayGoThroughListsAndInlinedFields(t *testing.T) {
	d := decoderFor(t, reflect.TypeFor[*corev1.Pod](), Options{Fields: []string{"spec.containers.image", "spec.volumes.configMap.name", "metadata.labels"}})
	p := decode(t, d, encode(t, pod(1, 1))).(*corev1.Pod)
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: pod(1, 1).Labels},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Image: pod(1, 1).Spec.Containers[0].Image}, {Image: pod(1, 1).Spec.Containers[1].Image}},
			Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "app-1-config"}}}}, {}},
		},
	}
	sameAs(t, "pod", want, p)
}

func TestTheOrderOfPathsDoesNotMatterNorOneThatAnotherContains(t *testing.T) {
	raw := encode(t, pod(1, 1))
	want := unmarshal(t, reflect.TypeFor[*corev1.Pod](), raw)
	onlyFields(reflect.ValueOf(want), []string{"metadata", "status.phase"})
	fields := []string{"metadata.name", "status.phase", "metadata", "metadata.labels", "metadata"}
	for range 2 {
		slices.Reverse(fields)
		d := decoderFor(t, reflect.TypeFor[*corev1.Pod](), Options{Fields: fields})
		sameAs(t, fmt.Sprint(fields), want, decode(t, d, raw))
	}
}

func TestAPathThatNamesNoFieldIsRefused(t *testing.T) {
	decoderFor(t, podType, Options{DropManagedFields: true, Fields: []string{"metadata", "metadata", "spec"}})
	for path, reason := range map[string]string{
		"":                                   "a name is empty",
		"spec.":                              "a name is empty",
		"spec..nodeName":                     "a name is empty",
		"spek":                               "v1.Pod has no such field",
		"kind":                               "v1.Pod has no such field", // not on the wire
		"Spec":                               "v1.Pod has no such field",
		"spec.nodename":                      "v1.PodSpec has no such field",
		"spec.nodeName.x":                    "string is decoded as a whole",
		"spec.containers.image.tag":          "string is decoded as a whole",
		"spec.volumes.configMap.nothing":     "v1.ConfigMapVolumeSource has no such field",
		"metadata.labels.app":                "map[string]string is decoded as a whole",
		"metadata.creationTimestamp.seconds": "v1.Time is decoded as a whole",
		"metadata.managedFields":             "managedFields are to be dropped",
		"metadata.managedFields.manager":     "managedFields are to be dropped",
		"metadata,spec":                      "v1.Pod has no such field",
		"metadata.names":                     "v1.ObjectMeta has no such field", // though all of metadata is asked for
	} {
		_, err := NewDecoder(reflect.TypeFor[*corev1.Pod](), Options{DropManagedFields: true, Fields: []string{"metadata", path}})
		var e *FieldError
		if !errors.As(err, &e) || e.Path != path || e.Reason != reason || !strings.Contains(err.Error(), fmt.Sprintf("%q of *v1.Pod", path)) {
			t.Errorf("%q: %v, want %q", path, err, reason)
		}
	}
}
