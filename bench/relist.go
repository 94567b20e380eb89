package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

var relistMetrics = []metric{
	{key: "cpu", label: "CPU", unit: "ms"},
	{key: "calls", label: "calls of a handler", unit: "count"},
	{key: "allocated", label: "allocated", unit: "MB"},
	{key: "mallocs", label: "allocations", unit: "count"},
	{key: "heap", label: "heap above what it was, at most", unit: "MB"},
	{key: "next", label: "the next event, from the end of the list to the handler", unit: "ms"},
}

var relistWatchMetrics = []metric{
	{key: "cpu", label: "CPU", unit: "s"},
	{key: "calls", label: "calls of a handler", unit: "count"},
	{key: "allocated", label: "allocated", unit: "MB"},
	{key: "heap", label: "peak of heap", unit: "MB"},
	{key: "resident", label: "peak of resident memory", unit: "MB"},
}

// relistContests read a collection again of which a thousandth has changed.
func relistContests(o options) []contest {
	ready := job{Kind: "relist", Pods: leanCount(o)}
	wire := job{Kind: "relist over HTTP", Data: podsProtobuf, Pods: o.pods, Mode: modeRelist}
	return []contest{
		{name: "relist of 100k, 0.1 % changed, ready objects", metrics: relistMetrics, theirs: by(clientGo, ready), ours: []entrant{{job: by(heliograph, ready)}}},
		{name: "relist, 0.1 % changed, protobuf over HTTP", metrics: relistWatchMetrics, runs: 2, serve: serving{wire.Data, wire.Pods, wire.Mode},
			theirs: by(clientGo, wire), ours: []entrant{{job: by(heliograph, wire)}}},
	}
}

// relistFeed is a ListerWatcher that answers lists with one ready answer after the
// other, whole.
type relistFeed struct {
	answers []*corev1.PodList

	mu     sync.Mutex
	lists  int
	listed time.Time // the end of the last list
	// events is the watch that is open.
	events  chan watch.Event
	watched chan struct{} // has a token for every watch that was opened
}

func newRelistFeed(n int) *relistFeed {
	f := &relistFeed{watched: make(chan struct{}, 100)}
	for generation := range 2 {
		list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: liveVersion(generation * n)}, Items: make([]corev1.Pod, n)}
		for i := range list.Items {
			list.Items[i] = *makeLean(i)
			if generation > 0 && isChanged(i) {
				list.Items[i].ResourceVersion = relistVersion(i)
			}
		}
		f.answers = append(f.answers, list)
	}
	return f
}

func (f *relistFeed) listWatch() *cache.ListWatch {
	return &cache.ListWatch{ListWithContextFunc: f.list, WatchFuncWithContext: f.watch}
}

func (f *relistFeed) list(context.Context, metav1.ListOptions) (runtime.Object, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lists == len(f.answers) {
		return nil, errors.New("the collection was listed too often")
	}
	f.lists++
	f.listed = time.Now()
	return f.answers[f.lists-1], nil
}

func (f *relistFeed) watch(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if o.SendInitialEvents != nil {
		return nil, apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind("ListOptions").GroupKind(), "", nil)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = make(chan watch.Event)
	f.watched <- struct{}{}
	return watch.NewProxyWatcher(f.events), nil
}

// send sends an event to the watch that is opened next, or is open since the last
// send.
func (f *relistFeed) send(ctx context.Context, e watch.Event) error {
	select {
	case <-f.watched:
	case <-ctx.Done():
		return fmt.Errorf("waiting for a watch: %w", ctx.Err())
	}
	f.mu.Lock()
	events := f.events
	f.mu.Unlock()
	select {
	case events <- e:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *relistFeed) lastListed() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.listed
}

// measureRelist is the job of a child process: the watch of a synced informer
// ends in 410, and the event of the next watch tells when all is done.
func measureRelist(ctx context.Context, j job) (sample, error) {
	f, d := newRelistFeed(j.Pods), newDelivery(1)
	s, err := newListWatchSide(j.Side, f.listWatch(), d)
	if err != nil {
		return nil, err
	}
	told := make(chan time.Time, 1)
	synced, err := follow(s, func(p *corev1.Pod) {
		if p.ResourceVersion == lastRelistVersion {
			told <- time.Now()
		}
	})
	if err != nil {
		return nil, err
	}
	stop := start(ctx, s)
	var out sample
	if err = errors.Join(s.wait(ctx), synced(ctx)); err == nil {
		out, err = f.relist(ctx, j, d, told)
	}
	if err == nil {
		err = f.check(s, j.Pods)
	}
	return out, errors.Join(err, stop())
}

