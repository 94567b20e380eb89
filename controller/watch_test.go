package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/informer"
	"heliograph.example/workqueue"
)

var replicaSet = schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}

// seen collects the names of reconciled keys.
type seen struct {
	mu    sync.Mutex
	names []string
}

func (s *seen) reconcile(_ context.Context, key types.NamespacedName) (Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, key.Name)
	return Result{}, nil
}

// take returns the names seen since the last call, sorted.
func (s *seen) take() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	names := s.names
	s.names = nil
	slices.Sort(names)
	return names
}

func (s *seen) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := s.take(); !slices.Equal(got, want) {
		t.Errorf("reconciled %q, want %q", got, want)
	}
}

// start runs an informer until the test ends.
func start(t *testing.T, inf *informer.Informer[*corev1.Pod]) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func mustWatch[T any](t *testing.T, c *Controller, inf Informer[T], keys Map[T]) {
	t.Helper()
	if err := Watch(c, inf, keys); err != nil {
		t.Fatal(err)
	}
}

func TestAChangeAddsEachOfItsKeysOnce(t *testing.T) {
	k := func(names ...string) (keys []types.NamespacedName) {
		for _, n := range names {
			keys = append(keys, key(n))
		}
		return keys
	}
	for _, c := range []struct{ before, after, want []types.NamespacedName }{
		{nil, nil, nil},
		{nil, k("a"), k("a")},
		{k("a"), nil, k("a")},
		{k("a"), k("a"), k("a")},
		{k("a"), k("b"), k("a", "b")},
		{k("a", "b"), k("b", "c"), k("a", "b", "c")},
		{nil, k("a", "b", "a"), k("a", "b")},
		{k("a", "a"), nil, k("a")},
	} {
		before := slices.Clone(c.before)
		if got := union(c.before, c.after); !slices.Equal(got, c.want) {
			t.Errorf("of %v and %v: %v, want %v", c.before, c.after, got, c.want)
		}
		if !slices.Equal(c.before, before) {
			t.Errorf("the user's slice was changed from %v to %v", before, c.before)
		}
	}
}

