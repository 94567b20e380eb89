package controllerruntime

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgo "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"heliograph.example/workqueue"
)

// NewQueue makes the queue of a controller: it is a value for
// controller.TypedOptions.NewQueue. A controller takes it as a
// [priorityqueue.PriorityQueue], so the objects of an initial list and of a
// resync come after all others, as with its own.
//
// A nil limiter means the one that controllers have by default: 5 milliseconds,
// doubled with each failure, up to 1000 seconds. The queue has no goroutine, and
// shows its measures under the name of the controller; an empty name shows
// none.
func NewQueue[T comparable](name string, limiter clientgo.TypedRateLimiter[T]) clientgo.TypedRateLimitingInterface[T] {
	if limiter == nil {
		limiter = clientgo.NewTypedItemExponentialFailureRateLimiter[T](5*time.Millisecond, 1000*time.Second)
	}
	q := &queue[T]{limiter: limiter}
	opts := workqueue.Options[T]{Name: name}
	if name != "" {
		q.measures = newMeasures(name)
		opts.Observer = q.measures
	}
	var err error
	if q.keys, err = workqueue.New(opts); err != nil {
		// Nothing in these options can be wrong.
		panic(fmt.Sprintf("controllerruntime: make the queue of %s: %v", name, err))
	}
	if q.measures != nil {
		q.measures.show(q)
	}
	return q
}

// queue has the methods of controller-runtime's queue over one of ours. How long
// a failed key waits is the limiter's to say, as its users configure it, so the
// back-off of the queue beneath is never used.
type queue[T comparable] struct {
	keys     *workqueue.Queue[T]
	limiter  clientgo.TypedRateLimiter[T]
	measures *measures // nil for a queue without a name
	shutdown atomic.Bool
}

var _ priorityqueue.PriorityQueue[string] = (*queue[string])(nil)

// AddWithOpts adds keys. Of two delays the shorter counts, and of two priorities
// of a key the higher; a priority beyond those of [workqueue.AddOptions] is taken
// for the nearest of them.
func (q *queue[T]) AddWithOpts(o priorityqueue.AddOpts, keys ...T) {
	opts := workqueue.AddOptions{}
	if o.Priority != nil {
		opts.Priority = min(max(*o.Priority, workqueue.MinPriority), workqueue.MaxPriority)
	}
	for _, key := range keys {
		if q.shutdown.Load() {
			return // and the limiter does not learn of a key that is refused
		}
		opts.After = max(o.After, 0)
		if o.RateLimited {
			if pause := q.limiter.When(key); opts.After == 0 || pause < opts.After {
				opts.After = pause
			}
		}
		if err := q.keys.AddWith(key, opts); err != nil {
			q.report("add", key, err)
		} else if opts.After > 0 && q.measures != nil {
			q.measures.retries.Inc()
		}
	}
}

func (q *queue[T]) Add(key T) { q.AddWithOpts(priorityqueue.AddOpts{}, key) }

func (q *queue[T]) AddAfter(key T, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, key)
}

func (q *queue[T]) AddRateLimited(key T) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, key)
}

// GetWithPriority waits for a key and returns it with the priority that it was
// added with, for the controller to add it again with the same. It says shutdown,
// without a key, as soon as the queue is shut down, whatever is left in it.
func (q *queue[T]) GetWithPriority() (key T, priority int, shutdown bool) {
	key, err := q.keys.Get(context.Background())
	if err != nil {
		return key, 0, true
	}
	if why, known := q.keys.Why(key); known {
		priority = why.Priority
	}
	return key, priority, false
}

func (q *queue[T]) Get() (key T, shutdown bool) {
	key, _, shutdown = q.GetWithPriority()
	return key, shutdown
}

func (q *queue[T]) Done(key T) {
	if err := q.keys.Done(key, workqueue.Result{}); err != nil {
		q.report("end", key, err)
	}
}

func (q *queue[T]) Forget(key T) { q.limiter.Forget(key) }

func (q *queue[T]) NumRequeues(key T) int { return q.limiter.NumRequeues(key) }

// Len is the number of keys that are ready.
func (q *queue[T]) Len() int { return q.keys.Len() }

// ShutDown ends the queue at once. Keys that are not running are dropped: a
// controller that stops does not work on them any more, and finds their objects
// again when it starts. It may be called more than once.
func (q *queue[T]) ShutDown() {
	q.shutdown.Store(true)
	q.keys.Close()
	if q.measures != nil {
		q.measures.hide()
	}
}

// ShutDownWithDrain refuses new keys, lets those that are ready and running
// finish, drops those whose time has not come, and returns when all are Done.
func (q *queue[T]) ShutDownWithDrain() {
	q.shutdown.Store(true)
	if err := q.keys.Drain(context.Background(), workqueue.DropDelayed); err != nil {
		utilruntime.HandleErrorWithContext(context.Background(), err, "Queue was not drained", "queue", q.keys.Stats().Name)
	}
	q.ShutDown()
}

func (q *queue[T]) ShuttingDown() bool { return q.shutdown.Load() }

// whys calls f with the reason of each key.
func (q *queue[T]) whys(f func(workqueue.Reason)) {
	for _, why := range q.keys.All() {
		f(why)
	}
}

// report tells of what a method without an error could not do. A queue that was
// shut down refuses keys by contract, so that is nothing to tell.
func (q *queue[T]) report(what string, key T, err error) {
	if errors.Is(err, workqueue.ErrClosed) {
		return
	}
	utilruntime.HandleErrorWithContext(context.Background(), err, "Queue refused a key",
		"queue", q.keys.Stats().Name, "call", what, "key", fmt.Sprint(key))
}
