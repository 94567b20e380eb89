package workqueue

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Queue hands keys to workers: each key at most once at a time, and once for
// however many times it was added before. Package workqueue tells how to use
// it. All methods are safe for use by any number of goroutines. Make one with
// [New].
type Queue[K comparable] struct {
	backoff Backoff
	limiter *rate.Limiter // nil: no pacing
	start   time.Time     // times inside the queue count from here
	idle    chan struct{} // closed once no key is left and none can come

	mu      sync.Mutex
	phase   phase
	shelf   shelf[K]
	ready   list[K]   // by the time of becoming ready
	running list[K]   // by the time of being handed out
	delays  delays[K] // by the time of becoming ready
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

// New makes a queue. Bad options are an error.
func New[K comparable](opts Options) (*Queue[K], error) {
	backoff, err := opts.Backoff.complete()
	if err != nil {
		return nil, err
	}
	limiter, err := opts.limiter()
	if err != nil {
		return nil, err
	}
	return &Queue[K]{
		backoff: backoff,
		limiter: limiter,
		start:   time.Now(),
		idle:    make(chan struct{}),
		shelf:   shelf[K]{items: map[K]*item[K]{}},
	}, nil
}

// Add makes a key ready. A key that is ready already stays where it is; one
// that is delayed becomes ready now; one that is running becomes ready when it
// is Done. After Drain or Close, Add does nothing and returns ErrClosed.
func (q *Queue[K]) Add(key K) error {
	w, err := q.add(key)
	w.wake()
	return err
}

func (q *Queue[K]) add(key K) (*waiter, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.phase != open {
		return nil, q.refuse(key)
	}
	q.counts.adds++
	it := q.shelf.items[key]
	switch {
	case it == nil:
		q.makeReady(q.shelf.add(key))
	case it.ready || it.again:
		q.counts.merged++
		return nil, nil
	default:
		q.counts.merged++
		q.makeReady(it)
	}
	return q.waiters.next(q.available()), nil
}

// AddAfter makes a key ready after d; if d is not positive, now, as Add does.
// If the key is delayed already, the earlier time wins; if it is ready, or was
// added while it runs, nothing changes. After Drain or Close, AddAfter does
// nothing and returns ErrClosed.
func (q *Queue[K]) AddAfter(key K, d time.Duration) error {
	if d <= 0 {
		return q.Add(key)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.phase != open {
		return q.refuse(key)
	}
	q.counts.adds++
	it := q.shelf.items[key]
	if it == nil {
		it = q.shelf.add(key)
	} else {
		q.counts.merged++
	}
	if !it.ready && !it.again {
		q.postpone(it, d)
	}
	return nil
}

func (q *Queue[K]) refuse(key K) error {
	q.counts.refused++
	return fmt.Errorf("%w: %v was not added", ErrClosed, key)
}

// Get waits for a key and hands it out: no other worker gets this key until it
// is Done. Get returns the context's error when ctx ends, even if keys are
// ready, and an error that is ErrClosed after Close, or when a drain has ended.
func (q *Queue[K]) Get(ctx context.Context) (K, error) {
	var none K
	if ctx == nil {
		return none, errNilContext
	}
	if err := ctx.Err(); err != nil {
		return none, err
	}
	q.mu.Lock()
	for {
		if it := q.take(); it != nil {
			key, w := it.key, q.waiters.next(q.available())
			q.mu.Unlock()
			w.wake()
			return key, nil
		}
		if q.phase == closed {
			return none, q.leave(ErrClosed)
		}
		w := q.waiters.join()
		q.mu.Unlock()
		woken := w.wait(ctx)
		q.mu.Lock()
		q.waiters.leave(w, woken)
		if err := ctx.Err(); err != nil {
			return none, q.leave(err)
		}
	}
}

// leave unlocks and returns err, for a Get that goes without a key. Whoever woke
// it counts on more to follow.
func (q *Queue[K]) leave(err error) error {
	w := q.waiters.next(q.available())
	q.mu.Unlock()
	w.wake()
	return err
}

// Result says how the work on a key has ended. The zero value is success.
type Result struct {
	// Err, if not nil, says that the work has failed: the key is retried after
	// the pause of its back-off, which grows with each failure in a row. nil
	// ends the row.
	Err error
	// After asks for the key again after this time, with success as well as
	// with failure, where it takes the place of the back-off. 0 asks for
	// nothing; a negative duration means at once.
	After time.Duration
}

// Done gives back a key that Get has handed out. The queue does with it what
// the result asks for; nothing else has to be called for a key to be retried
// or forgotten. If the key was added while it ran, it is ready at once, whatever
// the result; if it was added with a delay, the earlier time wins.
//
// Done of a key that is not running changes nothing, is counted, and returns
// ErrNotProcessing.
//
// During a drain, keys do not return for the sake of their result: one that
// failed is dropped and counted, one that asks to come after a while is let go.
func (q *Queue[K]) Done(key K, result Result) error {
	w, err := q.done(key, result)
	w.wake()
	return err
}

func (q *Queue[K]) done(key K, result Result) (*waiter, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := q.shelf.items[key]
	if it == nil || !it.running {
		q.counts.strays++
		return nil, fmt.Errorf("%w: %v", ErrNotProcessing, key)
	}
	q.running.remove(it)
	it.running = false
	q.counts.done++
	it.err = result.Err
	if result.Err == nil {
		it.failures = 0
	} else {
		it.failures += min(1, math.MaxUint32-it.failures)
		q.counts.failures++
	}
	q.settle(it, result)
	q.endIfIdle()
	return q.waiters.next(q.available()), nil
}

// settle decides where a key goes whose work has ended.
func (q *Queue[K]) settle(it *item[K], result Result) {
	pause := result.After
	if pause == 0 && result.Err != nil {
		pause = q.backoff.pause(it.failures)
	}
	switch {
	case it.again:
		it.again = false
		q.makeReady(it)
	case q.phase != open:
		if result.Err != nil {
			q.counts.dropped++
		}
		q.shelf.drop(it)
	case pause < 0:
		q.makeReady(it)
	case pause == 0 && it.slot == 0:
		q.shelf.drop(it)
	default:
		it.since = q.now()
		if pause > 0 {
			q.postpone(it, pause)
		}
	}
}

// Len is the number of keys that are ready.
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ready.len
}

// makeReady appends an item to the ready ones and ends its delay; if the key
// is running, it notes that for later.
func (q *Queue[K]) makeReady(it *item[K]) {
	if it.slot > 0 {
		q.delays.remove(it)
	}
	if it.running {
		it.again = true
		return
	}
	it.ready = true
	it.since = q.now()
	q.ready.push(it)
}

// postpone delays an item that is not ready, unless it is due earlier already.
func (q *Queue[K]) postpone(it *item[K], d time.Duration) {
	now := q.now()
	if !it.running && it.slot == 0 {
		it.since = now
	}
	if q.delays.set(it, later(now, d)) {
		q.setAlarm(now)
	}
}

// take hands out the first ready item. It returns nil if there is none, or if
// the pace forbids it for now.
func (q *Queue[K]) take() *item[K] {
	it := q.ready.head
	if it == nil {
		return nil
	}
	now := q.now()
	if !q.pace(now) {
		return nil
	}
	q.ready.remove(it)
	it.ready, it.running = false, true
	it.since = now
	q.running.push(it)
	return it
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

// now is the time since the queue was made.
func (q *Queue[K]) now() time.Duration { return time.Since(q.start) }

// later adds without overflow.
func later(now, d time.Duration) time.Duration {
	if d > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + d
}
