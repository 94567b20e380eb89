// Package storagetest is one suite for every implementation of
// [storage.Interface]: the store alone, the watch cache in front of it, and
// whatever else claims to keep objects by the rules of Kubernetes.
//
//	func TestStore(t *testing.T) {
//		storagetest.Run(t, func(t *testing.T, store *storage.Store) storagetest.Subject {
//			return storagetest.Subject{Interface: store}
//		})
//	}
//
// Each case runs in a testing/synctest bubble, so that timeouts and bookmarks
// take no time, and everything that an implementation starts must end with its
// test.
package storagetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"

	"heliograph.example/apiserver/storage"
)

// Subject is what is tested.
type Subject struct {
	storage.Interface
	// Forget, if not nil, makes the implementation itself forget changes up
	// to now. The suite calls it after it has compacted the backend.
	Forget func()
}

// Open makes the subject of one test over a store of config maps. What it
// starts must end with t.Cleanup.
type Open func(t *testing.T, store *storage.Store) Subject

// Run runs the suite.
func Run(t *testing.T, open Open) {
	t.Helper()
	for _, group := range []map[string]func(*testing.T, *fixture){writes, lists, watches} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { test(t, newFixture(t, open)) })
			})
		}
	}
	for seed := range uint64(20) {
		t.Run(fmt.Sprintf("watchers that come and go end in the state of a list/%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { model(t, newFixture(t, open), seed) })
		})
	}
}

// Options are those of the store of config maps that the suite uses. Config maps
// can be selected by the field data.color.
func Options() storage.StoreOptions {
	return storage.StoreOptions{
		GroupResource: schema.GroupResource{Resource: "configmaps"},
		Codec:         scheme.Codecs.LegacyCodec(corev1.SchemeGroupVersion),
		NewFunc:       func() runtime.Object { return new(corev1.ConfigMap) },
		Attributes: func(obj runtime.Object) (labels.Set, fields.Set, error) {
			cm := obj.(*corev1.ConfigMap)
			if cm.Data["color"] == "none" {
				return nil, nil, errColorless
			}
			return cm.Labels, fields.Set{
				"metadata.name":      cm.Name,
				"metadata.namespace": cm.Namespace,
				"data.color":         cm.Data["color"],
			}, nil
		},
	}
}

var errColorless = errors.New("config map has no color")

// fixture is one subject with what lies beneath.
type fixture struct {
	Subject
	t       *testing.T
	backend *storage.Memory
	other   *storage.Store
}

func newFixture(t *testing.T, open Open) *fixture {
	t.Helper()
	backend := storage.NewMemory()
	store, err := storage.NewStore(backend, Options())
	if err != nil {
		t.Fatal(err)
	}
	opts := Options()
	opts.GroupResource.Resource = "others"
	other, err := storage.NewStore(backend, opts)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{Subject: open(t, store), t: t, backend: backend, other: other}
}

func ctx(t *testing.T) context.Context { return t.Context() }

// key parses "namespace/name".
func key(s string) types.NamespacedName { return storage.ParseKey(s) }

// configMap makes an object to create.
func configMap(k, color string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key(k).Namespace, Name: key(k).Name, Labels: map[string]string{"color": color},
		},
		Data: map[string]string{"color": color},
	}
}

func (f *fixture) create(k, color string) *corev1.ConfigMap {
	f.t.Helper()
	obj, err := f.Create(ctx(f.t), key(k), configMap(k, color))
	if err != nil {
		f.t.Fatal(err)
	}
	return obj.(*corev1.ConfigMap)
}

func (f *fixture) paint(k, color string) *corev1.ConfigMap {
	f.t.Helper()
	obj, err := f.Update(ctx(f.t), key(k), painted(color))
	if err != nil {
		f.t.Fatal(err)
	}
	return obj.(*corev1.ConfigMap)
}

// painted changes the color of a config map.
func painted(color string) func(runtime.Object) (runtime.Object, bool, error) {
	return func(current runtime.Object) (runtime.Object, bool, error) {
		cm := current.DeepCopyObject().(*corev1.ConfigMap)
		cm.Labels = map[string]string{"color": color}
		cm.Data = map[string]string{"color": color}
		return cm, false, nil
	}
}

// annotated adds an annotation, which no selector looks at.
func annotated(name string) func(runtime.Object) (runtime.Object, bool, error) {
	return func(current runtime.Object) (runtime.Object, bool, error) {
		cm := current.DeepCopyObject().(*corev1.ConfigMap)
		metav1.SetMetaDataAnnotation(&cm.ObjectMeta, name, "")
		return cm, false, nil
	}
}

