package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// median returns the middle of v, or the mean of the two in the middle; 0 if
// there is none.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	mid := len(v) / 2
	if len(v)%2 == 1 {
		return v[mid]
	}
	return (v[mid-1] + v[mid]) / 2
}

func maximum(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return slices.Max(v)
}

func minimum(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return slices.Min(v)
}

// usage is what this process has used since it began.
type usage struct {
	// cpu is user and system time of all threads, garbage collection
	// included.
	cpu time.Duration
	// mallocs and bytes count what was allocated on the heap.
	mallocs, bytes uint64
	// faults counts the pages of memory that were touched for the first time.
	faults int64
}

func readUsage() (usage, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return usage{}, fmt.Errorf("getrusage: %w", err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{cpu: time.Duration(r.Utime.Nano() + r.Stime.Nano()), mallocs: m.Mallocs, bytes: m.TotalAlloc, faults: r.Minflt}, nil
}

// since returns what was used between earlier and u.
func (u usage) since(earlier usage) usage {
	return usage{cpu: u.cpu - earlier.cpu, mallocs: u.mallocs - earlier.mallocs, bytes: u.bytes - earlier.bytes, faults: u.faults - earlier.faults}
}

// liveHeap collects garbage and returns the bytes that are left. The second
// collection empties what sync.Pools have kept over the first.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// peakResident returns the largest resident set of this process so far, in
// bytes. Unlike ru_maxrss it knows nothing of the process that started this one.
func peakResident() (uint64, error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("peak of resident memory (needs Linux): %w", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kb, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("peak of resident memory: %w", err)
			}
			return kb << 10, nil
		}
	}
	return 0, fmt.Errorf("peak of resident memory: no VmHWM in %s", f.Name())
}

// forgetPeak lets peakResident begin anew with what is resident now.
func forgetPeak() error {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return fmt.Errorf("peak of resident memory (needs Linux): %w", err)
	}
	return nil
}

// heapWatch looks at the heap from time to time and remembers its peak.
type heapWatch struct {
	peak uint64
	quit chan struct{}
	done sync.WaitGroup
}

// heapInterval is short beside a run and long beside a look, which takes some
// microseconds and stops nobody.
const heapInterval = 5 * time.Millisecond

// watchHeap starts to look. The caller must call stop.
func watchHeap() *heapWatch {
	w := &heapWatch{quit: make(chan struct{})}
	w.done.Go(func() {
		at := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		tick := time.NewTicker(heapInterval)
		defer tick.Stop()
		for {
			metrics.Read(at)
			w.peak = max(w.peak, at[0].Value.Uint64())
			select {
			case <-tick.C:
			case <-w.quit:
				return
			}
		}
	})
	return w
}

// stop returns the largest number of bytes seen on the heap, live or not yet
// collected.
func (w *heapWatch) stop() uint64 {
	close(w.quit)
	w.done.Wait()
	return w.peak
}

// stopwatch measures what is used and how long it takes.
type stopwatch struct {
	began time.Time
	usage usage
	err   error
}

// startWatch starts one, with no garbage of before.
func startWatch() stopwatch {
	runtime.GC()
	u, err := readUsage()
	return stopwatch{time.Now(), u, err}
}

func (w stopwatch) stop() (usage, time.Duration, error) {
	took := time.Since(w.began)
	u, err := readUsage()
	return u.since(w.usage), took, errors.Join(w.err, err)
}

// pollInterval is short beside what is waited for.
const pollInterval = 10 * time.Millisecond

// poll waits until ready.
func poll(ctx context.Context, ready func() bool) error {
	for !ready() {
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
