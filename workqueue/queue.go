package workqueue

import (
	"math"
	"reflect"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

// Queue hands keys to workers: each key at most once at a time, and once for
// however many times it was added before. Package workqueue tells how to use
// it. All methods are safe for use by any number of goroutines. Make one with
// [New].
type Queue[K comparable] struct {
	name     string
	backoff  Backoff
	limiter  *rate.Limiter // nil: no pacing
	tenant   func(K) string
	observer Observer
	tracer   Tracer[K]
	clock    clock.WithDelayedExecution // nil: that of package time
	suspect  bool                       // keys must be checked
	start    time.Time                  // times inside the queue count from here
	idle     chan struct{}              // closed once no key is left and none can come

	mu      mutex
	phase   phase
	table   table[K]
	ready   lanes[K]
	running list[K] // by the time of being handed out
	held    list[K] // those held that do not run, by the time of coming there
	delays  heap[*item[K]]
	holds   heap[*hold[K]]
	nth     int64 // orders delays and holds of the same time
	waiters waiters
	alarm   alarm
	counts  counts
}

// phase is the part of its life that a queue is in. It only goes up.
type phase uint8

const (
	open     phase = iota // keys come and go
	draining              // no key comes from outside any more
	closed                // no key is handed out any more
)

// New makes a queue. Bad options are an error that is ErrInvalid.
func New[K comparable](opts Options[K]) (*Queue[K], error) {
	opts, err := opts.complete()
	if err != nil {
		return nil, err
	}
	limiter, err := opts.limiter()
	if err != nil {
		return nil, err
	}
	q := &Queue[K]{
		name:     opts.Name,
		backoff:  opts.Backoff,
		limiter:  limiter,
		tenant:   opts.Tenant,
		observer: opts.Observer,
		tracer:   opts.Tracer,
		clock:    opts.Clock,
		suspect:  mayBeBad(reflect.TypeFor[K]()),
		idle:     make(chan struct{}),
		table:    newTable[K](),
		ready:    newLanes[K](opts.Ageing, opts.Tenant != nil, opts.Weights),
	}
	q.start = q.time()
	return q, nil
}

// Len is the number of keys that are ready.
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ready.len
}

// makeReady makes an item ready; if it runs or is held, it notes that for later. A
// delay of the item goes on.
func (q *Queue[K]) makeReady(it *item[K], now time.Duration) {
	if it.place == ready {
		return
	}
	if it.want == nothing && q.tracer != nil {
		q.tracer.Due(it.key)
	}
	if it.place == running || it.holds != nil {
		it.want = wanted
		return
	}
	it.want, it.place, it.since = nothing, ready, now
	q.ready.push(it, now)
}

// endDelay ends the delay of an item, if it has one.
func (q *Queue[K]) endDelay(it *item[K]) {
	if it.slot > 0 {
		q.delays.remove(it)
	}
}

// postpone delays an item, beside all else that it is. If it is delayed already, the
// earlier time wins unless the new one is to replace it.
func (q *Queue[K]) postpone(it *item[K], now, d time.Duration, replace bool) {
	due := later(now, d)
	switch {
	case it.slot == 0:
		if it.place == aside && it.holds == nil {
			it.since = now
		}
	case !replace && q.delays.at(it) <= due:
		return
	}
	q.nth++
	q.delays.set(it, due, q.nth)
	q.setAlarm(now)
}

// setAside puts an item aside that has just been taken from where it was. If
// nothing will bring it back, it leaves the queue.
func (q *Queue[K]) setAside(it *item[K], now time.Duration) {
	it.place, it.since = aside, now
	switch {
	case it.holds != nil:
		q.held.push(it)
	case it.slot == 0:
		q.forget(it)
	}
}

// forget lets an item leave the queue that is in no list, not delayed and not held.
func (q *Queue[K]) forget(it *item[K]) {
	q.ready.leave(it)
	q.table.drop(it)
}

// available is the number of waiting workers that would get an answer now.
func (q *Queue[K]) available() int {
	switch {
	case q.phase == closed:
		return math.MaxInt
	case q.alarm.pace > 0:
		return 0
	}
	return q.ready.len
}

// later adds without overflow.
func later(now, d time.Duration) time.Duration {
	if d > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + d
}