func (f *fixture) remove(k string) *corev1.ConfigMap {
	f.t.Helper()
	obj, err := f.Delete(ctx(f.t), key(k), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return obj.(*corev1.ConfigMap)
}

// bump raises the version of the backend by a write to another resource and
// returns it.
func (f *fixture) bump() string {
	f.t.Helper()
	k := fmt.Sprintf("other/n%s", f.version())
	if _, err := f.other.Create(ctx(f.t), key(k), configMap(k, "red")); err != nil {
		f.t.Fatal(err)
	}
	return f.version()
}

// version is the newest version of the backend.
func (f *fixture) version() string {
	f.t.Helper()
	v, err := f.backend.CurrentRevision(ctx(f.t))
	if err != nil {
		f.t.Fatal(err)
	}
	return fmt.Sprint(v)
}

// forget makes everything before now expire.
func (f *fixture) forget() {
	f.t.Helper()
	now, err := f.backend.CurrentRevision(ctx(f.t))
	if err != nil {
		f.t.Fatal(err)
	}
	if err := f.backend.Compact(ctx(f.t), now); err != nil {
		f.t.Fatal(err)
	}
	if f.Forget != nil {
		f.Forget()
	}
}

func (f *fixture) list(opts storage.ListOptions) storage.List {
	f.t.Helper()
	l, err := f.List(ctx(f.t), opts)
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

// names writes a list as its keys, with the version of each.
func names(objs []runtime.Object) []string {
	out := make([]string, 0, len(objs))
	for _, obj := range objs {
		cm := obj.(*corev1.ConfigMap)
		out = append(out, cm.Namespace+"/"+cm.Name+"@"+cm.ResourceVersion)
	}
	return out
}

// told writes an event as one line.
func told(e storage.Event) string {
	cm := e.Object.(*corev1.ConfigMap)
	if e.Type == watch.Bookmark {
		if cm.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
			return "END@" + cm.ResourceVersion
		}
		return "BOOKMARK@" + cm.ResourceVersion
	}
	return fmt.Sprintf("%s %s/%s %s@%s", e.Type, cm.Namespace, cm.Name, cm.Data["color"], cm.ResourceVersion)
}

func byLabel(color string) storage.Selection {
	return storage.Selection{Labels: labels.SelectorFromSet(labels.Set{"color": color})}
}

func byField(color string) storage.Selection {
	return storage.Selection{Fields: fields.OneTermEqualSelector("data.color", color)}
}

func byShard(color string) storage.Selection {
	return storage.Selection{Shard: colorShard{sharding.Everything(), color}}
}

// colorShard is a shard that, unlike those of Kubernetes, an object can leave.
type colorShard struct {
	sharding.Selector
	color string
}

func (s colorShard) Empty() bool { return false }

func (s colorShard) Matches(obj runtime.Object) (bool, error) {
	return obj.(*corev1.ConfigMap).Data["color"] == s.color, nil
}

// byHash is the shard of the hashes of two values of fields. Kubernetes permits
// only one field in a shard.
func byHash(t *testing.T, field, value, otherField, other string) storage.Selection {
	t.Helper()
	only := func(field, value string) sharding.ShardRangeRequirement {
		hash, err := strconv.ParseUint(sharding.HashField(value), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		return sharding.ShardRangeRequirement{Key: field, Start: fmt.Sprintf("0x%016x", hash), End: fmt.Sprintf("0x%016x", hash+1)}
	}
	return storage.Selection{Shard: sharding.NewSelector(only(field, value), only(otherField, other))}
}

// wantStatus checks an error that a client would see.
func wantStatus(t *testing.T, err error, code int32, reason metav1.StatusReason, message string) {
	t.Helper()
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		t.Fatalf("error %v is no API status, want %d %s", err, code, reason)
	}
	s := status.Status()
	if s.Code != code || s.Reason != reason {
		t.Errorf("status %d %q, want %d %q: %v", s.Code, s.Reason, code, reason, err)
	}
	if s.Message != message {
		t.Errorf("message:\n%s\nwant:\n%s", s.Message, message)
	}
}

// wantTooLarge checks the 504 for a version of the future.
func wantTooLarge(t *testing.T, err error, requested, current string) {
	t.Helper()
	wantStatus(t, err, 504, metav1.StatusReasonTimeout,
		fmt.Sprintf("Timeout: Too large resource version: %s, current: %s", requested, current))
	if !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		t.Error("the status lacks the cause by which clients know it")
	}
}
