package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"heliograph.example/e2e/harness"
	"heliograph.example/e2e/recorder"
	"heliograph.example/informer"
)

const (
	// walkWrites is the number of writes that each informer sees.
	walkWrites = 5000
	// syncLimit is ample for the first sync.
	syncLimit = 2 * time.Minute
)

func TestStoreAndHandlersFollowTheServerInEveryFormAndMode(t *testing.T) {
	fillLoad(t)
	for n, m := range modes {
		t.Run(m.name, func(t *testing.T) { walk(t, m, uint64(n+1)) })
	}
}

// walker is one form of reading under test.
type walker struct {
	form
	mode
	factory  *informer.Factory
	traffic  *harness.Traffic
	subjects []subject
}

// walk runs informers of all forms side by side through the same changes.
func walk(t *testing.T, m mode, seed uint64) {
	var walkers []*walker
	var all []subject
	for _, f := range forms {
		w := newWalker(t, f, m)
		defer w.factory.Stop()
		w.check(t, "after the first sync")
		walkers, all = append(walkers, w), append(all, w.subjects...)
	}
	if t.Failed() {
		return
	}
	began := time.Now()
	histories := shake(t, loadNamespace, all, seed, walkWrites)
	t.Logf("%d writes were in all stores after %v (seed %d)", walkWrites, time.Since(began).Round(time.Millisecond), seed)
	settle(t, all)
	for _, w := range walkers {
		w.check(t, "after the changes")
		for _, s := range w.subjects {
			if err := s.judge(histories[s.of().plural]); err != nil {
				t.Errorf("%s: %v", w.form.name, err)
			}
			t.Logf("%s: %s", w.form.name, s.counts())
		}
	}
}

// newWalker starts a factory and returns when all its informers are synced.
func newWalker(t *testing.T, f form, m mode) *walker {
	t.Helper()
	w := &walker{form: f, mode: m, traffic: &harness.Traffic{Refuse: m.refuse}}
	var err error
	if w.factory, err = informer.NewFactory(w.traffic.Attach(f.config()), informer.FactoryOptions{}); err != nil {
		t.Fatal(err)
	}
	w.subjects = f.subjects(t, w.factory, f.config())
	began := time.Now()
	w.factory.Start(t.Context())
	synced(t, w.factory)
	t.Logf("%s: synced in %v", f.name, time.Since(began).Round(time.Millisecond))
	return w
}

// check compares each informer with a LIST, and its requests so far with what
// its mode allows: nothing in between may have made it list again.
func (w *walker) check(t *testing.T, when string) {
	t.Helper()
	for _, s := range w.subjects {
		requests := w.traffic.Requests(s.of().plural)
		if err := w.mode.check(requests, s.status(), w.contentType); err != nil {
			t.Errorf("%s, %s, %s: %v", w.form.name, s.of().plural, when, err)
		}
		if err := s.agrees(t.Context()); err != nil {
			t.Errorf("%s, %s: %v", w.form.name, when, err)
		}
	}
}

func synced(t *testing.T, factory *informer.Factory) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), syncLimit)
	defer cancel()
	if err := factory.Wait(ctx); err != nil {
		t.Fatal(err)
	}
}

// shake writes while witnesses watch. When it returns, each store has seen the
// last write. It returns what the witnesses have seen, by plural of the kind.
func shake(t *testing.T, namespace string, subjects []subject, seed uint64, writes int) map[string]*recorder.History {
	t.Helper()
	return shakeAnd(t, namespace, subjects, seed, writes, nil)
}

// shakeAnd is shake with something that is done every now and then: meanwhile, if
// not nil, is called after each write with the number of writes so far.
func shakeAnd(t *testing.T, namespace string, subjects []subject, seed uint64, writes int, meanwhile func(n int) error) map[string]*recorder.History {
	t.Helper()
	c := client(t, protobufConfig())
	histories := make(map[string]*recorder.History)
	for _, s := range subjects {
		if plural := s.of().plural; histories[plural] == nil {
			histories[plural] = witness(t, c, namespace, s.of())
		}
	}
	w := newChurn(c, namespace, subjects, seed, writes)
	if wrote := w.wrote; meanwhile != nil {
		w.wrote = func(n int) error { return errors.Join(wrote(n), meanwhile(n)) }
	}
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for plural, version := range finish(t, c, namespace, subjects) {
		key := types.NamespacedName{Namespace: namespace, Name: sentinel}
		eventually(t, "the witness", func() error {
			if !histories[plural].Saw(key, version) {
				return fmt.Errorf("it has not seen %s %s at version %s", plural, key, version)
			}
			return nil
		})
	}
	return histories
}

// newChurn makes a churn over what the subjects hold. Each tenth write lets the
// slow handlers go on by one change, and half way late handlers are added.
func newChurn(c *kubernetes.Clientset, namespace string, subjects []subject, seed uint64, writes int) *churn {
	w := &churn{seed: seed, writes: writes, client: c.CoreV1().RESTClient(), namespace: namespace, names: make(map[string][]string)}
	for _, s := range subjects {
		if w.names[s.of().plural] == nil {
			w.names[s.of().plural] = s.names()
		}
	}
	w.wrote = func(n int) error {
		var errs []error
		for _, s := range subjects {
			if n%10 == 0 {
				s.let()
			}
			if n == writes/2 {
				errs = append(errs, s.late())
			}
		}
		return errors.Join(errs...)
	}
	return w
}

// finish writes the sentinels and waits until the stores hold them. It returns
// their versions by plural of the kind.
func finish(t *testing.T, c *kubernetes.Clientset, namespace string, subjects []subject) map[string]string {
	t.Helper()
	versions := make(map[string]string)
	for _, s := range subjects {
		if _, ok := versions[s.of().plural]; ok {
			continue
		}
		w := writer{c.CoreV1().RESTClient(), namespace, s.of()}
		version, err := w.paint(t.Context(), sentinel, "red", int(time.Now().UnixNano()))
		if err != nil {
			t.Fatal(err)
		}
		versions[s.of().plural] = version
	}
	for _, s := range subjects {
		eventually(t, s.of().plural, func() error { return s.holds(sentinel, versions[s.of().plural]) })
	}
	return versions
}

// settle lets the slow handlers go and waits until no change waits for anybody.
func settle(t *testing.T, subjects []subject) {
	t.Helper()
	for _, s := range subjects {
		s.release()
		eventually(t, s.of().plural, func() error { return idle(s.status()) })
	}
}

// idle returns nil when all handlers have been told all there is.
func idle(status informer.Status) error {
	for _, h := range status.Handlers {
		if !h.Synced || h.Pending > 0 {
			return fmt.Errorf("%d changes wait for handler %s (synced: %v)", h.Pending, h.Name, h.Synced)
		}
	}
	return nil
}
