package controllerruntime

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"heliograph.example/apiserver"
)

// inEachEncoding runs a test with clients that speak protobuf where the server
// has it, which is what the client does by itself, and that speak JSON.
func inEachEncoding(t *testing.T, test func(t *testing.T, s *apiserver.Server, c client.WithWatch)) {
	for _, encoding := range []string{"", runtime.ContentTypeJSON} {
		t.Run("encoding "+encoding, func(t *testing.T) {
			scheme := newScheme(t)
			s := start(t, scheme)
			config := s.Config()
			config.ContentType = encoding
			c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
			if err != nil {
				t.Fatal(err)
			}
			test(t, s, c)
		})
	}
}

// bare is an object of a kind without its Go type, and sparse without all but
// its metadata.
func bare(kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(seas.WithKind(kind))
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func sparse(namespace, name string) *metav1.PartialObjectMetadata {
	p := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	p.SetGroupVersionKind(fleetKind)
	return p
}

func TestTheClientCreatesReadsUpdatesAndDeletes(t *testing.T) {
	inEachEncoding(t, func(t *testing.T, _ *apiserver.Server, c client.WithWatch) {
		for name, obj := range map[string]client.Object{
			"typed built-in":        ship("a", "x"),
			"typed custom resource": fleet("a", "x", 1, "red"),
			"cluster-scoped":        &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "x"}},
			"unstructured":          bare("Fleet", "b", "x"),
		} {
			t.Run(name, func(t *testing.T) {
				ctx, key := t.Context(), client.ObjectKeyFromObject(obj)
				again := obj.DeepCopyObject().(client.Object)
				if err := c.Create(ctx, obj); err != nil || obj.GetUID() == "" || obj.GetResourceVersion() == "" {
					t.Fatalf("create: %+v, %v", obj, err)
				}
				if err := c.Create(ctx, again); !apierrors.IsAlreadyExists(err) {
					t.Errorf("create again: %v", err)
				}
				stale := obj.DeepCopyObject().(client.Object)
				obj.SetLabels(map[string]string{"a": "b"})
				if err := c.Update(ctx, obj); err != nil || obj.GetResourceVersion() == stale.GetResourceVersion() {
					t.Fatalf("update: %+v, %v", obj, err)
				}
				stale.SetLabels(map[string]string{"a": "c"})
				if err := c.Update(ctx, stale); !apierrors.IsConflict(err) {
					t.Errorf("a stale update: %v", err)
				}
				got := obj.DeepCopyObject().(client.Object)
				if err := c.Get(ctx, key, got); err != nil || got.GetLabels()["a"] != "b" || got.GetUID() != obj.GetUID() {
					t.Errorf("get: %+v, %v", got, err)
				}
				rv := stale.GetResourceVersion()
				if err := c.Delete(ctx, obj, client.Preconditions{ResourceVersion: &rv}); !apierrors.IsConflict(err) {
					t.Errorf("a stale delete: %v", err)
				}
				uid := obj.GetUID()
				if err := c.Delete(ctx, obj, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
					t.Errorf("delete: %v", err)
				}
				if err := c.Get(ctx, key, got); !apierrors.IsNotFound(err) {
					t.Errorf("get after the delete: %v", err)
				}
				if err := c.Delete(ctx, obj); !apierrors.IsNotFound(err) {
					t.Errorf("delete again: %v", err)
				}
			})
		}
	})
}

func TestOptionsOfWritesAreKept(t *testing.T) {
	inEachEncoding(t, func(t *testing.T, s *apiserver.Server, c client.WithWatch) {
		ctx := t.Context()
		if err := client.NewDryRunClient(c).Create(ctx, ship("a", "dry")); err != nil {
			t.Error(err)
		}
		if err := c.Get(ctx, client.ObjectKey{Namespace: "a", Name: "dry"}, &corev1.ConfigMap{}); !apierrors.IsNotFound(err) {
			t.Errorf("after a dry run: %v", err)
		}
		if err := client.NewNamespacedClient(c, "ns").Create(ctx, ship("", "here")); err != nil {
			t.Error(err)
		}
		if err := c.Get(ctx, client.ObjectKey{Namespace: "ns", Name: "here"}, &corev1.ConfigMap{}); err != nil {
			t.Error(err)
		}
		misspelt := bare("Fleet", "a", "odd")
		misspelt.Object["spec"] = map[string]any{"shps": int64(1)}
		strict := client.WithFieldValidation(client.WithFieldOwner(c, "me"), client.FieldValidation(metav1.FieldValidationStrict))
		if err := strict.Create(ctx, misspelt.DeepCopy()); !apierrors.IsBadRequest(err) {
			t.Errorf("an unknown field: %v", err)
		}
		if err := c.Create(ctx, misspelt); err != nil {
			t.Errorf("an unknown field, not checked: %v", err)
		}
		generated := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", GenerateName: "g-"}}
		if err := c.Create(ctx, generated); err != nil || len(generated.Name) <= len("g-") {
			t.Errorf("a generated name: %+v, %v", generated, err)
		}
		last := s.Requests()[len(s.Requests())-1]
		if last.Verb != "create" || last.Code != 201 {
			t.Errorf("the last request: %+v", last)
		}
	})
}