// lastRelistVersion is the version of the event after the relist; it is about the
// second object, which the relist leaves as it was.
var lastRelistVersion = liveVersion(liveBase)

func (f *relistFeed) relist(ctx context.Context, j job, d *delivery, told <-chan time.Time) (sample, error) {
	live := liveHeap()
	heap := watchHeap()
	clock := startWatch()
	gone := apierrors.NewResourceExpired("too old resource version").ErrStatus
	if err := f.send(ctx, watch.Event{Type: watch.Error, Object: &gone}); err != nil {
		heap.stop()
		return nil, err
	}
	last := makeLean(1)
	last.ResourceVersion = lastRelistVersion
	err := f.send(ctx, watch.Event{Type: watch.Modified, Object: last})
	var at time.Time
	if err == nil {
		select {
		case at = <-told:
			// The other handler is at most as far behind as this one.
			err = poll(ctx, func() bool { return d.counters[0].updates.Load() > 0 })
		case <-ctx.Done():
			err = fmt.Errorf("waiting for the event after the relist: %w", ctx.Err())
		}
	}
	used, _, usageErr := clock.stop()
	peak := heap.stop()
	if err := errors.Join(err, usageErr); err != nil {
		return nil, err
	}
	return sample{
		"cpu":       milliseconds(used.cpu),
		"calls":     float64(d.counters[0].updates.Load() - 1),
		"allocated": float64(used.bytes) / 1e6,
		"mallocs":   float64(used.mallocs),
		"heap":      max(float64(peak)-float64(live), 0) / 1e6,
		"next":      milliseconds(at.Sub(f.lastListed())),
	}, nil
}

func (f *relistFeed) check(s side, n int) error {
	for i := range n {
		want := initialVersion(i)
		if isChanged(i) {
			want = relistVersion(i)
		} else if i == 1 {
			want = lastRelistVersion
		}
		if got, ok := s.version(keyOf(makeLean(i))); !ok || got != want {
			return fmt.Errorf("object %d is stored at version %q after the relist, want %q", i, got, want)
		}
	}
	return nil
}

// quiet is how long no handler must have been called for a relist to be over.
const quiet = 500 * time.Millisecond

// measureRelistWatch is the job of a child process: the server has forgotten what
// a synced informer has read, and so it reads all again.
func measureRelistWatch(ctx context.Context, j job) (sample, error) {
	set, err := datasetNamed(j.Data)
	if err != nil {
		return nil, err
	}
	d := newDelivery(1)
	s, err := newSynced(ctx, j, d)
	if err != nil {
		return nil, err
	}
	stop := start(ctx, s)
	var out sample
	if err = s.wait(ctx); err == nil {
		out, err = relistOverHTTP(ctx, j, set, s, d)
	}
	if err == nil {
		err = checkStore(s, set, j.Pods, func(i int) string {
			if isChanged(i) {
				return relistVersion(i)
			}
			return initialVersion(i)
		})
	}
	// The server goes back to its first state for the next informer.
	return out, errors.Join(err, steer(ctx, j.URL+"/"+j.Mode, 0), stop())
}

func relistOverHTTP(ctx context.Context, j job, set dataset, s side, d *delivery) (sample, error) {
	defer http.DefaultClient.CloseIdleConnections()
	debug.FreeOSMemory()
	if err := forgetPeak(); err != nil {
		return nil, err
	}
	heap := watchHeap()
	clock := startWatch()
	err := steer(ctx, j.URL+"/"+j.Mode, 0)
	if err == nil {
		err = poll(ctx, func() bool {
			for i := 0; i < j.Pods; i += changedEvery {
				if v, _ := s.version(keyOf(set.object(i))); v != relistVersion(i) {
					return false
				}
			}
			return true
		})
	}
	var used usage
	for calls, since := int64(-1), time.Now(); err == nil && time.Since(since) < quiet; {
		if now := d.counters[0].updates.Load(); now != calls {
			calls, since = now, time.Now()
			used, _, err = clock.stop()
		}
		err = errors.Join(err, poll(ctx, func() bool { return true }))
		time.Sleep(pollInterval)
	}
	peak := heap.stop()
	resident, residentErr := peakResident()
	if err := errors.Join(err, residentErr); err != nil {
		return nil, err
	}
	return sample{
		"cpu":       used.cpu.Seconds(),
		"calls":     float64(d.counters[0].updates.Load()),
		"allocated": float64(used.bytes) / 1e6,
		"heap":      float64(peak) / 1e6,
		"resident":  float64(resident) / 1e6,
	}, nil
}
