package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
)

var longestGetMetrics = []metric{
	{key: "longest", label: "the longest", unit: "ms"},
	{key: "get", label: "on average", unit: "µs"},
}

var writerMetrics = []metric{
	{key: "longest", label: "the longest write", unit: "ms"},
	{key: "median", label: "the median write", unit: "ms"},
}

// crowdTime is how long readers and writers run against each other.
func crowdTime(j job) time.Duration {
	if j.Pods < leanObjects {
		return 100 * time.Millisecond
	}
	return 3 * time.Second
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// measureLongestGet is the job of a child process: one reads single objects in a
// loop, while another replaces all of them in a loop.
func measureLongestGet(_ context.Context, j job) (sample, error) {

	first, second := leanGeneration(j.Pods, 0), leanGeneration(j.Pods, 1)
	names := leanNames(j.Pods)
	s, err := newStore(j.Side)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.replace(first), s.replace(second)); err != nil {
		return nil, err
	}
	var over atomic.Bool
	var writer sync.WaitGroup
	var writeErr error
	writer.Go(func() {
		for !over.Load() && writeErr == nil {
			writeErr = errors.Join(s.replace(first), s.replace(second))
		}
	})
	var longest time.Duration
	began, gets := time.Now(), 0
	for last := began; last.Sub(began) < crowdTime(j); gets++ {
		at := names[gets%len(names)]
		if !s.get(at.Namespace, at.Name) {
			err = errors.New("an object is missing while it is replaced")
			break
		}
		now := time.Now()
		longest, last = max(longest, now.Sub(last)), now
	}
	took := time.Since(began)
	over.Store(true)
	writer.Wait()
	return sample{"longest": milliseconds(longest), "get": milliseconds(took) * 1000 / float64(gets)}, errors.Join(err, writeErr)
}

const (
	// crowdReaders list without pause.
	crowdReaders = 100
	// writePause is the time between two writes, of one object each.
	writePause = time.Second / 2000
)

// measureWriter is the job of a child process: one writes single objects, while a
// hundred list all of them in loops.
func measureWriter(_ context.Context, j job) (sample, error) {
	first := leanGeneration(j.Pods, 0)
	s, err := newStore(j.Side)
	if err != nil {
		return nil, err
	}
	if err := s.replace(first); err != nil {
		return nil, err
	}
	var over atomic.Bool
	var readers sync.WaitGroup
	for range crowdReaders {
		readers.Go(func() {
			for !over.Load() {
				s.list()
			}
		})
	}
	stopReaders := time.AfterFunc(crowdTime(j), func() { over.Store(true) })
	defer stopReaders.Stop()
	var took []float64
	var longest time.Duration
	for n := 0; err == nil && !over.Load(); n++ {
		p := new(*first[n%len(first)])
		p.ResourceVersion = liveVersion(n)
		began := time.Now()
		err = s.write([]*corev1.Pod{p})
		d := time.Since(began)
		took = append(took, milliseconds(d))
		longest = max(longest, d)
		time.Sleep(writePause)
	}
	over.Store(true)
	readers.Wait()
	return sample{"longest": milliseconds(longest), "median": median(took)}, err
}
