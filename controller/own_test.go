package controller

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/informer"
)

// labeled is a pod at its next state, with a label.
func labeled(pod *corev1.Pod, value string) *corev1.Pod {
	pod = pod.DeepCopy()
	pod.Labels = map[string]string{"state": value}
	return pod
}

func TestAKeyNeedNotBeReconciledForWhatItsReconcileWrote(t *testing.T) {
	// Each reconcile writes twice if the pod wants it.
	for name, test := range map[string]struct {
		skip bool
		// answer is how long the server takes to answer a write that is done.
		answer time.Duration
		// watch is how late the watch is.
		watch time.Duration
		want  int64
	}{
		"the watch is slower":  {skip: true, watch: time.Second, want: 1},
		"the answer is slower": {skip: true, answer: time.Second, want: 1},
		"both at once":         {skip: true, want: 1},
		"unless it wants to":   {answer: time.Second, want: 2},
	} {
		bubble(t, name, func(t *testing.T) {
			srv := newServer()
			srv.delay = test.watch
			inf := newInformer(t, srv)
			start(t, inf)
			var reconciles atomic.Int64
			c := newController(t, func(ctx context.Context, key types.NamespacedName) (Result, error) {
				reconciles.Add(1)
				pod, ok := inf.Store().Get(key)
				if !ok || pod.Labels["state"] != "new" {
					return Result{}, nil
				}
				for _, state := range []string{"half", "done"} {
					old := pod
					next, err := WriteOver(ctx, inf, old, func() (*corev1.Pod, error) {
						next := labeled(old, state)
						srv.put(next)
						time.Sleep(test.answer)
						return next, nil
					})
					if err != nil {
						return Result{}, err
					}
					pod = next
				}
				return Result{}, nil
			}, Options{})
			if err := WatchWith(c, inf, Self, WatchOptions[*corev1.Pod]{SkipOwn: test.skip}); err != nil {
				t.Fatal(err)
			}
			stop := run(t, c)
			srv.put(labeled(newPod("a", ""), "new"))
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := reconciles.Load(); got != test.want {
				t.Errorf("%d reconciles, want %d", got, test.want)
			}
			pod, _ := inf.Store().Get(key("a"))
			srv.put(labeled(pod, "foreign"))
			time.Sleep(time.Minute)
			if got := reconciles.Load(); got != test.want+1 {
				t.Errorf("%d reconciles after a foreign write, want %d", got, test.want+1)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAForeignChangeAmongOnesOwnIsNotMissed(t *testing.T) {
	bubble(t, "also where a slow handler is told of both as one", func(t *testing.T) {
		const k = "a"
		var o own
		added := 0
		add := func() { added++ }
		write := func(from, to string) {
			o.begin("uid", key(k))
			o.end("uid", key(k), from, to)
		}
		write("1", "2")
		write("3", "4") // 2 to 3 was somebody else
		for _, test := range []struct {
			from, to string
			key      string
			skip     bool
		}{
			{"1", "2", k, true}, {"3", "4", k, true},
			{"1", "4", k, false}, {"2", "3", k, false}, {"2", "4", k, false}, {"1", "3", k, false},
			{"1", "2", "other", false},
		} {
			if got := o.skip("uid", test.from, test.to, key(test.key), add); got != test.skip {
				t.Errorf("%+v: %v", test, got)
			}
		}
		if added != 0 {
			t.Errorf("%d adds", added)
		}
	})
	bubble(t, "nor one that comes while the answer is on its way", func(t *testing.T) {
		var o own
		added := 0
		o.begin("uid", key("a"))
		if !o.skip("uid", "1", "2", key("a"), func() { added++ }) || !o.skip("uid", "2", "3", key("a"), func() { added += 10 }) {
			t.Error("it is not known yet")
		}
		o.end("uid", key("a"), "2", "3")
		if added != 1 {
			t.Errorf("%d: want an add for the first alone", added)
		}
		o.begin("uid", key("a"))
		o.skip("uid", "3", "4", key("a"), func() { added += 100 })
		o.end("uid", key("a"), "3", "") // the write has failed
		if added != 101 {
			t.Errorf("%d: want an add for what no write explains", added)
		}
	})
	bubble(t, "and a server that went back in time leads nobody in a circle", func(t *testing.T) {
		var o own
		for _, step := range []ownStep{{from: "9", to: "5"}, {from: "5", to: "9"}} {
			o.begin("uid", key("a"))
			o.end("uid", key("a"), step.from, step.to)
		}
		if o.skip("uid", "1", "9", key("a"), func() {}) {
			t.Error("nobody wrote that")
		}
	})
	bubble(t, "and what is remembered has bounds", func(t *testing.T) {
		var o own
		for n := range 3 * ownObjects {
			uid := types.UID(fmt.Sprint(n))
			for v := range 2 * ownSteps {
				o.begin(uid, key("a"))
				o.end(uid, key("a"), fmt.Sprint(v), fmt.Sprint(v+1))
			}
			if len(o.objects[uid].steps) > ownSteps {
				t.Fatalf("%d steps", len(o.objects[uid].steps))
			}
		}
		if len(o.objects) > ownObjects || len(o.order) > ownObjects {
			t.Errorf("%d objects, %d in order", len(o.objects), len(o.order))
		}
		var held own // each object is evicted while it is being written
		for n := range 3 * ownObjects {
			held.begin(types.UID(fmt.Sprint(n)), key("a"))
		}
		for n := range 3 * ownObjects {
			held.end(types.UID(fmt.Sprint(n)), key("a"), "1", "2")
		}
		held.begin("last", key("a"))
		if len(held.objects) > ownObjects || len(held.order) > ownObjects {
			t.Errorf("%d objects, %d in order, when nothing is being written any more", len(held.objects), len(held.order))
		}
		o.begin("busy", key("a"))
		adds := 0
		for v := range 10 * ownEvents {
			if !o.skip("busy", fmt.Sprint(v), fmt.Sprint(v+1), key("a"), func() { adds++ }) {
				adds++
			}
		}
		o.end("busy", key("a"), "0", "1")
		if want := 10*ownEvents - 1; adds != want {
			t.Errorf("%d adds, want %d", adds, want)
		}
		o.forget("busy")
		if o.objects["busy"] != nil {
			t.Error("not forgotten")
		}
	})
}

func TestWhatWasDeletedIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(newPod("a", ""))
		inf := newInformer(t, srv)
		start(t, inf)
		c := newController(t, func(ctx context.Context, key types.NamespacedName) (Result, error) {
			old, ok := inf.Store().Get(key)
			if !ok || old.Labels["state"] == "done" {
				return Result{}, nil
			}
			return Result{}, second(WriteOver(ctx, inf, old, func() (*corev1.Pod, error) {
				next := labeled(old, "done")
				srv.put(next)
				return next, nil
			}))
		}, Options{})
		if err := WatchWith(c, inf, Self, WatchOptions[*corev1.Pod]{SkipOwn: true}); err != nil {
			t.Fatal(err)
		}
		stop := run(t, c)
		remembered := func(want int) {
			t.Helper()
			synctest.Wait()
			o := &c.shift.own
			o.mu.Lock()
			defer o.mu.Unlock()
			if len(o.objects) != want {
				t.Errorf("%d objects are remembered, want %d", len(o.objects), want)
			}
		}
		remembered(1)
		srv.remove(key("a"))
		remembered(0)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAWriteNeedsABaseThatTells(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		inf := newInformer(t, newServer())
		pod := newPod("a", "")
		write := func() (*corev1.Pod, error) { return pod, nil }
		if _, err := WriteOver(t.Context(), inf, pod, write); !errors.Is(err, ErrNoReconcile) {
			t.Error(err)
		}
		var errs []error
		c := newController(t, func(ctx context.Context, _ types.NamespacedName) (Result, error) {
			for _, base := range []*corev1.Pod{nil, pod, {}} {
				_, err := WriteOver(ctx, inf, base, write)
				errs = append(errs, err)
			}
			_, err := WriteOver[*corev1.Pod, *corev1.Pod](ctx, (*informer.Informer[*corev1.Pod])(nil), pod, write)
			errs = append(errs, err)
			return Result{}, nil
		}, Options{})
		add(t, c, "a")
		if err := run(t, c)(); err != nil {
			t.Error(err)
		}
		for i, err := range errs {
			if !errors.Is(err, errInvalid) {
				t.Errorf("%d: %v", i, err)
			}
		}
		if len(errs) != 4 {
			t.Errorf("%d errors", len(errs))
		}
	})
}
