package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

var slowMetrics = []metric{
	{key: "cpu", label: "CPU per event", unit: "µs"},
	{key: "time", label: "time per event until the fast are done", unit: "µs"},
	{key: "held", label: "held for the slow one", unit: "MB"},
	{key: "told", label: "calls of the slow one afterwards, per object", unit: "count"},
}

// slowEvents is how many events pass while the slow handler does not return.
const slowEvents = 200 * stage

// slowContests block one of twenty handlers.
func slowContests(o options) []contest {
	j := job{Kind: "slow", Data: podsProtobuf, Pods: min(o.pods, pipelinePods), Events: min(o.events, slowEvents), Handlers: 19}
	return []contest{{name: "one slow among 20 handlers", metrics: slowMetrics, theirs: by(clientGo, j), ours: []entrant{{job: by(heliograph, j)}}}}
}

// slowHandler stops at the first update until it is let go, and notes the last
// version it was told of each pod.
type slowHandler struct {
	gate chan struct{}
	keys []types.NamespacedName

	mu       sync.Mutex
	calls    int
	versions map[types.NamespacedName]string
}

func (h *slowHandler) told(p *corev1.Pod) {
	if len(p.ResourceVersion) == len(liveVersion(0)) {
		<-h.gate
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls++
	h.versions[keyOf(p)] = p.ResourceVersion
}

// freshFeed sends events, each with an object of its own: whoever holds an event
// holds an object.
type freshFeed struct {
	*channelFeed
}

func (f freshFeed) feed(ctx context.Context, from, to int) error {
	n := len(f.load.initial)
	return f.sendAll(ctx, from, to, func(i int) *corev1.Pod {
		p := new(*f.load.initial[i%n])
		p.ResourceVersion = liveVersion(i)
		return p
	})
}

// measureSlow is the job of a child process: one handler does not return while
// events pass.
func measureSlow(ctx context.Context, j job) (sample, error) {
	l := newLoad(j.Pods, 0, 0)
	d := newDelivery(j.Handlers)
	f := freshFeed{newChannelFeed(l, d)}
	s, err := newListWatchSide(j.Side, f.listWatch(), d)
	if err != nil {
		return nil, err
	}
	slow := &slowHandler{gate: make(chan struct{}), versions: make(map[types.NamespacedName]string)}
	for _, p := range l.initial {
		slow.keys = append(slow.keys, keyOf(p))
	}
	synced, err := follow(s, slow.told)
	if err != nil {
		return nil, err
	}
	stop := start(ctx, s)
	var out sample
	if err = errors.Join(s.wait(ctx), synced(ctx)); err == nil {
		out, err = passBySlow(ctx, j, f, d, slow)
	}
	return out, errors.Join(err, stop())
}

func passBySlow(ctx context.Context, j job, f freshFeed, d *delivery, slow *slowHandler) (sample, error) {
	live := liveHeap()
	watch := startWatch()
	if err := f.feed(ctx, 0, j.Events); err != nil {
		return nil, err
	}
	if err := d.await(ctx, j.Events); err != nil {
		return nil, err
	}
	used, took, err := watch.stop()
	if err != nil {
		return nil, err
	}
	held := float64(liveHeap()) - float64(live)
	before := slow.count()
	close(slow.gate)
	last := func(i int) string { return lastRoundVersion(i, j.Pods, j.Events) }
	if err := poll(ctx, func() bool { return slow.knows(last) }); err != nil {
		return nil, fmt.Errorf("the slow handler was told of less than all: %w", err)
	}
	return sample{
		"cpu":  float64(used.cpu.Nanoseconds()) / 1000 / float64(j.Events),
		"time": float64(took.Nanoseconds()) / 1000 / float64(j.Events),
		"held": max(held, 0) / 1e6,
		"told": float64(slow.count()-before) / float64(j.Pods),
	}, d.check(j.Pods, j.Events)
}

func (h *slowHandler) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls
}

// knows says whether the handler was told of the last version of every pod.
func (h *slowHandler) knows(last func(i int) string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, key := range h.keys {
		if h.versions[key] != last(i) {
			return false
		}
	}
	return true
}
