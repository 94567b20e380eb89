package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"heliograph.example/informer"
	"heliograph.example/reflector"
)

var pipelineMetrics = []metric{
	{key: "cpu", label: "CPU per event", unit: "µs"},
	{key: "mallocs", label: "allocations per event", unit: "count"},
	{key: "bytes", label: "allocated per event", unit: "B"},
}

// pipelineContests send events of ready objects through the informers.
func pipelineContests(o options) []contest {
	var out []contest
	for _, handlers := range []int{1, 5, 20} {
		j := job{Kind: "pipeline", Side: clientGo, Pods: o.pods, Events: o.events, Handlers: handlers}
		ours := func(batch int) job {
			own := j
			own.Side, own.Batch = heliograph, batch
			return own
		}
		out = append(out, contest{
			name:    fmt.Sprintf("pipeline, %d %s", handlers, plural(handlers, "handler")),
			metrics: pipelineMetrics,
			theirs:  j,
			ours: []entrant{
				{label: "both from a watch channel", job: ours(0)},
				{label: "ours from batches of 64", job: ours(64)},
				{label: "ours from batches of 1", job: ours(1)},
			},
		})
	}
	return out
}

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}

// load is what goes through a pipeline: a collection, and newer versions of its
// objects. All of it is built before anything is measured.
type load struct {
	initial []*corev1.Pod
	events  []*corev1.Pod
}

// newLoad makes n pods and so many events, which go round and round the
// collection. Each event is an object of its own with a version of its own; only
// what it points to is shared with the pod's other versions. Index values stay.
func newLoad(n, events int) *load {
	l := &load{initial: make([]*corev1.Pod, n), events: make([]*corev1.Pod, events)}
	for i := range l.initial {
		l.initial[i] = makePod(i)
	}
	for i := range l.events {
		p := *l.initial[i%n]
		p.ResourceVersion = strconv.Itoa(n + 1 + i)
		l.events[i] = &p
	}
	return l
}

// lastVersion is the version at which the i-th pod ends up.
func (l *load) lastVersion(i int) string {
	n := len(l.initial)
	if last := (len(l.events)-1-i)/n*n + i; i < len(l.events) {
		return l.events[last].ResourceVersion
	}
	return l.initial[i].ResourceVersion
}

// feeder sends the events of a load to the pipeline under test.
type feeder interface {
	// feed sends events from up to to, and never runs further than window
	// ahead of the slowest handler.
	feed(ctx context.Context, from, to int) error
}

// measurePipeline is the job of a child process: it brings the informer to life,
// sends a tenth of the events to warm it up, and measures the rest.
func measurePipeline(ctx context.Context, j job) (sample, error) {
	warm := (j.Events/10 + stage - 1) / stage * stage
	total := warm + j.Events
	l, d := newLoad(j.Pods, total), newDelivery(j.Handlers)
	s, f, err := newPipeline(j, l, d)
	if err != nil {
		return nil, err
	}
	stop := start(ctx, s)
	out, err := passEvents(ctx, s, f, d, warm, total)
	if err == nil {
		err = errors.Join(d.check(j.Pods, total), checkStore(s, j.Pods, l.lastVersion))
	}
	return out, errors.Join(err, stop())
}

func passEvents(ctx context.Context, s side, f feeder, d *delivery, warm, total int) (sample, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	if err := f.feed(ctx, 0, warm); err != nil {
		return nil, err
	}
	if err := d.await(ctx, warm); err != nil {
		return nil, err
	}
	runtime.GC()
	before, err := readUsage()
	if err != nil {
		return nil, err
	}
	if err := f.feed(ctx, warm, total); err != nil {
		return nil, err
	}
	if err := d.await(ctx, total); err != nil {
		return nil, err
	}
	after, err := readUsage()
	if err != nil {
		return nil, err
	}
	used, n := after.since(before), float64(total-warm)
	return sample{
		"cpu":     float64(used.cpu.Nanoseconds()) / 1000 / n,
		"mallocs": float64(used.mallocs) / n,
		"bytes":   float64(used.bytes) / n,
	}, nil
}

// newPipeline makes the informer that j asks for, and what feeds it.
func newPipeline(j job, l *load, d *delivery) (side, feeder, error) {
	if j.Side == clientGo {
		c := newChannelFeed(l, d)
		s, err := newTheirs(cache.NewSharedIndexInformer(c.listWatch(), &corev1.Pod{}, 0, theirIndexers()), d.counters)
		return s, c, err
	}
	source, f, err := newOurSource(j, l, d)
	if err != nil {
		return nil, nil, err
	}
	i, err := informer.New(source, informer.Options[*corev1.Pod]{Name: "pods", Indexes: ourIndexes()})
	if err != nil {
		return nil, nil, err
	}
	s, err := newOurs(i, d.counters)
	return s, f, err
}

func newOurSource(j job, l *load, d *delivery) (reflector.Source[*corev1.Pod], feeder, error) {
	if j.Batch > 0 {
		b := newBatchFeed(l, d, j.Batch)
		return b, b, nil
	}
	c := newChannelFeed(l, d)
	s, err := reflector.FromListerWatcher[*corev1.Pod](c.listWatch())
	return s, c, err
}