func TestPatchesOfEachKind(t *testing.T) {
	inEachEncoding(t, func(t *testing.T, _ *apiserver.Server, c client.WithWatch) {
		ctx := t.Context()
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "d"}}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "one", Image: "one:1"}, {Name: "two", Image: "two:1"}}
		if err := c.Create(ctx, d); err != nil {
			t.Fatal(err)
		}
		images := func() (names []string) {
			for _, c := range d.Spec.Template.Spec.Containers {
				names = append(names, c.Image)
			}
			return names
		}
		stale := d.DeepCopy()
		merge := func(set func()) error {
			before := d.DeepCopy()
			set()
			return c.Patch(ctx, d, client.MergeFrom(before))
		}
		// A strategic patch knows that the name is the key of a container.
		d.Spec.Template.Spec.Containers[1].Image = "two:2"
		if err := c.Patch(ctx, d, client.StrategicMergeFrom(stale)); err != nil {
			t.Fatal(err)
		}
		if got := images(); !slices.Equal(got, []string{"one:1", "two:2"}) || d.Generation != 2 {
			t.Errorf("strategic: %v, generation %d", got, d.Generation)
		}
		raw := client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"one","$patch":"delete"}]}}}}`))
		if err := c.Patch(ctx, d, raw); err != nil || !slices.Equal(images(), []string{"two:2"}) {
			t.Errorf("a strategic delete: %v, %v", images(), err)
		}
		// A merge patch replaces lists, and null takes a key away.
		if err := merge(func() { d.Labels = map[string]string{"a": "1", "b": "2"} }); err != nil {
			t.Fatal(err)
		}
		if err := merge(func() { delete(d.Labels, "a") }); err != nil || d.Labels["b"] != "2" || len(d.Labels) != 1 {
			t.Errorf("merge: %v, %v", d.Labels, err)
		}
		if d.Generation != 3 {
			t.Errorf("labels count as a generation: %d", d.Generation)
		}
		test := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"test","path":"/metadata/labels/b","value":"3"},{"op":"remove","path":"/metadata/labels/b"}]`))
		if err := c.Patch(ctx, d, test); !apierrors.IsInvalid(err) {
			t.Errorf("a JSON patch whose test fails: %v", err)
		}
		add := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"add","path":"/metadata/labels/c","value":"3"}]`))
		if err := c.Patch(ctx, d, add); err != nil || d.Labels["c"] != "3" {
			t.Errorf("JSON: %v, %v", d.Labels, err)
		}
		for name, lock := range map[string]client.Patch{
			"merge":     client.MergeFromWithOptions(stale, client.MergeFromWithOptimisticLock{}),
			"strategic": client.StrategicMergeFrom(stale, client.MergeFromWithOptimisticLock{}),
		} {
			late := stale.DeepCopy()
			late.Labels = map[string]string{"late": "yes"}
			if err := c.Patch(ctx, late, lock); !apierrors.IsConflict(err) {
				t.Errorf("%s with a stale lock: %v", name, err)
			}
		}
		d.Status.ReadyReplicas = 7
		d.Spec.Paused = true
		if err := c.Status().Patch(ctx, d, client.RawPatch(types.MergePatchType, []byte(`{"status":{"readyReplicas":7},"spec":{"paused":true}}`))); err != nil {
			t.Fatal(err)
		}
		if d.Status.ReadyReplicas != 7 || d.Spec.Paused || d.Generation != 3 {
			t.Errorf("after a patch of the status: %+v", d)
		}
		if err := c.Patch(ctx, sparse("a", "nobody"), client.RawPatch(types.MergePatchType, []byte(`{}`))); !apierrors.IsNotFound(err) {
			t.Errorf("a patch of nothing: %v", err)
		}
	})
}

func TestTheStatusIsASubresource(t *testing.T) {
	inEachEncoding(t, func(t *testing.T, _ *apiserver.Server, c client.WithWatch) {
		ctx := t.Context()
		f := fleet("a", "f", 2, "red")
		f.Status.Ready = 9
		if err := c.Create(ctx, f); err != nil || f.Status.Ready != 0 || f.Generation != 1 {
			t.Fatalf("created: %+v, %v", f, err)
		}
		f.Status.Ready, f.Spec.Ships = 1, 5
		if err := c.Status().Update(ctx, f); err != nil || f.Status.Ready != 1 || f.Spec.Ships != 2 || f.Generation != 1 {
			t.Errorf("an update of the status: %+v, %v", f, err)
		}
		f.Status.Ready, f.Spec.Ships = 3, 5
		if err := c.Update(ctx, f); err != nil || f.Status.Ready != 1 || f.Spec.Ships != 5 || f.Generation != 2 {
			t.Errorf("an update: %+v, %v", f, err)
		}
		before := f.DeepCopyObject().(client.Object)
		f.Status.Ready = 4
		if err := c.SubResource("status").Patch(ctx, f, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil || f.Status.Ready != 4 {
			t.Errorf("a patch of the status: %+v, %v", f, err)
		}
		if err := c.Status().Update(ctx, before); !apierrors.IsConflict(err) {
			t.Errorf("a stale update of the status: %v", err)
		}
	})
}

func TestWhatTheServerHasNotIsRefused(t *testing.T) {
	inEachEncoding(t, func(t *testing.T, _ *apiserver.Server, c client.WithWatch) {
		ctx := t.Context()
		f := bare("Fleet", "a", "f")
		apply := client.ApplyConfigurationFromUnstructured(f.DeepCopy())
		if err := c.Apply(ctx, apply, client.FieldOwner("me")); !apierrors.IsUnsupportedMediaType(err) {
			t.Errorf("apply: %v", err)
		}
		if err := c.Create(ctx, f); err != nil {
			t.Fatal(err)
		}
		if err := c.SubResource("scale").Get(ctx, f, bare("Scale", "a", "f")); !apierrors.IsNotFound(err) {
			t.Errorf("a subresource: %v", err)
		}
	})
}

func TestDeleteAllOfDeletesWhatIsSelected(t *testing.T) {
	inEachEncoding(t, func(t *testing.T, _ *apiserver.Server, c client.WithWatch) {
		ctx := t.Context()
		for _, ns := range []string{"a", "b"} {
			for i, color := range []string{"red", "blue", "blue", "green"} {
				f := fleet(ns, fmt.Sprint("f", i), 1, color)
				f.Labels = map[string]string{"odd": fmt.Sprint(i%2 == 1)}
				if i == 2 {
					f.Finalizers = []string{finalizer}
				}
				if err := c.Create(ctx, f); err != nil {
					t.Fatal(err)
				}
			}
		}
		left := func() (names []string) {
			var list FleetList
			if err := c.List(ctx, &list); err != nil {
				t.Fatal(err)
			}
			for _, f := range list.Items {
				name := f.Namespace + "/" + f.Name
				if f.DeletionTimestamp != nil {
					name += " going"
				}
				names = append(names, name)
			}
			return names
		}
		for _, step := range []struct {
			opts []client.DeleteAllOfOption
			want []string
		}{
			{[]client.DeleteAllOfOption{client.InNamespace("b"), client.MatchingLabels{"odd": "true"}, client.MatchingFields{"spec.color": "green"}},
				[]string{"a/f0", "a/f1", "a/f2", "a/f3", "b/f0", "b/f1", "b/f2"}},
			{[]client.DeleteAllOfOption{client.InNamespace("a"), client.MatchingFields{"spec.color": "blue"}, client.DryRunAll},
				[]string{"a/f0", "a/f1", "a/f2", "a/f3", "b/f0", "b/f1", "b/f2"}},
			{[]client.DeleteAllOfOption{client.InNamespace("a"), client.MatchingFields{"spec.color": "blue"}},
				[]string{"a/f0", "a/f2 going", "a/f3", "b/f0", "b/f1", "b/f2"}},
			{[]client.DeleteAllOfOption{client.InNamespace("a")},
				[]string{"a/f2 going", "b/f0", "b/f1", "b/f2"}},
		} {
			if err := c.DeleteAllOf(ctx, &Fleet{}, step.opts...); err != nil {
				t.Fatal(err)
			}
			if got := left(); !slices.Equal(got, step.want) {
				t.Errorf("%v\n got %v\nwant %v", step.opts, got, step.want)
			}
		}
	})
}

func TestAServerWithoutTheGoTypeServesTypedClients(t *testing.T) {
	s := start(t, nil)
	c, err := client.New(s.Config(), client.Options{Scheme: newScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	f := fleet("a", "f", 2, "red")
	if err := c.Create(ctx, f); err != nil {
		t.Fatal(err)
	}
	f.Status.Ready = 2
	if err := c.Status().Update(ctx, f); err != nil || f.Status.Ready != 2 {
		t.Errorf("%+v, %v", f, err)
	}
	var list FleetList
	if err := c.List(ctx, &list, client.MatchingFields{"spec.color": "red"}); err != nil || len(list.Items) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	got := list.Items[0]
	got.TypeMeta = f.TypeMeta
	if !equality.Semantic.DeepEqual(&got, f) {
		t.Errorf("got %+v, want %+v", got, f)
	}
}
