package controller

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/indexer"
	"heliograph.example/informer"
	"heliograph.example/workqueue"
)

// change is what a test makes of two states of a pod.
type change = informer.Change[*corev1.Pod]

func TestPredicates(t *testing.T) {
	pod := func(edit func(*corev1.Pod)) *corev1.Pod {
		p := newPod("a", "")
		p.Generation = 1
		edit(p)
		return p
	}
	old := pod(func(*corev1.Pod) {})
	update := func(edit func(*corev1.Pod)) change {
		return change{Type: informer.Updated, Old: old, New: pod(edit)}
	}
	changes := map[string]change{
		"nothing":    update(func(*corev1.Pod) {}),
		"generation": update(func(p *corev1.Pod) { p.Generation = 2 }),
		"label":      update(func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }),
		"annotation": update(func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }),
		"ip":         update(func(p *corev1.Pod) { p.Status.PodIP = "::1" }),
		"empty":      update(func(p *corev1.Pod) { p.Labels, p.Annotations = map[string]string{}, map[string]string{} }),
		"no generation": {Type: informer.Updated,
			Old: pod(func(p *corev1.Pod) { p.Generation = 0 }), New: pod(func(p *corev1.Pod) { p.Generation = 0 })},
		"uid":    update(func(p *corev1.Pod) { p.UID = "other" }),
		"resync": {Type: informer.Updated, Old: old, New: old, Resync: true},
		"add":    {Type: informer.Added, New: old},
		"delete": {Type: informer.Deleted, Old: old, New: old},
		"gone":   {Type: informer.Deleted, Old: old, FinalStateUnknown: true},
	}
	always := []string{"uid", "resync", "add", "delete", "gone"}
	ip := FieldChanged(func(p *corev1.Pod) string { return p.Status.PodIP })
	for name, tt := range map[string]struct {
		opts WatchOptions[*corev1.Pod]
		want []string // beside always
	}{
		"generation":  {WatchOptions[*corev1.Pod]{Where: GenerationChanged[*corev1.Pod]}, []string{"generation", "no generation"}},
		"labels":      {WatchOptions[*corev1.Pod]{Where: LabelsChanged[*corev1.Pod]}, []string{"label"}},
		"annotations": {WatchOptions[*corev1.Pod]{Where: AnnotationsChanged[*corev1.Pod]}, []string{"annotation"}},
		"field":       {WatchOptions[*corev1.Pod]{Where: ip}, []string{"ip"}},
		"or": {WatchOptions[*corev1.Pod]{Where: Or(ip, LabelsChanged)},
			[]string{"ip", "label"}},
		"and": {WatchOptions[*corev1.Pod]{Where: And(ip, LabelsChanged)}, nil},
		"not": {WatchOptions[*corev1.Pod]{Where: Not(ip)},
			[]string{"nothing", "generation", "label", "annotation", "empty", "no generation"}},
		"panic": {WatchOptions[*corev1.Pod]{Where: func(c change) bool { panic("predicate") }},
			[]string{"nothing", "generation", "label", "annotation", "empty", "no generation", "ip"}},
	} {
		t.Run(name, func(t *testing.T) {
			for of, c := range changes {
				ctrl := newController(t, succeed, Options{OnError: func(context.Context, types.NamespacedName, error) {}})
				s := &selector[*corev1.Pod]{Controller: ctrl, queue: ctrl.queue, keys: Self[*corev1.Pod], opts: tt.opts}
				s.Handle(t.Context(), c)
				want := slices.Contains(always, of) || slices.Contains(tt.want, of)
				if got := ctrl.queue.Len() == 1; got != want {
					t.Errorf("%s: passes: %v, want %v", of, got, want)
				}
				if panics := ctrl.Status().MapPanics; (panics == 1) != (name == "panic" && !slices.Contains(always, of)) {
					t.Errorf("%s: %d panics", of, panics)
				}
			}
		})
	}
	t.Run("strict: every change is asked for", func(t *testing.T) {
		for of, c := range changes {
			ctrl := newController(t, succeed, Options{})
			never := func(change) bool { return false }
			s := &selector[*corev1.Pod]{Controller: ctrl, queue: ctrl.queue, keys: Self[*corev1.Pod],
				opts: WatchOptions[*corev1.Pod]{Where: never, Strict: true}}
			s.Handle(t.Context(), c)
			if ctrl.queue.Len() != 0 {
				t.Errorf("%s passes", of)
			}
		}
	})
}

