package simulation

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// HandlerSpec describes a handler. The seed decides how long it takes and when
// it panics.
type HandlerSpec struct {
	Name string `json:"name"`
	Seed uint64 `json:"seed,omitempty"`
	// Pause is the longest time that it takes for a change; 0 is none.
	Pause time.Duration `json:"pause,omitempty"`
	// Colour is what its filter lets through; empty is all.
	Colour string        `json:"colour,omitempty"`
	Resync time.Duration `json:"resync,omitempty"`
	Budget int           `json:"budget,omitempty"`
	// Panics makes it panic at every tenth change or so.
	Panics bool `json:"panics,omitempty"`
	// Loop makes it a loop over the changes, which ends with the run.
	Loop bool `json:"loop,omitempty"`
}

// handler notes what it is told; the checks follow at the next moment of rest.
type handler struct {
	spec     HandlerSpec
	mirror   *mirror
	follower *follower
	// remove takes it away, and done is closed when it has returned from its last
	// call.
	remove func()
	done   <-chan struct{}
	// left is set when it is removed, silent once its last call has returned.
	left, silent bool

	mu   sync.Mutex
	rnd  *rand.Rand
	told []told
}

func newHandler(spec HandlerSpec, m *mirror) *handler {
	return &handler{spec: spec, mirror: m, follower: newFollower(m.gaps, spec.Colour), rnd: rand.New(rand.NewPCG(spec.Seed, 1))}
}

// handleWith registers h, or begins its loop.
func handleWith[T reflector.Object](i *informer.Informer[T], h *handler, state func(T) State) error {
	if h.spec.Loop {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		h.remove, h.done = cancel, done
		go func() {
			defer close(done)
			for c := range i.Changes(ctx) {
				h.handle(ctx, noted(&c, state))
			}
		}()
		return nil
	}
	opts := informer.HandlerOptions[T]{Name: h.spec.Name, Resync: h.spec.Resync, Budget: h.spec.Budget}
	if h.spec.Colour != "" {
		opts.Filter = func(obj T) bool { return state(obj).Colour == h.spec.Colour }
	}
	registration, err := i.Handle(informer.HandlerFunc[T](func(ctx context.Context, c informer.Change[T]) {
		h.handle(ctx, noted(&c, state))
	}), opts)
	if err == nil {
		h.remove, h.done = registration.Remove, registration.Done()
	}
	return err
}

// leave takes the handler away.
func (h *handler) leave() {
	h.left = true
	h.remove()
}

// runEnded tells that the run of its informer has ended, and with it a loop. The
// loop may still be in its body.
func (h *handler) runEnded() {
	if h.spec.Loop {
		h.leave()
	}
}

// noted is the part of a change that can be written down.
func noted[T reflector.Object](c *informer.Change[T], state func(T) State) told {
	t := told{change: change{Type: c.Type.String(), Key: c.Key, UID: c.UID, Initial: c.Initial, Resync: c.Resync, Unknown: c.FinalStateUnknown}}
	t.Version, _ = strconv.ParseUint(c.Version, 10, 64)
	var none T
	if any(c.Old) != any(none) {
		s := state(c.Old)
		t.Old, t.oldRef = &s, c.Old
	}
	if any(c.New) != any(none) {
		s := state(c.New)
		t.New, t.newRef = &s, c.New
	}
	return t
}

func (h *handler) handle(ctx context.Context, t told) {
	t.held = h.mirror.entry(t.Key)
	h.mirror.record.add(Line{Do: lineTold, Handler: &HandlerSpec{Name: h.spec.Name}, Change: &t.change})
	h.mu.Lock()
	h.told = append(h.told, t)
	var pause time.Duration
	if h.spec.Pause > 0 {
		pause = time.Duration(h.rnd.Int64N(int64(h.spec.Pause)))
	}
	panics := h.spec.Panics && h.rnd.IntN(10) == 0
	h.mu.Unlock()
	if pause > 0 {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	if panics {
		panic("a handler that panics now and then")
	}
}

// check checks what was told since the last time.
func (h *handler) check() *Failure {
	h.mu.Lock()
	news := h.told
	h.told = nil
	h.mu.Unlock()
	if h.silent && len(news) > 0 {
		return &Failure{Check: checkSilence, What: "handler " + h.spec.Name + ": " + news[0].String()}
	}
	for i := range news {
		if f := h.follower.check(&news[i]); f != nil {
			f.What = "handler " + h.spec.Name + ": " + f.What
			return f
		}
	}
	if h.left {
		select {
		case <-h.done:
			h.silent = true
		default:
		}
	}
	return nil
}

// follows is what the handler knows of.
func (h *handler) follows() map[types.NamespacedName]State {
	out := make(map[types.NamespacedName]State)
	for key, last := range h.follower.last {
		out[key] = last.State
	}
	return out
}

// wanted is what its filter lets through.
func (h *handler) wanted(all map[types.NamespacedName]State) map[types.NamespacedName]State {
	out := make(map[types.NamespacedName]State)
	for key, s := range all {
		if h.follower.wants(s) {
			out[key] = s
		}
	}
	return out
}
