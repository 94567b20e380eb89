package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

var syncMetrics = []metric{
	{key: "cpu", label: "CPU", unit: "s"},
	{key: "allocated", label: "allocated", unit: "MB"},
	{key: "mallocs", label: "allocations per object", unit: "count"},
	{key: "faults", label: "pages touched for the first time, per object", unit: "count"},
	{key: "resident", label: "peak of resident memory", unit: "MB"},
	{key: "heap", label: "peak of heap", unit: "MB"},
	{key: "retained", label: "retained per object", unit: "B"},
}

// customObjects bounds the collection of custom resources: client-go takes
// 45 KB for each that is unstructured.
const customObjects = 20000

// syncContests read a collection from the server until store and handler know all
// of it.
func syncContests(o options) []contest {
	out := []contest{
		syncContest("initial sync, protobuf, streaming list", job{Data: podsProtobuf, Pods: o.pods, Mode: modeStream}),
		syncContest("initial sync, protobuf, without managedFields", job{Data: podsProtobuf, Pods: o.pods, Mode: modeStream, Cut: cutManaged}),
		fieldsContest("initial sync, protobuf, some fields, client-go with whole objects", o, cutNothing),
		fieldsContest("initial sync, protobuf, some fields, client-go with a transform that strips", o, cutFields),
		syncContest("initial sync, protobuf, list, each as it does by default", job{Data: podsProtobuf, Pods: o.pods, Mode: modeList}),
		syncContest(fmt.Sprintf("initial sync, protobuf, list in pages of %d", pageSize), job{Data: podsProtobuf, Pods: o.pods, Mode: modePaged}),
	}
	custom := job{Data: workloadsSet, Pods: min(o.pods, customObjects), Mode: modeStream}
	for _, kind := range []string{kindUnstructured, kindTyped} {
		whole := custom
		whole.Case = kind
		managed := whole
		managed.Cut = cutManaged
		out = append(out, syncContest("initial sync, custom resources, "+kind, whole))
		if kind == kindUnstructured {
			out = append(out, syncContest("initial sync, custom resources, "+kind+", without managedFields", managed))
		}
	}
	if o.json {
		out = append(out,
			syncContest("initial sync, JSON, streaming list", job{Data: podsJSON, Pods: o.pods, Mode: modeStream}),
			syncContest("initial sync, JSON, list, each as it does by default", job{Data: podsJSON, Pods: o.pods, Mode: modeList}),
			syncContest(fmt.Sprintf("initial sync, JSON, list in pages of %d", pageSize), job{Data: podsJSON, Pods: o.pods, Mode: modePaged}))
	}
	return out
}

func syncContest(name string, j job) contest {
	j.Kind = "sync"
	return contest{name: name, metrics: syncMetrics, serve: serving{j.Data, j.Pods, j.Mode}, theirs: by(clientGo, j), ours: []entrant{{job: by(heliograph, j)}}}
}

// fieldsContest lets Heliograph read some fields only, and client-go cut
// something in a transform.
func fieldsContest(name string, o options, theirCut string) contest {
	c := syncContest(name, job{Data: podsProtobuf, Pods: o.pods, Mode: modeStream, Cut: cutFields})
	c.theirs.Cut = theirCut
	return c
}

// measureSync is the job of a child process: one informer, from its creation to
// the moment at which its handler knows every object.
func measureSync(ctx context.Context, j job) (sample, error) {
	set, err := datasetNamed(j.Data)
	if err != nil {
		return nil, err
	}
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
		err = errors.Join(d.check(j.Pods, 0), checkStore(s, set, j.Pods, initialVersion))
	}
	if err = errors.Join(err, stop()); err != nil {
		return nil, err
	}
	used, n := after.since(before), float64(j.Pods)
	return sample{
		"cpu":       used.cpu.Seconds(),
		"object":    float64(used.cpu.Microseconds()) / n,
		"allocated": float64(used.bytes) / 1e6,
		"mallocs":   float64(used.mallocs) / n,
		"faults":    float64(used.faults) / n,
		"resident":  float64(resident) / 1e6,
		"heap":      float64(peak) / 1e6,
		"retained":  (float64(retained) - float64(live)) / n,
	}, nil
}

// growthMetrics are all for each object: they should not grow with their number.
var growthMetrics = []metric{
	{key: "object", label: "CPU per object", unit: "µs"},
	{key: "mallocs", label: "allocations per object", unit: "count"},
	{key: "retained", label: "retained per object", unit: "B"},
}

// growthContests read ever larger collections of small objects.
func growthContests(o options) []contest {
	var out []contest
	for _, size := range []struct {
		objects int
		name    string
	}{{10_000, "10k"}, {100_000, "100k"}, {1_000_000, "1M"}} {
		objects := size.objects
		if o.quick {
			objects /= 1000
		}
		c := syncContest("growth, "+size.name+" small objects", job{Data: smallSet, Pods: objects, Mode: modeStream})
		c.metrics = growthMetrics
		if size.objects > 100_000 {
			c.runs = 1
		}
		out = append(out, c)
	}
	return out
}

// cutFieldsOf are the fields that are read where not all are: what a controller
// of endpoints or a scheduler looks at.
var cutFieldsOf = strings.Fields("metadata.labels metadata.ownerReferences spec.nodeName status.phase status.podIP")
