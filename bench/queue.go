package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	theirqueue "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	dropinqueue "heliograph.example/clientgo/workqueue"
	"heliograph.example/workqueue"
)

const (
	controllerRuntime = "controller-runtime"
	// dropIn is our queue behind the interface of client-go's.
	dropIn = "drop-in"
)

// queue is a work queue of any maker.
type queue interface {
	add(key types.NamespacedName)
	addAfter(key types.NamespacedName, d time.Duration)
	get() (types.NamespacedName, error)
	done(key types.NamespacedName)
	// len is the number of keys that wait. It looks at all that were added, also
	// where they are taken in later, as by controller-runtime's queue.
	len() int
	close()
}

// theirQueue is the interface that controllers hold, of client-go's queue, of
// controller-runtime's or of our drop-in queue.
type theirQueue struct {
	theirqueue.TypedRateLimitingInterface[types.NamespacedName]
}

func (q theirQueue) add(key types.NamespacedName)                       { q.Add(key) }
func (q theirQueue) addAfter(key types.NamespacedName, d time.Duration) { q.AddAfter(key, d) }
func (q theirQueue) done(key types.NamespacedName)                      { q.Done(key) }
func (q theirQueue) len() int                                           { return q.Len() }
func (q theirQueue) close()                                             { q.ShutDown() }

func (q theirQueue) get() (types.NamespacedName, error) {
	key, shutdown := q.Get()
	if shutdown {
		return key, errors.New("the queue is shut down")
	}
	return key, nil
}

type ourQueue struct {
	ctx context.Context
	*workqueue.Queue[types.NamespacedName]
}

// An error of these would show as a key that is missing.
func (q ourQueue) add(key types.NamespacedName)                       { _ = q.Add(key) }
func (q ourQueue) addAfter(key types.NamespacedName, d time.Duration) { _ = q.AddAfter(key, d) }
func (q ourQueue) get() (types.NamespacedName, error)                 { return q.Get(q.ctx) }
func (q ourQueue) done(key types.NamespacedName)                      { _ = q.Done(key, workqueue.Result{}) }
func (q ourQueue) len() int                                           { return q.Len() }
func (q ourQueue) close()                                             { q.Close() }

// newQueue makes a queue as a controller of its maker does.
func newQueue(ctx context.Context, side string) (queue, error) {
	switch side {
	case clientGo:
		limiter := theirqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]()
		return theirQueue{theirqueue.NewTypedRateLimitingQueue(limiter)}, nil
	case dropIn:
		limiter := dropinqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]()
		return theirQueue{dropinqueue.NewTypedRateLimitingQueue(limiter)}, nil
	case controllerRuntime:
		return theirQueue{priorityqueue.New[types.NamespacedName]("bench")}, nil
	}
	q, err := workqueue.New[types.NamespacedName](workqueue.Options[types.NamespacedName]{})
	return ourQueue{ctx, q}, err
}

var queueMetrics = []metric{
	{key: "1", label: "Add, Get, Done, 1 goroutine", unit: "ns"},
	{key: "4", label: "Add, Get, Done, 4 goroutines", unit: "ns"},
	{key: "16", label: "Add, Get, Done, 16 goroutines", unit: "ns"},
	{key: "1 allocs", label: "Add, Get, Done, 1 goroutine, allocations", unit: "count"},
	{key: "fill", label: "fill with 100k keys", unit: "ns"},
	{key: "duplicate", label: "Add of a key that waits", unit: "ns"},
	{key: "ready", label: "bytes per key that waits", unit: "B"},
	{key: "drain", label: "drain of 100k keys", unit: "ns"},
	{key: "after", label: "AddAfter of 100k keys", unit: "ns"},
	{key: "delayed", label: "bytes per key that is delayed", unit: "B"},
}

