package informer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
)

// fed is an informer that is given deltas without a reader of a server. Its
// listeners run until the end of the test.
type fed struct {
	*configMaps
	version int
}

// feed makes one whose store has objects 0 to n-1.
func feed(t *testing.T, n int) *fed {
	t.Helper()
	f := &fed{configMaps: stopped(t, newWorld(), Options[*corev1.ConfigMap]{Mutations: IgnoreMutations}), version: 1}
	ctx, cancel := context.WithCancel(t.Context())
	f.processor.start(ctx)
	t.Cleanup(func() {
		cancel()
		f.processor.stop()
	})
	first := replaced(1)
	for k := range n {
		first.Items = append(first.Items, f.delta(k, ""))
	}
	f.apply([]delta{first})
	return f
}

// delta makes an update of the k-th object.
func (f *fed) delta(k int, payload string) delta {
	f.version++
	d := delta{Type: deltafifo.Updated, Key: key(strconv.Itoa(k)), UID: types.UID(strconv.Itoa(k)), Version: strconv.Itoa(f.version)}
	d.Object = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: d.Key.Name, UID: d.UID, ResourceVersion: d.Version}, Data: map[string]string{"v": payload}}
	return d
}

// chain is a handler that checks the chain, and waits for its gate first.
type chain struct {
	have   map[types.NamespacedName]*corev1.ConfigMap
	told   atomic.Int64
	broken atomic.Int64
	gate   chan struct{}
}

func newChain() *chain {
	c := &chain{have: map[types.NamespacedName]*corev1.ConfigMap{}, gate: make(chan struct{})}
	close(c.gate)
	return c
}

func (c *chain) Handle(_ context.Context, change Change[*corev1.ConfigMap]) {
	<-c.gate
	if c.have[change.Key] != change.Old {
		c.broken.Add(1)
	}
	c.have[change.Key] = change.New
	if change.Type == Deleted {
		delete(c.have, change.Key)
	}
	c.told.Add(1)
}

// check compares what was told with the store.
func (c *chain) check(t *testing.T, f *fed) {
	t.Helper()
	if n := c.broken.Load(); n > 0 {
		t.Errorf("the chain is broken %d times", n)
	}
	if len(c.have) != f.Store().Len() {
		t.Errorf("told of %d objects, the store has %d", len(c.have), f.Store().Len())
	}
	for k, m := range c.have {
		if stored, _ := f.Store().Get(k); stored != m {
			t.Errorf("%v was told at another state than is stored", k)
		}
	}
}

// TestAMillionChangesPassABlockedHandlerWithoutRace lets a handler block for more
// than ten minutes while a million changes of 1 KB pass. Fewer of them do with the
// race detector.
func TestAMillionChangesPassABlockedHandlerWithoutRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const objects, batch, size = 1000, 64, 1000
		f := feed(t, objects)
		fast, slow := newChain(), newChain()
		slow.gate = make(chan struct{})
		handle(t, f.configMaps, fast, HandlerOptions[*corev1.ConfigMap]{})
		reg := handle(t, f.configMaps, slow, HandlerOptions[*corev1.ConfigMap]{Budget: 256})
		synctest.Wait()
		before, most := liveHeap(), int64(0)
		batches := 1_000_000 / batch * modelSeeds / 200
		for n := range batches {
			deltas := make([]delta, 0, batch)
			for k := range batch {
				deltas = append(deltas, f.delta((n*batch+k)*7%objects, strings.Repeat("x", size)))
			}
			f.apply(deltas)
			time.Sleep(40 * time.Millisecond)
			if n%(batches/10) == 0 && n > batches/20 {
				most = max(most, liveHeap()-before)
			}
		}
		s := reg.Status()
		if s.Pending > 2*objects || s.FoldedKeys > objects || s.Unread != 0 || !s.Folding {
			t.Errorf("status of the blocked handler: %+v", s)
		}
		if held := s.BacklogBytes; held == 0 || held > 1000*objects {
			t.Errorf("%d bytes are said to be held for %d objects", held, objects)
		}
		if got := fast.told.Load(); got != objects+int64(batches)*batch {
			t.Errorf("the other handler was told of %d changes", got)
		}
		// Each object has a state that is stored and, at the most, one that was told
		// or waits to be.
		if limit := int64(2*objects*(size+600) + 2<<20); most > limit {
			t.Errorf("the heap has grown by %d bytes while the handler was blocked, at most %d are needed", most, limit)
		}
		close(slow.gate)
		synctest.Wait()
		fast.check(t, f)
		slow.check(t, f)
		if n := len(f.processor.log.chunks); n > 0 {
			t.Errorf("%d chunks are left of a log that everybody has read", n)
		}
	})
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // what a pool held is gone after the second
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestOnlyHandlersAtWorkHaveAGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const handlers = 50
		f := feed(t, 3)
		count := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if got := goroutinesIn("processorListener"); got != want {
				t.Errorf("%s, %d handlers have %d goroutines, want %d", when, handlers, got, want)
			}
		}
		var gate atomic.Pointer[chan struct{}]
		hold := func() (release func()) {
			c := make(chan struct{})
			gate.Store(&c)
			return func() { close(c) }
		}
		release := hold()
		var regs []*Registration
		for range handlers {
			regs = append(regs, handle(t, f.configMaps, HandlerFunc[*corev1.ConfigMap](func(context.Context, Change[*corev1.ConfigMap]) { <-*gate.Load() }),
				HandlerOptions[*corev1.ConfigMap]{Resync: time.Hour}))
		}
		count("blocked on the first objects", handlers)
		if s := regs[0].Status(); s.BusySince != time.Now() {
			t.Errorf("busy since %v, want %v", s.BusySince, time.Now())
		}
		release()
		count("with nothing to do", 0)
		if s := regs[0].Status(); !s.BusySince.IsZero() {
			t.Errorf("an idle handler is busy since %v", s.BusySince)
		}
		release = hold()
		f.apply([]delta{f.delta(0, "")})
		count("blocked on a change", handlers)
		release()
		count("after it", 0)
		release = hold()
		time.Sleep(time.Hour)
		count("blocked in a resync", handlers)
		for _, reg := range regs {
			reg.Remove()
		}
		release()
		count("when removed", 0)
		if s := f.store.Stats(); s.Snapshots != 0 {
			t.Errorf("%d snapshots are left open", s.Snapshots)
		}
	})
}

