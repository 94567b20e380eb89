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

// fakeRegistration is a handler's place at an informer that does what the test
// wants.
type fakeRegistration struct {
	synced  error
	removed bool
	done    chan struct{}
}

func (r *fakeRegistration) Wait(context.Context) error { return r.synced }
func (r *fakeRegistration) Stopped(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
func (r *fakeRegistration) Remove()               { r.removed = true; close(r.done) }
func (r *fakeRegistration) Done() <-chan struct{} { return r.done }

func TestARunThatFailsLeavesNothingBehind(t *testing.T) {
	for name, fail := range map[string]struct{ sync, register error }{
		"when an informer refuses": {register: errFailed},
		"when an informer stops":   {sync: errFailed},
	} {
		bubble(t, name, func(t *testing.T) {
			c := newController(t, succeed, Options{})
			good := &fakeRegistration{done: make(chan struct{})}
			bad := &fakeRegistration{done: make(chan struct{}), synced: fail.sync}
			for i, r := range []*fakeRegistration{good, bad} {
				err := c.watch(&watch{name: fmt.Sprint(i), start: func(*shift) (registration, error) {
					if r == bad && fail.register != nil {
						return nil, fail.register
					}
					return r, nil
				}})
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Run(t.Context()); !errors.Is(err, errFailed) {
				t.Errorf("Run: %v", err)
			}
			if !good.removed || bad.removed != (fail.register == nil) {
				t.Errorf("removed: %v, %v", good.removed, bad.removed)
			}
			if s := c.Status(); s.Phase != Stopped {
				t.Errorf("%+v", s)
			}
		})
	}
	bubble(t, "and a watch that is refused later is an error at once", func(t *testing.T) {
		c := newController(t, succeed, Options{})
		stop := run(t, c)
		err := c.watch(&watch{start: func(*shift) (registration, error) { return nil, errFailed }})
		if !errors.Is(err, errFailed) {
			t.Errorf("watch: %v", err)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		stop = run(t, c)
		if s := c.Status(); s.Phase != Running {
			t.Errorf("%+v", s)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// slowRegistration is a handler that takes a minute to tell what is there, and
// another to end.
type slowRegistration struct{ done chan struct{} }

func (r *slowRegistration) Wait(ctx context.Context) error {
	select {
	case <-time.After(time.Minute):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
func (r *slowRegistration) Stopped(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
func (r *slowRegistration) Remove()               { time.AfterFunc(time.Minute, func() { close(r.done) }) }
func (r *slowRegistration) Done() <-chan struct{} { return r.done }

func TestTheStatusFollowsARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController(t, succeed, Options{})
		started := 0
		slow := func(name string) {
			err := c.watch(&watch{name: name, start: func(*shift) (registration, error) {
				started++
				return &slowRegistration{done: make(chan struct{})}, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
		expect := func(phase Phase, age time.Duration, waitingFor ...string) {
			t.Helper()
			synctest.Wait()
			s := c.Status()
			if s.Phase != phase || time.Since(s.Since) != age || !slices.Equal(s.WaitingFor, waitingFor) {
				t.Errorf("%s since %v, waiting for %q; want %s since %v, %q",
					s.Phase, time.Since(s.Since), s.WaitingFor, phase, age, waitingFor)
			}
		}
		slow("pods")
		slow("nodes")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		expect(Syncing, 0, "pods", "nodes")
		slow("a late one")
		if started != 3 {
			t.Errorf("%d watches started, want 3", started)
		}
		time.Sleep(time.Minute)
		expect(Syncing, time.Minute, "nodes")
		time.Sleep(time.Minute)
		expect(Running, 0)
		cancel()
		time.Sleep(time.Second)
		expect(Stopping, time.Second)
		if err := c.Add(key("a")); !errors.Is(err, workqueue.ErrClosed) {
			t.Errorf("Add while the run ends: %v", err)
		}
		if err := c.Run(t.Context()); !errors.Is(err, ErrRunning) {
			t.Errorf("Run while the run ends: %v", err)
		}
		slow("too late for this run")
		if err := <-ended; err != nil {
			t.Error(err)
		}
		expect(Stopped, 0)
		if started != 3 {
			t.Errorf("%d watches started, want 3", started)
		}
		add(t, c, "a")
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

func TestOwner(t *testing.T) {
	pod := newPod("a", "x")
	for name, tt := range map[string]struct {
		kind    schema.GroupKind
		version string
		want    []types.NamespacedName
	}{
		"the kind of the controller":  {replicaSet, "apps/v1", []types.NamespacedName{key("x")}},
		"in any version":              {replicaSet, "apps/v1beta7", []types.NamespacedName{key("x")}},
		"not another group":           {replicaSet, "extensions/v1", nil},
		"not another kind":            {schema.GroupKind{Group: "apps", Kind: "Deployment"}, "apps/v1", nil},
		"not one that cannot be read": {replicaSet, "a/b/c", nil},
		"not another owner":           {schema.GroupKind{Kind: "ConfigMap"}, "apps/v1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			pod := pod.DeepCopy()
			pod.OwnerReferences[1].APIVersion = tt.version
			if got := Owner[*corev1.Pod](tt.kind)(pod); !slices.Equal(got, tt.want) {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
	if got := Owner[*corev1.Pod](replicaSet)(newPod("b", "")); got != nil {
		t.Errorf("without an owner: %v", got)
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
