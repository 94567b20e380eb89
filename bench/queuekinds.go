package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	theirqueue "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	dropinqueue "heliograph.example/clientgo/workqueue"
	"heliograph.example/workqueue"
)

// The cases of "queue kind": what a queue does beside handing out keys.
const (
	failingKeys  = "failing"
	priorityKeys = "priorities"
	tenantKeys   = "tenants"
	batchedKeys  = "batches"
	manyKeys     = "many"
)

// firstPause is the pause before the first retry of a key, on all sides. Nothing
// but it limits the rate.
const firstPause, longestPause = 5 * time.Millisecond, 1000 * time.Second

var (
	workMetrics  = []metric{{key: "work", label: "fill and drain of 100k keys", unit: "ns"}}
	retryMetrics = []metric{{key: "work", label: "a key that fails once, of 100k", unit: "ns"}}
	manyMetrics  = []metric{
		{key: "fill", label: "fill", unit: "ns"},
		{key: "ready", label: "bytes per key that waits", unit: "B"},
		{key: "drain", label: "drain", unit: "ns"},
	}
)

// queueKindContests compare where the other side has a counterpart: client-go's queue
// has neither priorities nor tenants nor batches, and is then what one would have to be
// content with.
func queueKindContests(o options) []contest {
	kind := func(name, other, what string, metrics []metric, keys int) contest {
		j := job{Kind: "queue kind", Case: what, Pods: keys}
		return contest{name: name, metrics: metrics, theirs: by(other, j), ours: []entrant{{job: by(heliograph, j)}}}
	}
	n := leanCount(o)
	dropped := kind("drop-in queue, keys that fail once", clientGo, failingKeys, retryMetrics, n)
	dropped.ours[0].job.Side = dropIn
	return []contest{
		dropped,
		kind("queue, keys that fail once", clientGo, failingKeys, retryMetrics, n),
		kind("queue, keys that fail once, against controller-runtime", controllerRuntime, failingKeys, retryMetrics, n),
		kind("queue, four priorities, against controller-runtime", controllerRuntime, priorityKeys, workMetrics, n),
		kind("queue, ours fair among tenants", clientGo, tenantKeys, workMetrics, n),
		kind("queue, ours in batches of 64", clientGo, batchedKeys, workMetrics, n),
		kind("queue, 1M keys", clientGo, manyKeys, manyMetrics, 10*n),
		kind("queue, 1M keys, against controller-runtime", controllerRuntime, manyKeys, manyMetrics, 10*n),
	}
}

// worker is what the cases need of a queue beside that.
type worker interface {
	queue
	addPriority(key types.NamespacedName, priority int)
	// fail gives a key back that is to be retried, and succeed one that is done for good.
	fail(key types.NamespacedName)
	succeed(key types.NamespacedName)
	// work takes up to n keys at a time, if it can, and is done with them.
	work(n int) (int, error)
}

// theirWorker is client-go's queue, controller-runtime's or our drop-in queue.
type theirWorker struct {
	theirQueue
	priorities priorityqueue.PriorityQueue[types.NamespacedName] // nil for client-go's
}

func (q theirWorker) addPriority(key types.NamespacedName, priority int) {
	q.priorities.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, key)
}

func (q theirWorker) fail(key types.NamespacedName) {
	q.AddRateLimited(key)
	q.Done(key)
}

func (q theirWorker) succeed(key types.NamespacedName) {
	q.Forget(key)
	q.Done(key)
}

func (q theirWorker) work(int) (int, error) {
	key, err := q.get()
	q.Done(key)
	return 1, err
}

type ourWorker struct{ ourQueue }

func (q ourWorker) addPriority(key types.NamespacedName, priority int) {
	_ = q.AddWith(key, workqueue.AddOptions{Priority: priority})
}

var errFailed = errors.New("failed")

func (q ourWorker) fail(key types.NamespacedName) {
	_ = q.Done(key, workqueue.Result{Err: errFailed})
}

func (q ourWorker) succeed(key types.NamespacedName) { q.done(key) }

func (q ourWorker) work(n int) (int, error) {
	if n == 1 {
		key, err := q.get()
		q.done(key)
		return 1, err
	}
	keys, err := q.GetBatch(q.ctx, n)
	for _, key := range keys {
		q.done(key)
	}
	return len(keys), err
}

func newWorker(ctx context.Context, j job) (worker, error) {
	limiter := theirqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](firstPause, longestPause)
	switch j.Side {
	case clientGo:
		return theirWorker{theirQueue: theirQueue{theirqueue.NewTypedRateLimitingQueue(limiter)}}, nil
	case dropIn:
		return theirWorker{theirQueue: theirQueue{dropinqueue.NewTypedRateLimitingQueue(limiter)}}, nil
	case controllerRuntime:
		q := priorityqueue.New("bench", func(o *priorityqueue.Opts[types.NamespacedName]) { o.RateLimiter = limiter })
		return theirWorker{theirQueue{q}, q}, nil
	}
	opts := workqueue.Options[types.NamespacedName]{Backoff: workqueue.Backoff{Base: firstPause, Max: longestPause}}
	if j.Case == tenantKeys {
		opts.Tenant = func(key types.NamespacedName) string { return key.Namespace }
	}
	q, err := workqueue.New(opts)
	return ourWorker{ourQueue{ctx, q}}, err
}

// measureQueueKind is the job of a child process. Except for many keys, they are worked on
// twice: what a queue has made for the first time is there the second, which is measured.
func measureQueueKind(ctx context.Context, j job) (sample, error) {
	r := &opRun{out: sample{}}
	q, err := newWorker(ctx, j)
	if err != nil {
		return nil, err
	}
	defer q.close()
	keys := queueKeys(0, j.Pods)
	switch j.Case {
	case manyKeys:
		r.readyKeys(q, keys)
	case failingKeys:
		r.err = errors.Join(fillAll(q, keys, q.add), failAll(q, len(keys)))
		r.measure("work", len(keys), func() error { return errors.Join(fillAll(q, keys, q.add), failAll(q, len(keys))) })
	default:
		add, batch := q.add, 1
		switch j.Case {
		case priorityKeys:
			next := 0
			add = func(key types.NamespacedName) { next++; q.addPriority(key, next%4) }
		case batchedKeys:
			batch = 64
		}
		r.err = errors.Join(fillAll(q, keys, add), workAll(q, len(keys), batch))
		r.measure("work", len(keys), func() error {
			return errors.Join(fillAll(q, keys, add), workAll(q, len(keys), batch))
		})
	}
	return r.out, r.err
}

func fillAll(q worker, keys []types.NamespacedName, add func(types.NamespacedName)) error {
	for _, key := range keys {
		add(key)
	}
	if got := q.len(); got != len(keys) {
		return fmt.Errorf("%d keys wait, want %d", got, len(keys))
	}
	return nil
}

func workAll(q worker, n, batch int) error {
	for n > 0 {
		got, err := q.work(batch)
		if err != nil {
			return err
		}
		n -= got
	}
	return nil
}

// failAll lets each of n keys fail when it comes first, and succeed when it comes again.
func failAll(q worker, n int) error {
	failed := make(map[types.NamespacedName]bool, n)
	for range 2 * n {
		key, err := q.get()
		if err != nil {
			return err
		}
		if failed[key] {
			q.succeed(key)
			continue
		}
		failed[key] = true
		q.fail(key)
	}
	if len(failed) != n {
		return fmt.Errorf("%d keys have come, want %d", len(failed), n)
	}
	return nil
}