func queueContests(o options) []contest {
	j := job{Kind: "queue", Pods: leanCount(o)}
	ours := []entrant{{job: by(heliograph, j)}}
	return []contest{
		{name: "queue", metrics: queueMetrics, theirs: by(clientGo, j), ours: ours},
		{name: "queue, against controller-runtime", metrics: queueMetrics, theirs: by(controllerRuntime, j), ours: ours},
		{name: "drop-in queue", metrics: queueMetrics, theirs: by(clientGo, j), ours: []entrant{{job: by(dropIn, j)}}},
	}
}

func queueKeys(goroutine, n int) []types.NamespacedName {
	out := make([]types.NamespacedName, n)
	for i := range out {
		out[i] = types.NamespacedName{Namespace: "team-" + strconv.Itoa(i%namespaces), Name: fmt.Sprintf("svc-%d-%d", goroutine, i)}
	}
	return out
}

// measureQueue is the job of a child process: it goes through what a queue does,
// one after the other.
func measureQueue(ctx context.Context, j job) (sample, error) {
	r := &opRun{out: sample{}}
	for _, goroutines := range []int{1, 4, 16} {
		r.rounds(ctx, j, goroutines)
	}
	keys := queueKeys(0, j.Pods)
	for _, kind := range []func(*opRun, queue, []types.NamespacedName){(*opRun).readyKeys, (*opRun).delayedKeys} {
		q, err := newQueue(ctx, j.Side)
		if err != nil {
			return nil, err
		}
		kind(r, q, keys)
		q.close()
	}
	return r.out, r.err
}

func (r *opRun) readyKeys(q queue, keys []types.NamespacedName) {
	live := liveHeap()
	addAll := func() error {
		for _, key := range keys {
			q.add(key)
		}
		if got := q.len(); got != len(keys) {
			return fmt.Errorf("%d keys wait, want %d", got, len(keys))
		}
		return nil
	}
	r.measure("fill", len(keys), addAll)
	r.measure("duplicate", len(keys), addAll)
	r.out["ready"] = (float64(liveHeap()) - float64(live)) / float64(len(keys))
	r.measure("drain", len(keys), func() error { return drain(q, len(keys)) })
}

func (r *opRun) delayedKeys(q queue, keys []types.NamespacedName) {
	live := liveHeap()
	r.measure("after", len(keys), func() error {
		for n, key := range keys {
			q.addAfter(key, time.Hour+time.Duration(n*7919%len(keys))*time.Second)
		}
		q.len()
		return nil
	})
	r.out["delayed"] = (float64(liveHeap()) - float64(live)) / float64(len(keys))
}

func drain(q queue, n int) error {
	for range n {
		key, err := q.get()
		if err != nil {
			return err
		}
		q.done(key)
	}
	return nil
}

// queueRounds is how often, for each goroutine, a key is added, taken and done.
func queueRounds(j job, goroutines int) int { return 10 * j.Pods / goroutines }

// rounds lets goroutines add a key, get one, perhaps another's, and be done with
// it. No key comes twice: one that is added while it waits would be merged, and
// a Get would wait for ever. A tenth goes before, to warm up.
func (r *opRun) rounds(ctx context.Context, j job, goroutines int) {
	q, err := newQueue(ctx, j.Side)
	if err != nil {
		r.err = errors.Join(r.err, err)
		return
	}
	defer q.close()
	each := queueRounds(j, goroutines)
	warm := each / 10
	keys := make([][]types.NamespacedName, goroutines)
	for g := range keys {
		keys[g] = queueKeys(g, warm+each)
	}
	run := func(from, to int) error {
		var group sync.WaitGroup
		errs := make([]error, goroutines)
		for g := range goroutines {
			group.Go(func() { errs[g] = addGetDone(q, keys[g][from:to]) })
		}
		group.Wait()
		return errors.Join(errs...)
	}
	r.err = errors.Join(r.err, run(0, warm))
	r.measure(strconv.Itoa(goroutines), each*goroutines, func() error { return run(warm, warm+each) })
}

func addGetDone(q queue, keys []types.NamespacedName) error {
	for _, key := range keys {
		q.add(key)
		got, err := q.get()
		if err != nil {
			return err
		}
		q.done(got)
	}
	return nil
}