func TestWatchOptionsThatMeanNothingAreErrors(t *testing.T) {
	pods := newInformer(t, newServer())
	for name, opts := range map[string]WatchOptions[*corev1.Pod]{
		"strict about nothing": {Strict: true},
		"short resync":         {Resync: time.Millisecond},
		"negative resync":      {Resync: -time.Second},
	} {
		if err := WatchWith(newController(t, succeed, Options{}), pods, Self, opts); !errors.Is(err, errInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatIsOldAndWhatIsRepeatedGoesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(newPod("a", ""), newPod("b", ""))
		pods := newInformer(t, srv)
		var s seen
		turn := make(chan struct{})
		c := newController(t, func(ctx context.Context, key types.NamespacedName) (Result, error) {
			defer func() { <-turn }()
			return s.reconcile(ctx, key)
		}, Options{Workers: 1})
		if err := WatchWith(c, pods, Self, WatchOptions[*corev1.Pod]{Resync: time.Hour}); err != nil {
			t.Fatal(err)
		}
		start(t, pods)
		stop := run(t, c)
		srv.put(newPod("new", ""))
		synctest.Wait()
		if r, ok := c.Why(key("new")); !ok || r.Place != workqueue.Ready || r.Priority != 0 {
			t.Errorf("a new object: %v, %v", r, ok)
		}
		s.take()
		turn <- struct{}{}
		s.expect(t, "new")
		turn <- struct{}{}
		turn <- struct{}{}
		time.Sleep(time.Hour + time.Second)
		synctest.Wait()
		for key, r := range c.queue.All() {
			if r.Priority != workqueue.Low {
				t.Errorf("a resync: %v %v", key, r)
			}
		}
		if n := c.queue.Stats(); n.Ready+n.Running != 3 {
			t.Errorf("%d ready and %d running after a resync, want 3", n.Ready, n.Running)
		}
		close(turn)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAResyncLeavesAKeyItsBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(newPod("a", ""))
		pods := newInformer(t, srv)
		var r recorder
		c := newController(t, func(context.Context, types.NamespacedName) (Result, error) {
			return Result{}, errFailed
		}, Options{OnError: r.onError, Backoff: workqueue.Backoff{Base: 24 * time.Hour, Max: 24 * time.Hour}})
		if err := WatchWith(c, pods, Self, WatchOptions[*corev1.Pod]{Resync: time.Minute}); err != nil {
			t.Fatal(err)
		}
		start(t, pods)
		stop := run(t, c)
		time.Sleep(10 * time.Hour)
		synctest.Wait()
		if n := len(r.all()); n != 1 {
			t.Errorf("%d reconciles in ten hours of resyncs, want 1", n)
		}
		srv.put(newPod("a", "x")) // a change does not wait
		synctest.Wait()
		if n := len(r.all()); n != 2 {
			t.Errorf("%d reconciles after a change, want 2", n)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestByIndexMapsToThoseThatDependOnAnObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := newInformer(t, newServer(newPod("a", "x"), newPod("b", "x"), newPod("c", "y"), newPod("nobody's", "")))
		err := pods.AddIndexes(indexer.Indexes[*corev1.Pod]{"owner": {Values: func(pod *corev1.Pod, values []string) ([]string, error) {
			owner := ""
			if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
				owner = ref.Name
			}
			return append(values, owner), nil
		}}})
		if err != nil {
			t.Fatal(err)
		}
		start(t, pods)
		synctest.Wait()
		name := func(cm *corev1.ConfigMap) string { return cm.Name }
		dependents, err := ByIndex(pods.Store(), "owner", name)
		if err != nil {
			t.Fatal(err)
		}
		cm := &corev1.ConfigMap{}
		for name, want := range map[string]int{"x": 2, "y": 1, "z": 0, "": 0} {
			cm.Name = name
			if got := dependents(cm); len(got) != want {
				t.Errorf("%q: %v, want %d keys", name, got, want)
			}
		}
		if _, err := ByIndex(pods.Store(), "colour", name); err == nil {
			t.Error("an index that is not there: no error")
		}
		if _, err := ByIndex[*corev1.ConfigMap](pods.Store(), "owner", nil); !errors.Is(err, errInvalid) {
			t.Errorf("no function: %v", err)
		}
		if _, err := ByIndex[*corev1.ConfigMap, *corev1.Pod](nil, "owner", name); !errors.Is(err, errInvalid) {
			t.Errorf("no store: %v", err)
		}
	})
}

func TestTenantsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []string
		c := newController(t, func(_ context.Context, key types.NamespacedName) (Result, error) {
			order = append(order, key.Namespace)
			return Result{}, nil
		}, Options{Workers: 1, Tenant: workqueue.Namespace, Weights: map[string]int{"big": 2}})
		for _, namespace := range []string{"big", "small"} {
			for _, name := range []string{"1", "2", "3", "4"} {
				if err := c.Add(types.NamespacedName{Namespace: namespace, Name: name}); err != nil {
					t.Fatal(err)
				}
			}
		}
		stop := run(t, c)
		if want := []string{"big", "big", "small", "big", "big", "small", "small", "small"}; !slices.Equal(order, want) {
			t.Errorf("order: %q, want %q", order, want)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	if _, err := New("test", succeed, Options{Workers: 1, Weights: map[string]int{"a": 1}}); err == nil {
		t.Error("weights without tenants: no error")
	}
}
