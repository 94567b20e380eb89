package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"time"

	"heliograph.example/apiserver"
	"heliograph.example/internal/rawread"
)

var startMetrics = []metric{
	{key: "first", label: "Start, the first of a process", unit: "ms"},
	{key: "start", label: "Start", unit: "ms"},
	{key: "answer", label: "Start until a first list is answered", unit: "ms"},
	{key: "stop", label: "Start and Stop", unit: "ms"},
	{key: "goroutines", label: "goroutines of an idle server", unit: "count"},
	{key: "bytes", label: "heap of an idle server", unit: "KB"},
}

// startSection starts and stops servers in one process.
func startSection(o options, progress io.Writer) ([]figure, error) {
	fmt.Fprintln(progress, "server, start")
	starts := 300
	if o.quick {
		starts = 5
	}
	s, err := runChild(job{Kind: "start", Pods: starts})
	if err != nil {
		return nil, err
	}
	return sampleFigures(s, startMetrics)
}

// measureStart is the job of a child process. Times are medians of j.Pods
// starts, but for the very first.
func measureStart(ctx context.Context, j job) (sample, error) {
	s := sample{}
	times := make(map[string][]float64)
	note := func(key string, since time.Time) {
		times[key] = append(times[key], float64(time.Since(since))/1e6)
	}
	for n := range j.Pods + 1 {
		began := time.Now()
		server, err := apiserver.Start(ctx, apiserver.Options{})
		if err != nil {
			return nil, err
		}
		if n == 0 {
			note("first", began)
		} else {
			note("start", began)
		}
		server.Stop()
		note("stop", began)
	}
	for range j.Pods {
		began := time.Now()
		if err := startAndAsk(ctx, func() { note("answer", began) }); err != nil {
			return nil, err
		}
	}
	for key, v := range times {
		s[key] = median(v)
	}
	return s, measureIdle(ctx, s)
}

// startAndAsk starts a server, gets an answer from it, and stops it.
func startAndAsk(ctx context.Context, answered func()) error {
	server, err := apiserver.Start(ctx, apiserver.Options{})
	if err != nil {
		return err
	}
	defer server.Stop()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	list := rawread.Reader{Client: client, URL: server.Config().Host + "/api/v1/configmaps", Media: "application/json", Mark: "ConfigMapList"}
	c, err := list.List(ctx, nil)
	answered()
	if err == nil && c.Objects != 1 {
		err = fmt.Errorf("%d bytes are no list", c.Bytes)
	}
	return err
}

// measureIdle starts many servers and looks at what each adds to the process.
func measureIdle(ctx context.Context, s sample) error {
	const servers = 50
	goroutines, heap := runtime.NumGoroutine(), liveHeap()
	started := make([]*apiserver.Server, 0, servers)
	defer func() {
		for _, server := range started {
			server.Stop()
		}
	}()
	for range servers {
		server, err := apiserver.Start(ctx, apiserver.Options{})
		if err != nil {
			return err
		}
		started = append(started, server)
	}
	s["bytes"] = (float64(liveHeap()) - float64(heap)) / servers / 1e3
	s["goroutines"] = float64(runtime.NumGoroutine()-goroutines) / servers
	return nil
}
