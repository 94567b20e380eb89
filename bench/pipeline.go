package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"heliograph.example/informer"
	corev1 "k8s.io/api/core/v1"
)

var pipelineMetrics = []metric{
	{key: "cpu", label: "CPU per event", unit: "µs"},
	{key: "mallocs", label: "allocations per event", unit: "count"},
	{key: "bytes", label: "allocated per event", unit: "B"},
}

// pipelinePods bounds the collection that pipelines work on. The smaller the heap,
// the more often garbage is collected: there should be several collections in a
// run, for one more or less not to matter.
const pipelinePods = 5000

// pipelineContests send events of ready objects through the informers.
func pipelineContests(o options) []contest {
	var out []contest
	for _, handlers := range []int{1, 5, 20} {
		j := job{Pods: min(o.pods, pipelinePods), Events: o.events, Handlers: handlers}
		out = append(out, pipelineContest(fmt.Sprintf("pipeline, %d %s", handlers, plural(handlers, "handler")), j, 0, 64, 1))
	}
	hot := job{Pods: min(o.pods, pipelinePods), Events: o.events, Handlers: 1, Hot: min(o.pods, hotKeys)}
	return append(out, pipelineContest(fmt.Sprintf("pipeline, 1 handler, all events about %d objects", hotKeys), hot, 0, 64))
}

// hotKeys is the number of objects that change all the time.
const hotKeys = 10

// pipelineContest compares client-go, which reads a watch channel, with Heliograph
// that reads the same, or batches of its own.
func pipelineContest(name string, j job, batches ...int) contest {
	j.Kind, j.Data = "pipeline", podsProtobuf
	c := contest{name: name, metrics: pipelineMetrics, theirs: by(clientGo, j)}
	for _, size := range batches {
		e := entrant{label: "both from a watch channel", job: by(heliograph, j)}
		if size > 0 {
			e.label, e.job.Batch = fmt.Sprintf("ours from batches of %d", size), size
		}
		c.ours = append(c.ours, e)
	}
	return c
}

// watchObjects and watchEvents bound what is read over HTTP.
const (
	watchObjects = 20000
	watchEvents  = 96 * stage
)

// watchContest sends encoded events over HTTP through the whole of both sides.
func watchContest(o options) contest {
	j := job{Kind: "watch", Data: podsProtobuf, Pods: min(o.pods, watchObjects), Events: min(o.events, watchEvents), Handlers: 1, Mode: modeEvents}
	return contest{name: "watch, protobuf over HTTP, 1 handler", metrics: pipelineMetrics, serve: serving{j.Data, j.Pods, j.Mode},
		theirs: by(clientGo, j), ours: []entrant{{job: by(heliograph, j)}}}
}

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
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
	warm, total := warmAndTotal(j)
	l := newLoad(j.Pods, j.Hot, total)
	d := newDelivery(j.Handlers)
	s, f, err := newPipeline(j, l, d)
	if err != nil {
		return nil, err
	}
	return passAndCheck(ctx, j, s, f, d, warm, total, l.lastVersion)
}

func warmAndTotal(j job) (warm, total int) {
	warm = (j.Events/10 + stage - 1) / stage * stage
	return warm, warm + j.Events
}

// measureWatch is measurePipeline with events that come over HTTP.
func measureWatch(ctx context.Context, j job) (sample, error) {
	warm, total := warmAndTotal(j)
	d := newDelivery(j.Handlers)
	s, err := newSynced(ctx, j, d)
	if err != nil {
		return nil, err
	}
	f := &liveFeed{j.URL + "/" + j.Mode, d}
	return passAndCheck(ctx, j, s, f, d, warm, total, func(i int) string { return lastLiveVersion(i, j.Pods, total) })
}

func passAndCheck(ctx context.Context, j job, s side, f feeder, d *delivery, warm, total int, want func(i int) string) (sample, error) {
	set, err := datasetNamed(j.Data)
	if err != nil {
		return nil, err
	}
	stop := start(ctx, s)
	out, err := passEvents(ctx, s, f, d, warm, total)
	if err == nil {
		err = errors.Join(d.check(j.Pods, total), checkStore(s, set, j.Pods, want))
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
	if j.Batch == 0 {
		c := newChannelFeed(l, d)
		s, err := newListWatchSide(j.Side, c.listWatch(), d)
		return s, c, err
	}
	b := newBatchFeed(l, d, j.Batch)
	i, err := informer.New[*corev1.Pod](b, informer.Options[*corev1.Pod]{Name: "pods", Indexes: ourIndexes()})
	if err != nil {
		return nil, nil, err
	}
	s, err := newOurs(i, d.counters)
	return s, b, err
}
