package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

var lateMetrics = []metric{
	{key: "cpu", label: "CPU", unit: "ms"},
	{key: "mallocs", label: "allocations per object", unit: "count"},
	{key: "allocated", label: "allocated", unit: "MB"},
	{key: "add", label: "the call that adds it", unit: "ms"},
	{key: "held", label: "the longest event to the first handler meanwhile", unit: "ms"},
}

// lateContests add a second handler to an informer that is full.
func lateContests(o options) []contest {
	j := job{Kind: "late", Pods: leanCount(o)}
	return []contest{{name: "a handler that joins 100k objects late", metrics: lateMetrics, theirs: by(clientGo, j), ours: []entrant{{job: by(heliograph, j)}}}}
}

// pingPause is the time between two events to the first handler.
const pingPause = time.Millisecond

// measureLate is the job of a child process.
func measureLate(ctx context.Context, j job) (sample, error) {
	l, d := newLoadOf(makeLean, j.Pods, 1, 0), newDelivery(0)
	f := newChannelFeed(l, d)
	s, err := newListWatchSide(j.Side, f.listWatch(), d)
	if err != nil {
		return nil, err
	}
	told := make(chan struct{}, 1)
	synced, err := follow(s, func(p *corev1.Pod) {
		if len(p.ResourceVersion) == len(liveVersion(0)) {
			told <- struct{}{}
		}
	})
	if err != nil {
		return nil, err
	}
	stop := start(ctx, s)
	var out sample
	if err = errors.Join(s.wait(ctx), synced(ctx)); err == nil {
		out, err = joinLate(ctx, j, s, &pinger{feed: f, told: told})
	}
	return out, errors.Join(err, stop())
}

// pinger sends events one at a time and notes how long they take to the first
// handler.
type pinger struct {
	feed    *channelFeed
	told    <-chan struct{}
	sent    int
	longest time.Duration
}

func (p *pinger) ping(ctx context.Context) error {
	obj := makeLean(0)
	obj.ResourceVersion = liveVersion(p.sent)
	p.sent++
	began := time.Now()
	if err := p.feed.send(ctx, watch.Event{Type: watch.Modified, Object: obj}); err != nil {
		return err
	}
	select {
	case <-p.told:
		p.longest = max(p.longest, time.Since(began))
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run pings until over is closed.
func (p *pinger) run(ctx context.Context, over <-chan struct{}) error {
	for {
		if err := p.ping(ctx); err != nil {
			return err
		}
		select {
		case <-over:
			return nil
		case <-time.After(pingPause):
		}
	}
}

func joinLate(ctx context.Context, j job, s side, p *pinger) (sample, error) {
	if err := p.ping(ctx); err != nil {
		return nil, err
	}
	clock := startWatch()
	p.longest = 0
	over, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- p.run(ctx, over) }()
	began := time.Now()
	var seen atomic.Int64
	synced, err := follow(s, func(*corev1.Pod) { seen.Add(1) })
	added := time.Since(began)
	if err == nil {
		err = synced(ctx)
	}
	close(over)
	err = errors.Join(err, <-ended)
	used, _, usageErr := clock.stop()
	if err == nil && seen.Load() < int64(j.Pods) {
		err = fmt.Errorf("the late handler was told of %d objects", seen.Load())
	}
	if err := errors.Join(err, usageErr); err != nil {
		return nil, err
	}
	return sample{
		"cpu":       milliseconds(used.cpu),
		"mallocs":   float64(used.mallocs) / float64(j.Pods),
		"allocated": float64(used.bytes) / 1e6,
		"add":       milliseconds(added),
		"held":      milliseconds(p.longest),
	}, nil
}
