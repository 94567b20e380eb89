package storagetest

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var writes = map[string]func(*testing.T, *fixture){
	"a created object is read back with its version": func(t *testing.T, f *fixture) {
		in := configMap("ns/a", "red")
		out, err := f.Create(ctx(t), key("ns/a"), in)
		if err != nil {
			t.Fatal(err)
		}
		if in.ResourceVersion != "" {
			t.Error("the object handed in was changed")
		}
		if v := out.(*corev1.ConfigMap).ResourceVersion; v != f.version() {
			t.Errorf("version %s, want %s", v, f.version())
		}
		for _, version := range []string{"", "0", f.version()} {
			got, err := f.Get(ctx(t), key("ns/a"), version)
			if err != nil || !equality.Semantic.DeepEqual(got, out) {
				t.Errorf("get at %q: %v, %v, want %v", version, got, err, out)
			}
		}
	},
	"an existing object cannot be created": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		before := f.version()
		_, err := f.Create(ctx(t), key("ns/a"), configMap("ns/a", "blue"))
		wantStatus(t, err, 409, metav1.StatusReasonAlreadyExists, `configmaps "a" already exists`)
		if f.version() != before {
			t.Error("the version moved")
		}
	},
	"a create with a version, another name, another namespace or an odd key is refused": func(t *testing.T, f *fixture) {
		cm := configMap("ns/a", "red")
		cm.ResourceVersion = "1"
		_, err := f.Create(ctx(t), key("ns/a"), cm)
		wantStatus(t, err, 400, metav1.StatusReasonBadRequest, "resourceVersion should not be set on objects to be created")
		_, err = f.Create(ctx(t), key("ns/b"), configMap("ns/a", "red"))
		wantStatus(t, err, 400, metav1.StatusReasonBadRequest, "the name of the object (a) does not match the name on the URL (b)")
		_, err = f.Create(ctx(t), key("ms/a"), configMap("ns/a", "red"))
		wantStatus(t, err, 400, metav1.StatusReasonBadRequest, "the namespace of the provided object does not match the namespace sent on the request")
		for _, k := range []string{"ns/", "ns/..", "ns/a/b", "../a"} {
			if _, err := f.Create(ctx(t), key(k), configMap(k, "red")); err == nil {
				t.Errorf("key %q was accepted", k)
			}
		}
	},
	"a missing object is not found": func(t *testing.T, f *fixture) {
		f.create("ns/ab", "red")
		const message = `configmaps "a" not found`
		for _, version := range []string{"", "0"} {
			_, err := f.Get(ctx(t), key("ns/a"), version)
			wantStatus(t, err, 404, metav1.StatusReasonNotFound, message)
		}
		_, err := f.Update(ctx(t), key("ns/a"), painted("blue"))
		wantStatus(t, err, 404, metav1.StatusReasonNotFound, message)
		_, err = f.Delete(ctx(t), key("ns/a"), nil)
		wantStatus(t, err, 404, metav1.StatusReasonNotFound, message)
	},
	"a get of the future or of a version that is none fails": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		_, err := f.Get(ctx(t), key("ns/a"), "1000")
		wantTooLarge(t, err, "1000", f.version())
		_, err = f.Get(ctx(t), key("ns/a"), "abc")
		wantStatus(t, err, 500, "", `resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`)
	},
	"an update moves the version and an equal one does not": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		blue := f.paint("ns/a", "blue")
		if blue.Data["color"] != "blue" || blue.ResourceVersion != f.version() {
			t.Errorf("updated to %v", blue)
		}
		again := f.paint("ns/a", "blue")
		if again.ResourceVersion != blue.ResourceVersion || f.version() != blue.ResourceVersion {
			t.Errorf("version %s after an update without a change, want %s", again.ResourceVersion, blue.ResourceVersion)
		}
	},
	"an update that another writer has overtaken starts again": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		var seen []string
		out, err := f.Update(ctx(t), key("ns/a"), func(current runtime.Object) (runtime.Object, bool, error) {
			seen = append(seen, current.(*corev1.ConfigMap).Data["color"])
			if len(seen) == 1 {
				f.paint("ns/a", "blue")
			}
			next := current.DeepCopyObject().(*corev1.ConfigMap)
			next.Data["size"] = "1"
			return next, false, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(seen) != 2 || seen[0] != "red" || seen[1] != "blue" {
			t.Errorf("change was called with %v", seen)
		}
		if cm := out.(*corev1.ConfigMap); cm.Data["color"] != "blue" || cm.Data["size"] != "1" {
			t.Errorf("a write was lost: %v", cm.Data)
		}
	},
	"an update can refuse and can remove": func(t *testing.T, f *fixture) {
		red := f.create("ns/a", "red")
		no := errors.New("no")
		_, err := f.Update(ctx(t), key("ns/a"), func(runtime.Object) (runtime.Object, bool, error) { return nil, false, no })
		if !errors.Is(err, no) || f.version() != red.ResourceVersion {
			t.Errorf("the refusal gave %v at %s", err, f.version())
		}
		last, err := f.Update(ctx(t), key("ns/a"), func(current runtime.Object) (runtime.Object, bool, error) { return nil, true, nil })
		if err != nil {
			t.Fatal(err)
		}
		if cm := last.(*corev1.ConfigMap); cm.Data["color"] != "red" || cm.ResourceVersion != f.version() {
			t.Errorf("removed %v", cm)
		}
		_, err = f.Get(ctx(t), key("ns/a"), "")
		wantStatus(t, err, 404, metav1.StatusReasonNotFound, `configmaps "a" not found`)
		if _, err := f.Update(ctx(t), key("ns/a"), nil); err == nil {
			t.Error("an update with no change was accepted")
		}
	},
	"a delete returns the last state at its own version": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		no := errors.New("no")
		if _, err := f.Delete(ctx(t), key("ns/a"), func(runtime.Object) error { return no }); !errors.Is(err, no) {
			t.Errorf("the check was not asked: %v", err)
		}
		before := f.version()
		last := f.remove("ns/a")
		if last.Data["color"] != "red" || last.ResourceVersion != f.version() || f.version() == before {
			t.Errorf("deleted %v at %s", last, f.version())
		}
	},
}
