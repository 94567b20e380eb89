package informer

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"heliograph.example/indexer"
)

// TestRandomHistories runs seeded random writes, outages, lost histories, restarts
// and handlers that come, block and go, and checks that every handler's chain is
// unbroken and that store, index and handlers end in the server's state.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomHistory(t, rand.New(rand.NewPCG(seed, 2))) })
		})
	}
}

type history struct {
	rnd      *rand.Rand
	world    *world
	informer *configMaps
	handlers []*recorder
	regs     []*Registration
	stop     func()
}

func randomHistory(t *testing.T, rnd *rand.Rand) {
	h := &history{rnd: rnd, world: newWorld()}
	h.informer = stopped(t, h.world, Options[*corev1.ConfigMap]{
		Indexes: indexer.Indexes[*corev1.ConfigMap]{"v": {Values: func(m *corev1.ConfigMap, values []string) ([]string, error) { return append(values, m.Data["v"]), nil }}},
	})
	h.join(t)
	h.stop = run(t, h.informer)
	for range 150 {
		h.step(t)
	}
	h.world.mu.Lock()
	h.world.refuse = nil
	h.world.mu.Unlock()
	for _, r := range h.handlers {
		close(r.block)
	}
	time.Sleep(10 * time.Minute)
	synctest.Wait()
	if err := h.informer.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.check(t)
}

func (h *history) step(t *testing.T) {
	name := fmt.Sprint("o", h.rnd.IntN(6))
	switch n := h.rnd.IntN(100); {
	case n < 45:
		h.world.set(name, fmt.Sprint(h.rnd.IntN(4)))
	case n < 60:
		h.world.delete(name)
	case n < 65:
		h.world.forget()
	case n < 70:
		h.world.mu.Lock()
		h.world.refuse = apierrors.NewServiceUnavailable("down")
		h.world.mu.Unlock()
	case n < 75:
		h.world.mu.Lock()
		h.world.refuse = nil
		h.world.mu.Unlock()
	case n < 80:
		h.stop()
		h.stop = run(t, h.informer)
	case n < 84:
		h.join(t)
	case n < 86:
		h.leave()
	case n < 93:
		h.unblock()
	default:
		time.Sleep(time.Duration(h.rnd.IntN(int(time.Minute))))
		synctest.Wait()
	}
}

// join registers a handler that starts blocked.
func (h *history) join(t *testing.T) {
	r := newRecorder()
	r.block = make(chan struct{}, 1000)
	h.handlers = append(h.handlers, r)
	h.regs = append(h.regs, handle(t, h.informer, r, HandlerOptions[*corev1.ConfigMap]{Budget: 1 + h.rnd.IntN(5)}))
}

// leave removes the oldest handler, if another is left.
func (h *history) leave() {
	if len(h.regs) > 1 {
		h.regs[0].Remove()
		h.regs, h.handlers = h.regs[1:], h.handlers[1:]
	}
}

// unblock lets a random handler take some changes.
func (h *history) unblock() {
	r := h.handlers[h.rnd.IntN(len(h.handlers))]
	for range h.rnd.IntN(10) {
		select {
		case r.block <- struct{}{}:
		default:
		}
	}
}

func (h *history) check(t *testing.T) {
	want := h.world.state()
	for _, r := range h.handlers {
		r.check(t, want)
	}
	stored, indexed := map[string]string{}, map[string]string{}
	for e := range h.informer.Store().Entries() {
		stored[e.Key.Name] = e.Object.Data["v"]
	}
	for v := range 4 {
		found, err := h.informer.Store().ByIndex("v", fmt.Sprint(v))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range found {
			indexed[m.Name] = fmt.Sprint(v)
		}
	}
	if fmt.Sprint(stored) != fmt.Sprint(want) || fmt.Sprint(indexed) != fmt.Sprint(want) {
		t.Errorf("stored %v, indexed %v, the server has %v", stored, indexed, want)
	}
}
