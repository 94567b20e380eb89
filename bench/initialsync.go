package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"heliograph.example/informer"
)

var syncMetrics = []metric{
	{key: "cpu", label: "CPU", unit: "s"},
	{key: "allocated", label: "allocated", unit: "MB"},
	{key: "mallocs", label: "allocations per object", unit: "count"},
	{key: "resident", label: "peak of resident memory", unit: "MB"},
	{key: "heap", label: "peak of heap", unit: "MB"},
	{key: "retained", label: "retained per object", unit: "B"},
}

// syncContests read the collection from the server until store and handler
// know all of it.
func syncContests(o options) []contest {
	formats := []bool{false}
	if o.json {
		formats = append(formats, true)
	}
	var out []contest
	for _, asJSON := range formats {
		for _, m := range []struct{ mode, name string }{
			{modeStream, "streaming list"},
			{modeList, "list, each as it does by default"},
			{modePaged, fmt.Sprintf("list in pages of %d", pageSize)},
		} {
			format := "protobuf"
			if asJSON {
				format = "JSON"
			}
			j := job{Kind: "sync", Side: clientGo, Pods: o.pods, Mode: m.mode, JSON: asJSON}
			own := j
			own.Side = heliograph
			out = append(out, contest{
				name:    fmt.Sprintf("initial sync, %s, %s", format, m.name),
				metrics: syncMetrics,
				server:  true,
				theirs:  j,
				ours:    []entrant{{job: own}},
			})
		}
	}
	return out
}

// measureSync is the job of a child process: one informer, from its creation to
// the moment at which its handler knows every pod.
func measureSync(ctx context.Context, j job) (sample, error) {
	d := newDelivery(1)
	live := liveHeap()
	before, err := readUsage()
	if err != nil {
		return nil, err
	}
	heap := watchHeap()
	s, err := newSynced(ctx, j, d)
	if err != nil {
		heap.stop()
		return nil, err
	}
	stop := start(ctx, s)
	err = s.wait(ctx)
	after, usageErr := readUsage()
	resident, residentErr := peakResident()
	peak := heap.stop()
	retained := liveHeap()
	if err = errors.Join(err, usageErr, residentErr); err == nil {
		err = errors.Join(d.check(j.Pods, 0), checkStore(s, j.Pods, func(i int) string { return strconv.Itoa(i + 1) }))
	}
	if err = errors.Join(err, stop()); err != nil {
		return nil, err
	}
	used, n := after.since(before), float64(j.Pods)
	return sample{
		"cpu":       used.cpu.Seconds(),
		"allocated": float64(used.bytes) / 1e6,
		"mallocs":   float64(used.mallocs) / n,
		"resident":  float64(resident) / 1e6,
		"heap":      float64(peak) / 1e6,
		"retained":  (float64(retained) - float64(live)) / n,
	}, nil
}

// newSynced makes an informer the way users of either side do.
func newSynced(ctx context.Context, j job, d *delivery) (side, error) {
	config := &rest.Config{Host: j.URL + "/" + j.Mode, QPS: -1}
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	if j.JSON {
		config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	}
	if j.Side == clientGo {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		return newTheirs(coreinformers.NewPodInformer(client, corev1.NamespaceAll, 0, theirIndexers()), d.counters)
	}
	factory, err := informer.NewFactory(config, informer.FactoryOptions{})
	if err != nil {
		return nil, err
	}
	i, err := informer.For(ctx, factory, informer.Options[*corev1.Pod]{Indexes: ourIndexes()})
	if err != nil {
		return nil, err
	}
	return newOurs(i, d.counters)
}
