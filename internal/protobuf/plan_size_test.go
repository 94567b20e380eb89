package protobuf

import (
	"reflect"
	"testing"
	"unsafe"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// planBytes is what the tables of a plan take.
func planBytes(m *message, met map[*message]bool) int {
	if m == nil || met[m] {
		return 0
	}
	met[m] = true
	n := int(unsafe.Sizeof(*m)) + cap(m.fields)*int(unsafe.Sizeof(field{}))
	for i := range m.fields {
		n += planBytes(m.fields[i].msg, met)
	}
	return n
}

// TestWhatPlansOfPodsTake bounds what the kinds that contain a Pod cost together: each
// has a plan of its own (see doc.go).
func TestWhatPlansOfPodsTake(t *testing.T) {
	total := 0
	for _, typ := range []reflect.Type{
		reflect.TypeFor[*corev1.Pod](), reflect.TypeFor[*corev1.PodTemplate](), reflect.TypeFor[*corev1.ReplicationController](),
		reflect.TypeFor[*appsv1.Deployment](), reflect.TypeFor[*appsv1.ReplicaSet](), reflect.TypeFor[*appsv1.StatefulSet](),
		reflect.TypeFor[*appsv1.DaemonSet](), reflect.TypeFor[*batchv1.Job](), reflect.TypeFor[*batchv1.CronJob](),
	} {
		p := decoderFor(t, typ, Options{}).plan
		n := planBytes(p.root, map[*message]bool{})
		t.Logf("%v: %d bytes, %d trials, %d lists", typ, n, p.ids, p.lists)
		total += n
	}
	t.Logf("together: %d bytes", total)
	if most := 1 << 20; total > most {
		t.Errorf("the plans take %d bytes, want at most %d", total, most)
	}
}
