package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const (
	// watcherCount is how many clients watch, and quickWatcherCount in a quick run.
	watcherCount      = 20_000
	quickWatcherCount = 200
	// watcherWrites is how many objects are written, one right after the other.
	watcherWrites = 200
)

// watchersSection writes to a server in a process of its own that has very many
// watchers, which are in this process.
func watchersSection(o options, progress io.Writer) (figures []figure, err error) {
	n := watcherCount
	if o.quick {
		n = quickWatcherCount
	}
	fmt.Fprintf(progress, "server, watchers: %d\n", n)
	j := job{Kind: "watched"}
	if o.profile != "" {
		j.Profile = filepath.Join(o.profile, "watched.pprof")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server, err := startWatched(j)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.stop()) }()
	return measureWatchers(ctx, server, n)
}

// measureWatchers opens n watches, writes, and waits until every watcher has been
// told of every write.
func measureWatchers(ctx context.Context, server *watched, n int) ([]figure, error) {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.url, QPS: -1})
	if err != nil {
		return nil, err
	}
	maps := client.CoreV1().ConfigMaps("default")
	// This fills the watch cache, which is no watcher's.
	list, err := maps.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	before, err := server.look()
	if err != nil {
		return nil, err
	}
	c := newCrowd(n)
	defer c.close()
	if err := c.open(ctx, server.carrier, list.ResourceVersion); err != nil {
		return nil, err
	}
	idle, err := server.look()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	for i := range watcherWrites {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: crowdName(i)}}
		if _, err := maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return nil, err
		}
	}
	wrote := time.Since(began)
	if err := c.wait(ctx, c.told); err != nil {
		return nil, err
	}
	took := time.Since(began)
	after, err := server.look()
	if err != nil {
		return nil, err
	}
	per, events := 1/float64(n), float64(n)*watcherWrites
	return []figure{
		{"watchers, none of which was ended", "count", float64(n)},
		{"an idle watcher: goroutines", "count", per * (idle["goroutines"] - before["goroutines"])},
		{"an idle watcher: heap", "KB", per * (idle["heap"] - before["heap"]) / 1e3},
		{"an idle watcher: stacks", "KB", per * (idle["stacks"] - before["stacks"]) / 1e3},
		{"a watcher: heap and stacks after the writes", "KB", per * (after["heap"] + after["stacks"] - before["heap"] - before["stacks"]) / 1e3},
		{"a watcher: resident memory, peak up to the end of the writes", "KB", per * (after["resident"] - before["resident"]) / 1e3},
		{"a delivered event: size", "B", float64(c.bytes.Load()) / events},
		{"a delivered event: CPU", "µs", (after["cpu before"] - idle["cpu"]) * 1e6 / events},
		{fmt.Sprintf("%d writes", watcherWrites), "s", wrote.Seconds()},
		{"from the first write until every watcher has every event", "s", took.Seconds()},
	}, nil
}
