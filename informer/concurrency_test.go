package informer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestEverythingAtOnce lets goroutines write, register, remove, wait, loop, look
// and restart at the same time, for the race detector and for deadlocks. At the
// end every handler that is left is in the server's state, every one that was
// removed is done, and nothing runs.
func TestEverythingAtOnce(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { everythingAtOnce(t, seed) })
		})
	}
}

func everythingAtOnce(t *testing.T, seed uint64) {
	w := newWorld()
	i := stopped(t, w, Options[*corev1.ConfigMap]{})
	stay := newRecorder()
	handle(t, i, stay, HandlerOptions[*corev1.ConfigMap]{Budget: 3, Resync: time.Second})
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	actor := func(n uint64, act func(rnd *rand.Rand)) {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, n))
			for range 40 {
				act(rnd)
				time.Sleep(time.Duration(rnd.IntN(int(time.Second))))
			}
		})
	}
	for n := range uint64(3) {
		actor(n, func(rnd *rand.Rand) { writeAtRandom(w, rnd) })
		actor(10+n, func(rnd *rand.Rand) { comeAndGo(t, i, w, rnd) })
		actor(20+n, func(rnd *rand.Rand) { loopForAWhile(ctx, i, rnd) })
	}
	actor(30, func(rnd *rand.Rand) {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(rnd.IntN(int(2*time.Second))))
		defer cancel()
		if err := i.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	actor(31, func(rnd *rand.Rand) {
		_ = i.Status().String()
		ctx, cancel := context.WithTimeout(ctx, time.Duration(rnd.IntN(int(time.Second))))
		defer cancel()
		_ = i.Wait(ctx) // an error is as good as success: it must end
	})
	all.Wait()
	cancel()
	run(t, i)
	time.Sleep(time.Minute)
	synctest.Wait()
	stay.check(t, w.state())
	if n := len(i.Status().Handlers); n != 1 {
		t.Errorf("%d listeners are left", n)
	}
}

func writeAtRandom(w *world, rnd *rand.Rand) {
	for range rnd.IntN(20) {
		if name := fmt.Sprint("o", rnd.IntN(5)); rnd.IntN(4) == 0 {
			w.delete(name)
		} else {
			w.set(name, fmt.Sprint(rnd.IntN(100)))
		}
	}
	if rnd.IntN(10) == 0 {
		w.forget()
	}
}

// comeAndGo registers a handler that removes itself, or is removed, at some time.
func comeAndGo(t *testing.T, i *configMaps, w *world, rnd *rand.Rand) {
	r := newRecorder()
	left := rnd.IntN(10)
	pace := time.Duration(rnd.IntN(2)) * 10 * time.Millisecond
	removed := false // only touched by the handler's goroutine
	var reg *Registration
	known := make(chan struct{})
	reg = handle(t, i, HandlerFunc[*corev1.ConfigMap](func(ctx context.Context, c Change[*corev1.ConfigMap]) {
		<-known
		if removed {
			t.Error("the handler is called after it removed itself")
		}
		r.Handle(ctx, c)
		time.Sleep(pace)
		if left--; left < 0 {
			removed = true
			reg.Remove()
		}
	}), HandlerOptions[*corev1.ConfigMap]{Budget: 1 + rnd.IntN(4)})
	close(known)
	time.Sleep(time.Duration(rnd.IntN(int(time.Second))))
	reg.Remove()
	<-reg.Done()
	calls := len(r.log())
	time.Sleep(time.Second)
	if n := len(r.log()); n != calls {
		t.Errorf("%d calls after Done", n-calls)
	}
	for _, f := range r.faults {
		t.Error(f)
	}
}

func loopForAWhile(ctx context.Context, i *configMaps, rnd *rand.Rand) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(rnd.IntN(int(time.Second))))
	defer cancel()
	left := rnd.IntN(20)
	for range i.Changes(ctx) {
		if left--; left < 0 {
			return
		}
	}
}