func TestWatchReconcilesWhatChanges(t *testing.T) {
	bubble(t, "by its own key", func(t *testing.T) {
		srv := newServer(newPod("a", ""), newPod("b", ""))
		pods := newInformer(t, srv)
		var s seen
		c := newController(t, s.reconcile, Options{})
		if err := Watch(c, pods, Self); err != nil { // as users write it: types are inferred
			t.Fatal(err)
		}
		start(t, pods)
		stop := run(t, c)
		s.expect(t, "a", "b")
		srv.put(newPod("a", "x"))
		s.expect(t, "a")
		srv.remove(key("b"))
		srv.put(newPod("c", ""))
		s.expect(t, "b", "c")
		if err := stop(); err != nil {
			t.Error(err)
		}
		srv.put(newPod("d", ""))
		s.expect(t)
	})
	bubble(t, "by its owner, the old and the new one", func(t *testing.T) {
		srv := newServer(newPod("a", "x"), newPod("b", "x"), newPod("c", ""))
		pods := newInformer(t, srv)
		var s seen
		c := newController(t, s.reconcile, Options{})
		mustWatch(t, c, pods, Owner[*corev1.Pod](replicaSet))
		start(t, pods)
		stop := run(t, c)
		s.expect(t, "x")
		srv.put(newPod("a", "y"))
		s.expect(t, "x", "y")
		srv.put(newPod("c", "x"))
		s.expect(t, "x")
		srv.remove(key("b"))
		s.expect(t, "x")
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "in every run from the start", func(t *testing.T) {
		pods := newInformer(t, newServer(newPod("a", ""), newPod("b", "")))
		var s seen
		c := newController(t, s.reconcile, Options{})
		mustWatch(t, c, pods, Self)
		start(t, pods)
		for range 3 {
			stop := run(t, c)
			s.expect(t, "a", "b")
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
	})
	bubble(t, "also if it is watched later, and with several maps", func(t *testing.T) {
		pods := newInformer(t, newServer(newPod("a", "x")))
		var s seen
		c := newController(t, s.reconcile, Options{})
		start(t, pods)
		stop := run(t, c)
		mustWatch(t, c, pods, Self)
		mustWatch(t, c, pods, Owner[*corev1.Pod](replicaSet))
		s.expect(t, "a", "x")
		if err := stop(); err != nil {
			t.Error(err)
		}
		stop = run(t, c)
		s.expect(t, "a", "x")
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAMapThatPanicsHarmsOnlyItsObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(newPod("a", ""), newPod("bad", ""))
		pods := newInformer(t, srv)
		var s seen
		var r recorder
		c := newController(t, s.reconcile, Options{OnError: r.onError})
		mustWatch(t, c, pods, func(pod *corev1.Pod) []types.NamespacedName {
			if pod.Name == "bad" && len(pod.OwnerReferences) == 0 {
				panic("bad pod")
			}
			return Self(pod)
		})
		start(t, pods)
		stop := run(t, c)
		s.expect(t, "a")
		told := r.all()
		if len(told) != 1 || told[0].key != key("bad") || told[0].err.Error() != "panic on default/bad: bad pod" {
			t.Errorf("told: %v", told)
		}
		srv.put(newPod("bad", "x"))
		s.expect(t, "bad")
		status := c.Status()
		if status.MapPanics != 2 || status.Panics != 0 || status.Errors != 0 || status.LastErrorKey != key("bad") {
			t.Errorf("%+v", status)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAKeyWhoseTenantFunctionPanicsIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := newInformer(t, newServer(newPod("a", ""), newPod("bad", "")))
		var s seen
		var r recorder
		c := newController(t, s.reconcile, Options{OnError: r.onError, Tenant: func(key types.NamespacedName) string {
			if key.Name == "bad" {
				panic("nobody's")
			}
			return key.Namespace
		}})
		mustWatch(t, c, pods, Self)
		start(t, pods)
		stop := run(t, c)
		s.expect(t, "a")
		told := r.all()
		if len(told) != 1 || told[0].key != key("bad") || !errors.Is(told[0].err, workqueue.ErrBadKey) {
			t.Errorf("told: %v", told)
		}
		if status := c.Status(); status.MapPanics != 1 || status.LastErrorKey != key("bad") {
			t.Errorf("%+v", status)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestWorkersWaitForTheInformers(t *testing.T) {
	bubble(t, "until they have told everything", func(t *testing.T) {
		pods := newInformer(t, newServer(newPod("a", "")))
		var s seen
		c := newController(t, s.reconcile, Options{})
		mustWatch(t, c, pods, Self)
		add(t, c, "by hand")
		stop := run(t, c)
		s.expect(t)
		if status := c.Status(); status.Phase != Syncing || !slices.Equal(status.WaitingFor, []string{"pods"}) {
			t.Errorf("%+v", status)
		}
		start(t, pods)
		s.expect(t, "a", "by hand")
		if status := c.Status(); status.Phase != Running || len(status.WaitingFor) != 0 {
			t.Errorf("%+v", status)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "and say what was missing when the context ends", func(t *testing.T) {
		pods := newInformer(t, newServer())
		c := newController(t, succeed, Options{})
		mustWatch(t, c, pods, Self)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := c.Run(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "controller test: pods") {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestWatchRefusesNil(t *testing.T) {
	c := newController(t, succeed, Options{})
	pods := newInformer(t, newServer())
	var missing *informer.Informer[*corev1.Pod]
	for name, err := range map[string]error{
		"controller":       Watch(nil, pods, Self),
		"informer":         Watch[*corev1.Pod](c, nil, Self),
		"informer pointer": Watch(c, missing, Self),
		"map":              Watch(c, pods, nil),
	} {
		if err == nil {
			t.Errorf("nil %s: no error", name)
		}
	}
}

func TestHandlerMapsTheStatesOfAChange(t *testing.T) {
	old, new := newPod("old", ""), newPod("new", "")
	for name, tt := range map[string]struct {
		change informer.Change[*corev1.Pod]
		want   []string
	}{
		"added":   {informer.Change[*corev1.Pod]{Type: informer.Added, New: new}, []string{"new"}},
		"updated": {informer.Change[*corev1.Pod]{Type: informer.Updated, Old: old, New: new}, []string{"old", "new"}},
		"resync":  {informer.Change[*corev1.Pod]{Type: informer.Updated, Old: new, New: new, Resync: true}, []string{"new"}},
		"deleted": {informer.Change[*corev1.Pod]{Type: informer.Deleted, Old: old, New: new}, []string{"old", "new"}},
		"gone":    {informer.Change[*corev1.Pod]{Type: informer.Deleted, Old: old, FinalStateUnknown: true}, []string{"old"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newController(t, succeed, Options{})
			var got []string
			s := &selector[*corev1.Pod]{Controller: c, queue: c.queue, keys: func(pod *corev1.Pod) []types.NamespacedName {
				got = append(got, pod.Name)
				return Self(pod)
			}}
			s.Handle(t.Context(), tt.change)
			if !slices.Equal(got, tt.want) || c.queue.Len() != len(tt.want) {
				t.Errorf("mapped %q, queued %d, want %q", got, c.queue.Len(), tt.want)
			}
		})
	}
}

func TestNamespacesCanShareTheWorkers(t *testing.T) {
	bubble(t, "and a full one does not keep another waiting", func(t *testing.T) {
		var order []string
		c := newController(t, func(_ context.Context, key types.NamespacedName) (Result, error) {
			order = append(order, key.Namespace)
			return Result{}, nil
		}, Options{Workers: 1, Tenant: ByNamespace})
		for n := range 10 {
			if err := c.Add(types.NamespacedName{Namespace: "full", Name: fmt.Sprint(n)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Add(types.NamespacedName{Namespace: "other", Name: "one"}); err != nil {
			t.Fatal(err)
		}
		stop := run(t, c)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if at := slices.Index(order, "other"); at < 0 || at > 1 {
			t.Errorf("the order of namespaces was %v", order)
		}
	})
}