// goroutinesIn counts the goroutines that are in a method of a type.
func goroutinesIn(receiver string) (n int) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, stack := range strings.Split(string(stacks), "\n\n") {
		calls, _, _ := strings.Cut(stack, "\ncreated by ")
		if strings.Contains(calls, receiver) {
			n++
		}
	}
	return n
}

// TestNoHandlerSleepsOnAChange writes while handlers are about to go to sleep.
func TestNoHandlerSleepsOnAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := feed(t, 5)
		var told [3]atomic.Int64
		for n := range told {
			handle(t, f.configMaps, HandlerFunc[*corev1.ConfigMap](func(context.Context, Change[*corev1.ConfigMap]) { told[n].Add(1) }), HandlerOptions[*corev1.ConfigMap]{})
		}
		rnd, want := rand.New(rand.NewPCG(1, 1)), int64(5)
		for range 3000 {
			for range 1 + rnd.IntN(3) {
				f.apply([]delta{f.delta(rnd.IntN(5), "")})
				want++
				for range rnd.IntN(200) { // as long as it takes to go to sleep
					_ = told[0].Load()
				}
			}
			synctest.Wait()
			for n := range told {
				if got := told[n].Load(); got != want {
					t.Fatalf("handler %d sleeps, told of %d changes of %d", n, got, want)
				}
			}
		}
	})
}

// TestDeliveryDoesNotAllocateWithoutRace counts what the loop, the store, the log
// and the handlers allocate for each update.
func TestDeliveryDoesNotAllocateWithoutRace(t *testing.T) {
	if modelSeeds < 200 {
		t.Skip("the race detector allocates")
	}
	for _, handlers := range []int{1, 20} {
		t.Run(fmt.Sprint(handlers, " handlers"), func(t *testing.T) {
			const objects, batch, batches = 1000, 64, 500
			f := feed(t, objects)
			var told atomic.Int64
			for range handlers {
				handle(t, f.configMaps, HandlerFunc[*corev1.ConfigMap](func(context.Context, Change[*corev1.ConfigMap]) { told.Add(1) }), HandlerOptions[*corev1.ConfigMap]{})
			}
			await := func(n int) {
				for told.Load() < int64(n*handlers) {
					runtime.Gosched()
				}
			}
			deltas := make([]delta, batch*batches)
			for n := range deltas {
				deltas[n] = f.delta(n%objects, "")
			}
			pass := func(from, to int) {
				for n := from; n < to; n++ {
					f.apply(deltas[n*batch : (n+1)*batch])
					await(objects + (n+1)*batch)
				}
			}
			await(objects)
			pass(0, batches/10)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			pass(batches/10, batches)
			runtime.ReadMemStats(&after)
			events := float64(batch * batches * 9 / 10)
			mallocs, bytes := float64(after.Mallocs-before.Mallocs)/events, float64(after.TotalAlloc-before.TotalAlloc)/events
			if mallocs > 0.05 || bytes > 20 {
				t.Errorf("%.3f allocations and %.0f bytes for each event", mallocs, bytes)
			}
		})
	}
}

// TestTellingOfEverythingCopiesAFewObjectsAtATimeWithoutRace lets a handler come to
// a large store, be told of it, and be told again.
func TestTellingOfEverythingCopiesAFewObjectsAtATimeWithoutRace(t *testing.T) {
	if modelSeeds < 200 {
		t.Skip("the race detector allocates")
	}
	const objects = 20000
	f := feed(t, objects)
	l := newListener[*corev1.ConfigMap](nil, HandlerOptions[*corev1.ConfigMap]{Budget: 1}, f.report)
	expect := func(what string, begin func()) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin()
		n := 0
		for batch := l.take(); batch != nil; batch = l.take() {
			n += len(batch)
		}
		runtime.ReadMemStats(&after)
		if n != objects {
			t.Errorf("a handler that %s is told of %d objects of %d", what, n, objects)
		}
		if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 100_000 {
			t.Errorf("%d bytes are allocated for a handler that %s", bytes, what)
		}
	}
	expect("comes", func() { f.processor.add(l) })
	expect("is resynced", func() {
		f.processor.mu.Lock()
		defer f.processor.mu.Unlock()
		f.processor.walk(l, true)
	})
	f.processor.remove(l)
}
