package reflector

import (
	"context"
	"fmt"
	"iter"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// podPointers is a list that holds its items by reference, as some written by hand
// do.
type podPointers struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []*corev1.Pod
}

func (l *podPointers) DeepCopyObject() runtime.Object { c := *l; return &c }

// ready is a source over a ListerWatcher that answers with list.
func ready[T any](t testing.TB, list runtime.Object) Source[T] {
	t.Helper()
	s, err := FromListerWatcher[T](&cache.ListWatch{ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
		return list, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// listOf has pods by value.
func listOf(pods ...*corev1.Pod) *corev1.PodList {
	list := &corev1.PodList{}
	for _, p := range pods {
		list.Items = append(list.Items, *p)
	}
	return list
}

func unstructuredOf(t testing.TB, pods ...*corev1.Pod) *unstructured.UnstructuredList {
	t.Helper()
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "v1", "kind": "PodList"}}
	for _, p := range pods {
		o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
		if err != nil {
			t.Fatal(err)
		}
		list.Items = append(list.Items, unstructured.Unstructured{Object: o})
	}
	return list
}

func TestWhatIsHeldIsLeftInTheListOfAClient(t *testing.T) {
	pods := []*corev1.Pod{pod("same", "5"), pod("newer", "6"), pod("another", "5"), pod("unknown", "5"), pod("strange", ""), pod("zero", "0"), pod("", "5")}
	for i, p := range pods {
		p.UID = types.UID(fmt.Sprint("u", i))
	}
	held := func(key types.NamespacedName) (types.UID, string, bool) {
		h, ok := map[string][2]string{"same": {"u0", "5"}, "newer": {"u1", "5"}, "another": {"other", "5"}, "strange": {"u4", ""}, "zero": {"u5", "0"}, "": {"u6", "5"}}[key.Name]
		return types.UID(h[0]), h[1], ok && key.Namespace == "ns"
	}
	raw := &corev1.List{}
	for _, p := range pods {
		raw.Items = append(raw.Items, runtime.RawExtension{Object: p})
	}
	taken := []string{"newer taken", "another taken", "unknown taken", "strange taken", "zero taken", " refused"}
	some := append([]string{"same unchanged"}, taken...)
	all := append([]string{"same taken"}, taken...)
	t.Run("typed", func(t *testing.T) { takes(t, ready[*corev1.Pod](t, listOf(pods...)), held, some) })
	t.Run("any type", func(t *testing.T) { takes(t, ready[runtime.Object](t, listOf(pods...)), held, some) })
	t.Run("unstructured", func(t *testing.T) {
		takes(t, ready[*unstructured.Unstructured](t, unstructuredOf(t, pods...)), held, some)
	})
	// Nothing is copied out of these, so nothing is saved by not doing it.
	t.Run("by reference", func(t *testing.T) { takes(t, ready[*corev1.Pod](t, &podPointers{Items: pods}), held, all) })
	t.Run("of any kind", func(t *testing.T) { takes(t, ready[*corev1.Pod](t, raw), held, all) })
	t.Run("of another type", func(t *testing.T) {
		var refused []string
		for _, p := range pods {
			refused = append(refused, p.Name+" refused")
		}
		takes(t, ready[*corev1.Service](t, listOf(pods...)), held, refused)
	})
}

// takes lists source for a reader who has held, and compares what it tells.
func takes[T any](t *testing.T, source Source[T], held func(types.NamespacedName) (types.UID, string, bool), want []string) {
	t.Helper()
	var got []string
	if _, err := source.(Skipper[T]).Skipping(held).List(t.Context(), metav1.ListOptions{}, func(it Item[T]) error {
		how := "taken"
		switch {
		case it.Unchanged && isNil(it.Object) && it.Err == nil:
			how = "unchanged"
		case it.Unchanged || isNil(it.Object) != (it.Err != nil):
			t.Errorf("%+v", it)
		case it.Err != nil:
			how = "refused"
		}
		got = append(got, it.Key.Name+" "+how)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	wantLines(t, "items", got, want...)
}

func TestAnItemThatIsTakenDoesNotHoldTheListOfAClient(t *testing.T) {
	list := listOf(pod("a", "5"), pod("b", "6"))
	source := ready[*corev1.Pod](t, list).(Skipper[*corev1.Pod]).Skipping(func(types.NamespacedName) (types.UID, string, bool) { return "", "5", true })
	var got []*corev1.Pod
	if _, err := source.List(t.Context(), metav1.ListOptions{}, func(it Item[*corev1.Pod]) error {
		if !it.Unchanged {
			got = append(got, it.Object)
		}
		return nil
	}); err != nil || len(got) != 1 || got[0].Name != "b" || got[0] == &list.Items[1] {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestListingAgainWithAClientAllocatesForWhatHasChanged goes the whole way of a page
// into a difference.
func TestListingAgainWithAClientAllocatesForWhatHasChanged(t *testing.T) {
	const n, changed = 1000, 10
	before, after := view{}, &corev1.PodList{}
	for i := range n {
		p := pod(fmt.Sprint("pod-", i), "5")
		p.UID = "u"
		before[key(p.Name)] = held{p.UID, "5"}
		if i < changed {
			p.ResourceVersion = "6"
		}
		after.Items = append(after.Items, *p)
	}
	r, err := New(ready[*corev1.Pod](t, after), names[*corev1.Pod]{}, Options[*corev1.Pod]{Name: "pods"})
	if err != nil {
		t.Fatal(err)
	}
	r.beginReport(false)
	d := newDiff[*corev1.Pod](before, true)
	if got := testing.AllocsPerRun(5, func() {
		d = newDiff[*corev1.Pod](before, true)
		if _, err := r.pages(t.Context(), d); err != nil || d.kept.len() != changed {
			t.Fatalf("%d kept, %v", d.kept.len(), err)
		}
	}); got > n/5 {
		t.Errorf("%v allocations for %d changes among %d objects", got, changed, n)
	}
}

// countingView counts how often its keys are gone through.
type countingView struct {
	view
	sweeps int
}

func (v *countingView) Keys() iter.Seq[types.NamespacedName] { v.sweeps++; return v.view.Keys() }

func TestNothingIsLookedForIfAllThatIsHeldWasMet(t *testing.T) {
	for name, test := range map[string]struct {
		items []Item[object]
		looks int
		finds int // changes
	}{
		"nothing differs":           {[]Item[object]{obj("a", "u1", "5"), obj("b", "u2", "5")}, 0, 0},
		"one has changed":           {[]Item[object]{obj("a", "u1", "6"), obj("b", "u2", "5")}, 0, 1},
		"one is new":                {[]Item[object]{obj("a", "u1", "5"), obj("b", "u2", "5"), obj("c", "u3", "5")}, 0, 1},
		"one is gone":               {[]Item[object]{obj("a", "u1", "5")}, 1, 1},
		"one has taken the place":   {[]Item[object]{obj("a", "u1", "5"), obj("c", "u3", "5")}, 1, 2},
		"one comes twice, one gone": {[]Item[object]{obj("a", "u1", "5"), obj("a", "u1", "6")}, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			known := &countingView{view: view{key("a"): {"u1", "5"}, key("b"): {"u2", "5"}}}
			d := newDiff[object](known, true)
			for _, it := range test.items {
				if d.wants(&it) {
					d.keep(&it, it.Version)
				}
			}
			if changes := d.finish("9"); len(changes) != test.finds || known.sweeps != test.looks {
				t.Errorf("%d changes, %d sweeps: %v", len(changes), known.sweeps, changes)
			}
		})
	}
	known := &countingView{view: view{key("a"): {"u1", "5"}}}
	d := newDiff[object](known, true)
	d.met(key("broken")) // one that cannot be used, and is not held: it is nobody's place
	if changes := d.finish("9"); len(changes) != 1 || known.sweeps != 1 {
		t.Errorf("%d changes, %d sweeps: %v", len(changes), known.sweeps, changes)
	}
}
