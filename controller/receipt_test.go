package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/informer"
	"heliograph.example/workqueue"
)

// writer is a controller whose one reconcile does what a test wants.
type writer struct {
	srv  *server
	pods *informer.Informer[*corev1.Pod]
	c    *Controller
	recorder
	mu   sync.Mutex
	do   func(ctx context.Context)
	runs []time.Duration
}

// newWriter runs the controller over a server with a slow watch.
func newWriter(t *testing.T, opts Options, pods ...*corev1.Pod) *writer {
	w := &writer{srv: newServer(pods...)}
	w.srv.delay = slowness
	w.pods = newInformer(t, w.srv)
	start(t, w.pods)
	began := time.Now()
	opts.OnError = w.onError
	w.c = newController(t, func(ctx context.Context, _ types.NamespacedName) (Result, error) {
		w.mu.Lock()
		do := w.do
		w.do = nil
		w.runs = append(w.runs, time.Since(began))
		w.mu.Unlock()
		if do != nil {
			do(ctx)
			return Result{RequeueAfter: -1}, nil
		}
		return Result{}, nil
	}, opts)
	synctest.Wait()
	return w
}

// expect lets a reconcile do something, and checks when the next one came.
func (w *writer) expect(t *testing.T, pause time.Duration, do func(ctx context.Context)) {
	t.Helper()
	stop := run(t, w.c)
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	w.mu.Lock()
	w.do, w.runs = do, nil
	w.mu.Unlock()
	add(t, w.c, "a")
	time.Sleep(time.Hour)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.runs) != 2 || w.runs[1]-w.runs[0] != pause {
		t.Errorf("reconciled at %v, want the second %v after the first", w.runs, pause)
	}
}

func (w *writer) put(name string, edit func(*corev1.Pod)) func() (*corev1.Pod, error) {
	return func() (*corev1.Pod, error) {
		pod := newPod(name, "")
		edit(pod)
		w.srv.put(pod)
		return pod, nil
	}
}

func nothing(*corev1.Pod) {}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
		return v
	}
}

func TestAKeyIsHeldUntilItsWritesShow(t *testing.T) {
	bubble(t, "one or many", func(t *testing.T) {
		w := newWriter(t, Options{})
		w.expect(t, slowness, func(ctx context.Context) {
			for i := range 5 {
				must[*corev1.Pod](t)(Write(ctx, w.pods, w.put(fmt.Sprint("child", i), nothing)))
			}
		})
		if n := w.pods.Store().Len(); n != 5 {
			t.Errorf("%d children, want 5", n)
		}
	})
	bubble(t, "also by another client, and one that has an answer of another type", func(t *testing.T) {
		w := newWriter(t, Options{})
		w.expect(t, slowness, func(ctx context.Context) {
			pod := must[*corev1.Pod](t)(w.put("child", nothing)())
			meta := &metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta}
			if err := Wrote(ctx, w.pods, meta); err != nil {
				t.Error(err)
			}
		})
	})
	bubble(t, "or anything later, as a bookmark or another object", func(t *testing.T) {
		w := newWriter(t, Options{})
		for _, later := range []func(){
			func() { w.srv.bookmark(5000) },
			func() { w.srv.put(newPod("other", "")) },
		} {
			w.expect(t, 10*time.Second+slowness, func(ctx context.Context) {
				unseen := newPod("child", "") // it was never written, or is out of what the informer reads
				unseen.ResourceVersion = strconv.Itoa(w.srv.version + 1)
				if err := Wrote(ctx, w.pods, unseen); err != nil {
					t.Error(err)
				}
				time.AfterFunc(10*time.Second, later)
			})
		}
		if told := w.all(); len(told) > 0 {
			t.Errorf("told: %v", told)
		}
	})
	bubble(t, "also when the reconcile panics", func(t *testing.T) {
		w := newWriter(t, Options{Backoff: workqueue.Backoff{Base: time.Millisecond, Max: time.Millisecond}})
		w.expect(t, slowness, func(ctx context.Context) {
			must[*corev1.Pod](t)(Write(ctx, w.pods, w.put("child", nothing)))
			panic("after the write")
		})
	})
	bubble(t, "and says what for", func(t *testing.T) {
		w := newWriter(t, Options{})
		time.AfterFunc(slowness/2, func() {
			r, ok := w.c.Why(key("a"))
			if !ok || r.Place != workqueue.Held || len(r.Holds) != 1 || r.Holds[0].Reason != "pods at version 101" {
				t.Errorf("%v, %v", r, ok)
			}
		})
		w.expect(t, slowness, func(ctx context.Context) {
			must[*corev1.Pod](t)(Write(ctx, w.pods, w.put("child", nothing)))
		})
	})
	bubble(t, "but not for a write that failed", func(t *testing.T) {
		w := newWriter(t, Options{})
		w.expect(t, 0, func(ctx context.Context) {
			_, err := Write(ctx, w.pods, func() (*corev1.Pod, error) { return nil, errFailed })
			if err != errFailed {
				t.Errorf("Write: %v", err)
			}
		})
	})
	bubble(t, "nor longer than the limit", func(t *testing.T) {
		w := newWriter(t, Options{ReceiptTimeout: time.Minute})
		w.expect(t, time.Minute, func(ctx context.Context) {
			lost := newPod("child", "")
			lost.ResourceVersion = "4711"
			if err := Wrote(ctx, w.pods, lost); err != nil {
				t.Error(err)
			}
		})
		told := w.all()
		want := &ReceiptError{Key: key("a"), What: "pods at version 4711", Timeout: time.Minute}
		if len(told) != 1 || told[0].key != key("a") || told[0].err.Error() != want.Error() {
			t.Errorf("told: %v", told)
		}
		if n := w.c.Status().Unseen; n != 1 {
			t.Errorf("%d unseen, want 1", n)
		}
	})
}

func TestReceiptsOfNoReconcileAreErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, Options{})
		never := func() (*corev1.Pod, error) { t.Error("written all the same"); return nil, nil }
		var missing *informer.Informer[*corev1.Pod]
		var noContext context.Context
		for name, err := range map[string]error{
			"other context": second(Write(t.Context(), w.pods, never)),
			"delete":        Delete(t.Context(), w.pods, newPod("a", ""), func() error { return second(never()) }),
			"report":        Wrote(t.Context(), w.pods, newPod("a", "")),
		} {
			if !errors.Is(err, ErrNoReconcile) {
				t.Errorf("%s: %v", name, err)
			}
		}
		w.expect(t, 0, func(ctx context.Context) {
			for name, err := range map[string]error{
				"no context":  second(Write(noContext, w.pods, never)),
				"no informer": second(Write(ctx, missing, never)),
				"no function": second(Write[*corev1.Pod](ctx, w.pods, nil)),
				"no answer":   second(Write(ctx, w.pods, func() (*corev1.Pod, error) { return nil, nil })),
				"no version":  second(Write(ctx, w.pods, func() (*corev1.Pod, error) { return newPod("a", ""), nil })),
				"no object":   Delete(ctx, w.pods, nil, func() error { return second(never()) }),
				"no delete":   Delete(ctx, w.pods, newPod("a", ""), nil),
			} {
				if !errors.Is(err, errInvalid) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	})
}

func second[T any](_ T, err error) error { return err }

// early is an informer that shows a version when the test wants it.
type early struct {
	*informer.Informer[*corev1.Pod]
	seen func(error)
}

func (e *early) OnVersion(_ string, seen func(error)) (func() bool, error) {
	e.seen = seen
	return func() bool { return false }, nil
}

// TestAReceiptThatIsMetWhileTheKeyIsTakenHoldIsMet meets it in the tenant function,
// which the queue calls when a key is held.
func TestAReceiptThatIsMetWhileTheKeyIsTakenHoldIsMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inf := &early{}
		w := newWriter(t, Options{Tenant: func(types.NamespacedName) string {
			if inf.seen != nil {
				inf.seen(nil)
			}
			return ""
		}})
		inf.Informer = w.pods
		w.expect(t, 0, func(ctx context.Context) {
			must[*corev1.Pod](t)(Write(ctx, inf, w.put("child", nothing)))
		})
		if told := w.all(); len(told) > 0 {
			t.Errorf("told: %v", told)
		}
	})
}

func TestAStopForgetsReceipts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWriter(t, Options{}, newPod("there", ""))
		stop := run(t, w.c)
		left := make(chan context.Context, 1)
		w.do = func(ctx context.Context) {
			left <- ctx
			must[*corev1.Pod](t)(Write(ctx, w.pods, w.put("child", nothing)))
		}
		add(t, w.c, "a")
		synctest.Wait()
		shift := w.c.shift
		if len(shift.waits) != 1 {
			t.Errorf("%d waits, want 1", len(shift.waits))
		}
		ctx := <-left
		// What the reconcile has left behind writes on.
		must[*corev1.Pod](t)(Write(ctx, w.pods, w.put("late", nothing)))
		there, _ := w.pods.Store().Get(key("there"))
		if err := Delete(ctx, w.pods, there, func() error { w.srv.remove(key("there")); return nil }); err != nil {
			t.Error(err)
		}
		if len(shift.waits) != 3 {
			t.Errorf("%d waits, want 3", len(shift.waits))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		must[*corev1.Pod](t)(Write(ctx, w.pods, w.put("later", nothing)))
		if len(shift.waits) != 0 || len(w.all()) != 0 {
			t.Errorf("%d waits after the stop, told %v", len(shift.waits), w.all())
		}
		time.Sleep(time.Hour)
		if want := []time.Duration{0}; !slices.Equal(w.runs, want) {
			t.Errorf("reconciled at %v, want %v", w.runs, want)
		}
	})
}
