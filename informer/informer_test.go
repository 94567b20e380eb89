package informer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"heliograph.example/indexer"
)

func TestMain(m *testing.M) {
	// No handler of ours may write into an object.
	if err := os.Setenv(MutationVariable, "panic"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

type configMaps = Informer[*corev1.ConfigMap]

// running makes an informer of w and runs it until the test ends.
func running(t *testing.T, w *world, opts Options[*corev1.ConfigMap]) *configMaps {
	t.Helper()
	i := stopped(t, w, opts)
	run(t, i)
	if err := i.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return i
}

func stopped(t *testing.T, w *world, opts Options[*corev1.ConfigMap]) *configMaps {
	t.Helper()
	if opts.Name == "" {
		opts.Name = "configmaps"
	}
	i, err := New(w, opts)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// run runs i until the returned function is called, which waits for the end.
func run(t *testing.T, i *configMaps) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- i.Run(ctx) }()
	stop = func() {
		cancel()
		if err, ok := <-ended; ok {
			close(ended)
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		}
	}
	t.Cleanup(stop)
	return stop
}

func handle(t *testing.T, i *configMaps, h Handler[*corev1.ConfigMap], opts HandlerOptions[*corev1.ConfigMap]) *Registration {
	t.Helper()
	r, err := i.Handle(h, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func expectTold(t *testing.T, r *recorder, want ...string) {
	t.Helper()
	synctest.Wait()
	if got := r.log(); !slices.Equal(got, want) {
		t.Errorf("the handler was told\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func TestAHandlerSeesWhatIsThereAndThenEachChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("a", "1")
		i := stopped(t, w, Options[*corev1.ConfigMap]{})
		r := newRecorder()
		handle(t, i, r, HandlerOptions[*corev1.ConfigMap]{})
		run(t, i)
		if err := i.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.set("a", "2")
		w.set("b", "1")
		w.delete("a")
		expectTold(t, r, "Added a=1 initial", "Updated a=2", "Added b=1", "Deleted a=2")
		r.check(t, w.state())
	})
}

func TestALateHandlerStartsWithThePresentObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("a", "1")
		i := running(t, w, Options[*corev1.ConfigMap]{})
		w.set("a", "2")
		synctest.Wait()
		r := newRecorder()
		reg := handle(t, i, r, HandlerOptions[*corev1.ConfigMap]{})
		if err := reg.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.set("a", "3")
		expectTold(t, r, "Added a=2 initial", "Updated a=3")
	})
}

func TestAFilterTurnsTransitionsIntoAddedAndDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("a", "no")
		i := running(t, w, Options[*corev1.ConfigMap]{})
		r := newRecorder()
		handle(t, i, r, HandlerOptions[*corev1.ConfigMap]{Filter: func(m *corev1.ConfigMap) bool { return m.Data["v"] != "no" }})
		for _, v := range []string{"1", "2", "no", "no", "3"} {
			w.set("a", v)
		}
		w.delete("a")
		expectTold(t, r, "Added a=1", "Updated a=2", "Deleted a=no", "Added a=3", "Deleted a=3")
	})
}

func TestAResyncTellsOfEveryObjectAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("a", "1")
		i := running(t, w, Options[*corev1.ConfigMap]{})
		every, never := newRecorder(), newRecorder()
		handle(t, i, every, HandlerOptions[*corev1.ConfigMap]{Resync: time.Minute})
		handle(t, i, never, HandlerOptions[*corev1.ConfigMap]{})
		time.Sleep(90 * time.Second)
		expectTold(t, every, "Added a=1 initial", "Updated a=1 resync")
		expectTold(t, never, "Added a=1 initial")
		every.check(t, w.state())
	})
}

func TestARelistTellsOnlyOfWhatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for _, n := range []string{"a", "b", "c", "d"} {
			w.set(n, "1")
		}
		i := running(t, w, Options[*corev1.ConfigMap]{})
		r := newRecorder()
		handle(t, i, r, HandlerOptions[*corev1.ConfigMap]{})
		synctest.Wait()
		r.told = nil
		w.mu.Lock()
		w.refuse = apierrors.NewServiceUnavailable("down")
		w.mu.Unlock()
		w.forget()
		synctest.Wait()
		w.set("b", "2")
		w.delete("c")
		w.delete("d")
		w.set("d", "new")
		w.forget()
		w.mu.Lock()
		w.refuse = nil
		w.mu.Unlock()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		got := r.log()
		slices.Sort(got)
		want := []string{"Added d=new", "Deleted c=1 unseen", "Deleted d=1 unseen", "Updated b=2"}
		if !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
		r.check(t, w.state())
	})
}

func TestAPanickingHandlerGoesOnWithTheNextChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var failed []*ObjectError
		i := running(t, w, Options[*corev1.ConfigMap]{OnObjectError: func(e *ObjectError) { failed = append(failed, e) }})
		r := newRecorder()
		reg := handle(t, i, HandlerFunc[*corev1.ConfigMap](func(ctx context.Context, c Change[*corev1.ConfigMap]) {
			if c.Key.Name == "bad" {
				panic("cannot bear it")
			}
			r.Handle(ctx, c)
		}), HandlerOptions[*corev1.ConfigMap]{Name: "touchy"})
		w.set("bad", "1")
		w.set("good", "1")
		expectTold(t, r, "Added good=1")
		if len(failed) != 1 || failed[0].Key != key("bad") || failed[0].Stage != StageHandler || failed[0].Resource != "configmaps" {
			t.Fatalf("reported %v", failed)
		}
		var p *PanicError
		if !errors.As(failed[0], &p) || p.Value != "cannot bear it" || len(p.Stack) == 0 {
			t.Errorf("the report %v does not carry the panic", failed[0])
		}
		if s := reg.Status(); s.Panics != 1 || s.Delivered != 2 || s.Name != "touchy" {
			t.Errorf("status %+v", s)
		}
	})
}

func TestAnObjectThatCannotBeTransformedKeepsItsLastState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("a", "1")
		w.set("b", "bad")
		var failed []string
		i := running(t, w, Options[*corev1.ConfigMap]{
			Transform: func(m *corev1.ConfigMap) (*corev1.ConfigMap, error) {
				if m.Data["v"] == "bad" {
					return nil, errors.New("not this one")
				}
				return m, nil
			},
			OnObjectError: func(e *ObjectError) { failed = append(failed, e.Key.Name) },
		})
		w.set("a", "bad")
		synctest.Wait()
		if a, _ := i.Store().Get(key("a")); a == nil || a.Data["v"] != "1" {
			t.Errorf("a is %v, want its last good state", a)
		}
		w.set("b", "2")
		synctest.Wait()
		if b, _ := i.Store().Get(key("b")); b == nil || b.Data["v"] != "2" {
			t.Errorf("b is %v after its next version", b)
		}
		if !slices.Equal(failed, []string{"b", "a"}) {
			t.Errorf("reported %q", failed)
		}
		if s := i.Status(); s.ObjectErrors != 2 || s.LastObjectError.Key != key("a") {
			t.Errorf("status %+v", s)
		}
	})
}

func TestAnIndexThatFailsForOneObjectLeavesItStoredAndReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("a", "1")
		w.set("b", "bad")
		w.set("c", "panic")
		var failed []string
		i := running(t, w, Options[*corev1.ConfigMap]{
			Indexes: indexer.Indexes[*corev1.ConfigMap]{"v": {Values: func(m *corev1.ConfigMap, values []string) ([]string, error) {
				switch m.Data["v"] {
				case "bad":
					return nil, errors.New("no value")
				case "panic":
					panic("no value")
				}
				return append(values, m.Data["v"]), nil
			}}},
			OnObjectError: func(e *ObjectError) { failed = append(failed, fmt.Sprint(e.Key.Name, " ", e.Stage)) },
		})
		if n := i.Store().Len(); n != 3 {
			t.Errorf("%d objects stored, want 3", n)
		}
		if got, err := i.Store().ByIndex("v", "1"); err != nil || len(got) != 1 {
			t.Errorf("ByIndex: %v, %v", got, err)
		}
		slices.Sort(failed)
		if !slices.Equal(failed, []string{"b index", "c index"}) {
			t.Errorf("reported %q", failed)
		}
	})
}

func TestARemovedHandlerIsToldNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		i := running(t, w, Options[*corev1.ConfigMap]{})
		r := newRecorder()
		var reg *Registration
		reg = handle(t, i, HandlerFunc[*corev1.ConfigMap](func(ctx context.Context, c Change[*corev1.ConfigMap]) {
			r.Handle(ctx, c)
			if c.Key.Name == "last" {
				reg.Remove()
				<-ctx.Done()
			}
		}), HandlerOptions[*corev1.ConfigMap]{})
		w.set("a", "1")
		w.set("last", "1")
		w.set("c", "1")
		<-reg.Done()
		reg.Remove()
		w.set("d", "1")
		expectTold(t, r, "Added a=1", "Added last=1")
		if err := reg.Wait(t.Context()); err != nil {
			t.Errorf("a handler that had synced: %v", err)
		}
		if n := len(i.Status().Handlers); n != 0 {
			t.Errorf("%d handlers left", n)
		}
	})
}

func TestAHandlerRemovedBeforeTheRunIsDone(t *testing.T) {
	i := stopped(t, newWorld(), Options[*corev1.ConfigMap]{})
	reg := handle(t, i, newRecorder(), HandlerOptions[*corev1.ConfigMap]{})
	reg.Remove()
	<-reg.Done()
	if err := reg.Wait(t.Context()); !errors.Is(err, ErrRemoved) {
		t.Errorf("Wait: %v", err)
	}
}

func TestASlowHandlerCostsAtMostOnePendingChangePerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys, rounds, budget = 50, 200, 10
		w := newWorld()
		i := running(t, w, Options[*corev1.ConfigMap]{})
		slow, fast := newRecorder(), newRecorder()
		slow.block = make(chan struct{})
		reg := handle(t, i, slow, HandlerOptions[*corev1.ConfigMap]{Budget: budget})
		handle(t, i, fast, HandlerOptions[*corev1.ConfigMap]{})
		most := 0
		for round := range rounds {
			for k := range keys {
				w.set(fmt.Sprint("k", k), fmt.Sprint(round))
			}
			synctest.Wait()
			most = max(most, reg.Status().Pending)
		}
		if got := len(fast.log()); got != keys*rounds {
			t.Errorf("the other handler was told %d changes, want %d", got, keys*rounds)
		}
		// One batch is in the hands of the handler, as many changes wait as there
		// are objects, and one batch came before they were folded.
		if most > 3*keys {
			t.Errorf("%d changes were pending for %d keys", most, keys)
		}
		close(slow.block)
		synctest.Wait()
		slow.check(t, w.state())
		fast.check(t, w.state())
		if got := len(slow.log()); got > 4*keys {
			t.Errorf("the slow handler was told %d changes for %d keys", got, keys)
		}
	})
}

func TestIndexesCanBeAddedWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("a", "x")
		i := running(t, w, Options[*corev1.ConfigMap]{})
		byValue := indexer.Indexes[*corev1.ConfigMap]{"v": {Values: func(m *corev1.ConfigMap, values []string) ([]string, error) { return append(values, m.Data["v"]), nil }}}
		if err := i.AddIndexes(byValue); err != nil {
			t.Fatal(err)
		}
		w.set("b", "x")
		synctest.Wait()
		if got, err := i.Store().ByIndex("v", "x"); err != nil || len(got) != 2 {
			t.Errorf("ByIndex: %v, %v", got, err)
		}
		if err := i.AddIndexes(byValue); err == nil {
			t.Error("the same index was added twice")
		}
	})
}
