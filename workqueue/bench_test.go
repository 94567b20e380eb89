//go:build unix

package workqueue

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	clientgo "k8s.io/client-go/util/workqueue"
)

// side is a queue to be measured: ours with some options, or client-go's.
type side struct {
	name string
	make func(b *testing.B) contestant
}

// contestant is what both queues can do.
type contestant interface {
	Add(key name)
	AddAfter(key name, d time.Duration)
	// Work takes a key and gives it back, failed or not.
	Work(fail bool)
	// WorkAll takes n keys that are ready, at once if it can, and gives them
	// back.
	WorkAll(n int)
	Close()
}

var sides = []side{
	{"heliograph", func(b *testing.B) contestant { return newOurs(b, Options[name]{}) }},
	{"client-go", func(*testing.B) contestant {
		limiter := clientgo.NewTypedItemExponentialFailureRateLimiter[name](time.Millisecond, time.Second)
		return theirs{clientgo.NewTypedRateLimitingQueue(limiter)}
	}},
}

// features are sides with something turned on.
var features = []side{
	{"priorities", func(b *testing.B) contestant {
		q := newOurs(b, Options[name]{})
		q.priorities = []int{0, Low, 10, 0}
		return q
	}},
	{"tenants", func(b *testing.B) contestant {
		return newOurs(b, Options[name]{Tenant: func(key name) string { return key.namespace }})
	}},
	{"rate", func(b *testing.B) contestant {
		return newOurs(b, Options[name]{Rate: math.MaxInt32, Burst: math.MaxInt32})
	}},
}

type ours struct {
	*Queue[name]
	b          testing.TB
	priorities []int
}

func newOurs(b testing.TB, opts Options[name]) *ours {
	opts.Backoff = Backoff{Base: time.Millisecond, Max: time.Second}
	q, err := New(opts)
	if err != nil {
		b.Fatal(err)
	}
	return &ours{Queue: q, b: b}
}

func (q *ours) check(err error) {
	if err != nil {
		q.b.Error(err)
	}
}

func (q *ours) Add(key name) {
	if q.priorities == nil {
		q.check(q.Queue.Add(key))
		return
	}
	q.check(q.AddWith(key, AddOptions{Priority: q.priorities[len(key.name)%len(q.priorities)]}))
}

func (q *ours) AddAfter(key name, d time.Duration) { q.check(q.Queue.AddAfter(key, d)) }

func (q *ours) Work(fail bool) {
	key, err := q.Get(context.Background())
	q.check(err)
	var result Result
	if fail {
		result.Err = errFailed
	}
	q.check(q.Done(key, result))
}

func (q *ours) WorkAll(n int) {
	keys, err := q.GetBatch(context.Background(), n)
	q.check(err)
	for _, key := range keys {
		q.check(q.Done(key, Result{}))
	}
}

type theirs struct {
	clientgo.TypedRateLimitingInterface[name]
}

func (q theirs) Work(fail bool) {
	key, _ := q.Get()
	if fail {
		q.AddRateLimited(key)
	} else {
		q.Forget(key)
	}
	q.Done(key)
}

func (q theirs) WorkAll(n int) {
	for range n {
		q.Work(false)
	}
}

func (q theirs) Close() { q.ShutDown() }

// each runs a benchmark for all sides, and reports the CPU time of an operation
// too, which others on the machine disturb less.
func each(b *testing.B, sides []side, f func(b *testing.B, s side)) {
	for _, s := range sides {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			before := cpu(b)
			f(b, s)
			b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

func cpu(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func BenchmarkAddGetDone(b *testing.B) {
	for _, workers := range []int{1, 4, 16} {
		b.Run(fmt.Sprintf("goroutines=%d", workers), func(b *testing.B) {
			each(b, append(sides, features...), func(b *testing.B, s side) { cycle(b, s, workers) })
		})
	}
}

// cycle has several goroutines add a key and work on one: perhaps that of another
// goroutine, which then works on this one.
func cycle(b *testing.B, s side, workers int) {
	keys, q := names(1000), s.make(b)
	defer q.Close()
	var wg sync.WaitGroup
	b.ResetTimer()
	for w := range workers {
		wg.Go(func() {
			for i := w; i < b.N; i += workers {
				// No key comes twice: one that came while it runs twice
				// would run once, and somebody would wait for ever.
				key := keys[i%len(keys)]
				key.turn = int64(i)
				q.Add(key)
				q.Work(false)
			}
		})
	}
	wg.Wait()
}

func BenchmarkFill(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		keys := names(n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			each(b, append(sides, features[:2]...), func(b *testing.B, s side) {
				for b.Loop() {
					fill(b, s, keys).Close()
				}
			})
		})
	}
}

func fill(b *testing.B, s side, keys []name) contestant {
	q := s.make(b)
	for _, key := range keys {
		q.Add(key)
	}
	return q
}

func BenchmarkDuplicateAdd(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		keys := names(n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			each(b, append(sides, features[:2]...), func(b *testing.B, s side) {
				q := fill(b, s, keys)
				defer q.Close()
				b.ResetTimer()
				for i := range b.N {
					q.Add(keys[i%len(keys)])
				}
			})
		})
	}
}

// BenchmarkDrain fills a queue and works it off.
func BenchmarkDrain(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		keys := names(n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			each(b, append(sides, features[:2]...), func(b *testing.B, s side) {
				for b.Loop() {
					q := fill(b, s, keys)
					for range keys {
						q.Work(false)
					}
					q.Close()
				}
			})
		})
	}
}

func BenchmarkDelayed(b *testing.B) {
	keys := names(100_000)
	each(b, sides, func(b *testing.B, s side) {
		for b.Loop() {
			q := s.make(b)
			for i, key := range keys {
				q.AddAfter(key, time.Duration(1+i*7919%1000)*time.Microsecond)
			}
			for range keys {
				q.Work(false)
			}
			q.Close()
		}
	})
}

// BenchmarkFailOnce has each key fail, wait for its back-off and succeed.
func BenchmarkFailOnce(b *testing.B) {
	keys := names(10_000)
	each(b, sides, func(b *testing.B, s side) {
		for b.Loop() {
			q := fill(b, s, keys)
			for i := range 2 * len(keys) {
				q.Work(i < len(keys))
			}
			q.Close()
		}
	})
}

// BenchmarkBatch adds and works off 64 keys at a time, taken in a batch by the
// queue that can.
func BenchmarkBatch(b *testing.B) {
	keys := names(64)
	each(b, sides, func(b *testing.B, s side) {
		q := s.make(b)
		defer q.Close()
		for b.Loop() {
			for _, key := range keys {
				q.Add(key)
			}
			q.WorkAll(len(keys))
		}
	})
}

// BenchmarkBytes measures what a queue holds for each ready and each delayed key.
func BenchmarkBytes(b *testing.B) {
	keys := names(1_000_000)
	for _, kind := range []string{"ready", "delayed"} {
		b.Run(kind, func(b *testing.B) {
			each(b, sides, func(b *testing.B, s side) {
				var held uint64
				for b.Loop() {
					before := heapInUse()
					q := s.make(b)
					for _, key := range keys {
						if kind == "ready" {
							q.Add(key)
						} else {
							q.AddAfter(key, time.Hour)
						}
					}
					time.Sleep(10 * time.Millisecond) // client-go adds in the background
					held += heapInUse() - before
					q.Close()
				}
				b.ReportMetric(float64(held)/float64(b.N*len(keys)), "B/key")
			})
		})
	}
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
