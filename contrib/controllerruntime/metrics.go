package controllerruntime

import (
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"heliograph.example/workqueue"
)

// The metrics of queues have one name each, whoever's queue it is, and
// controller-runtime has registered them. So the numbers of ours are added to the
// vectors that are there. What happens is counted as it happens. What is true at
// one moment, the depth and the work that goes on, is read from the queue when
// somebody asks for the metrics, and not counted beside it.

// vectors are controller-runtime's own.
type vectors struct {
	adds, retries              *prometheus.CounterVec
	waits, runs                *prometheus.HistogramVec
	depth, unfinished, longest *prometheus.GaugeVec
}

// help has the texts that controller-runtime has given its metrics: a registry
// takes two vectors for one only if they are equal too.
var help = map[string]string{
	metrics.DepthKey:                   "Current depth of workqueue by workqueue and priority",
	metrics.AddsKey:                    "Total number of adds handled by workqueue",
	metrics.RetriesKey:                 "Total number of items added to the workqueue with a non-zero delay (rate-limited requeues, explicit RequeueAfter or AddAfter calls)",
	metrics.QueueLatencyKey:            "How long in seconds an item stays in workqueue before being requested",
	metrics.WorkDurationKey:            "How long in seconds processing an item from workqueue takes.",
	metrics.LongestRunningProcessorKey: "How many seconds has the longest running processor for workqueue been running.",
	metrics.UnfinishedWorkKey: "How many seconds of work has been done that is in progress and hasn't been observed by work_duration. " +
		"Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
}

// registered finds the vectors, once for the process as they are, and makes the
// moment's gauges fill themselves.
var registered = sync.OnceValue(func() vectors {
	labels := []string{"name", "controller"}
	opts := func(key string) prometheus.Opts {
		return prometheus.Opts{Subsystem: metrics.WorkQueueSubsystem, Name: key, Help: help[key]}
	}
	counter := func(key string) *prometheus.CounterVec {
		return inRegistry(prometheus.NewCounterVec(prometheus.CounterOpts(opts(key)), labels))
	}
	histogram := func(key string) *prometheus.HistogramVec {
		return inRegistry(prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Subsystem: metrics.WorkQueueSubsystem, Name: key, Help: help[key],
		}, labels))
	}
	gauge := func(key string, fill func(*prometheus.GaugeVec), labels ...string) *prometheus.GaugeVec {
		vec := inRegistry(prometheus.NewGaugeVec(prometheus.GaugeOpts(opts(key)), labels))
		if metrics.Registry.Unregister(vec) {
			metrics.Registry.MustRegister(filled{vec, fill})
		}
		return vec
	}
	return vectors{
		adds:       counter(metrics.AddsKey),
		retries:    counter(metrics.RetriesKey),
		waits:      histogram(metrics.QueueLatencyKey),
		runs:       histogram(metrics.WorkDurationKey),
		depth:      gauge(metrics.DepthKey, fillDepth, append(labels, "priority")...),
		unfinished: gauge(metrics.UnfinishedWorkKey, fillUnfinished, labels...),
		longest:    gauge(metrics.LongestRunningProcessorKey, fillLongest, labels...),
	}
})

// inRegistry returns the collector that controller-runtime has registered under
// the name of c, or c, registered, if there is none. If the one that is there has
// other labels or another type, as another version's might, c counts for nobody:
// metrics are no reason to stop a program.
func inRegistry[C prometheus.Collector](c C) C {
	err := metrics.Registry.Register(c)
	if there, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if existing, ok := there.ExistingCollector.(C); ok {
			return existing
		}
	}
	return c
}

// filled is a vector whose gauges are set when they are collected.
type filled struct {
	*prometheus.GaugeVec
	fill func(*prometheus.GaugeVec)
}

// Collect sets the gauges and sends them.
func (f filled) Collect(ch chan<- prometheus.Metric) {
	f.fill(f.GaugeVec)
	f.GaugeVec.Collect(ch)
}

// shown are the queues that are running, for the gauges to be read from. There is
// one registry in a process, and so one of these.
var shown = struct {
	sync.Mutex
	queues map[*measures]shownQueue
}{queues: map[*measures]shownQueue{}}

// shownQueue is a queue whatever its keys are.
type shownQueue interface {
	// whys calls f with the reason of each key.
	whys(f func(workqueue.Reason))
}

// measures are the metrics of one queue.
type measures struct {
	name          string
	adds, retries prometheus.Counter
	waits, runs   prometheus.Observer
}

func newMeasures(name string) *measures {
	v := registered()
	return &measures{
		name:    name,
		adds:    v.adds.WithLabelValues(name, name),
		retries: v.retries.WithLabelValues(name, name),
		waits:   v.waits.WithLabelValues(name, name),
		runs:    v.runs.WithLabelValues(name, name),
	}
}

// Added counts a key that was not in the queue.
func (m *measures) Added(merged bool) {
	if !merged {
		m.adds.Inc()
	}
}

// Started tells how long a key was ready.
func (m *measures) Started(waited time.Duration) { m.waits.Observe(waited.Seconds()) }

// Ended tells how long a key was worked on.
func (m *measures) Ended(worked time.Duration, _ error) { m.runs.Observe(worked.Seconds()) }

// show lets the gauges be read from q until hide is called.
func (m *measures) show(q shownQueue) {
	shown.Lock()
	defer shown.Unlock()
	shown.queues[m] = q
}

// hide takes the gauges away: a queue that is gone has no depth. What was counted
// stays.
func (m *measures) hide() {
	shown.Lock()
	defer shown.Unlock()
	delete(shown.queues, m)
	v := registered()
	for _, vec := range []*prometheus.GaugeVec{v.depth, v.unfinished, v.longest} {
		m.forget(vec)
	}
}

// forget removes what a vector says of queues of this name.
func (m *measures) forget(vec *prometheus.GaugeVec) {
	vec.DeletePartialMatch(prometheus.Labels{"name": m.name, "controller": m.name})
}

// fillDepth sets, for each priority, the number of keys that are ready or will be
// as soon as they are Done.
func fillDepth(vec *prometheus.GaugeVec) {
	fill(vec, func(m *measures, why workqueue.Reason) {
		if why.Place == workqueue.Ready || why.Again {
			vec.WithLabelValues(m.name, m.name, strconv.Itoa(why.Priority)).Inc()
		}
	})
}

// fillUnfinished sets the sum of the times that running keys have been running.
func fillUnfinished(vec *prometheus.GaugeVec) {
	fill(vec, func(m *measures, why workqueue.Reason) {
		gauge := vec.WithLabelValues(m.name, m.name)
		if why.Place == workqueue.Running {
			gauge.Add(time.Since(why.Since).Seconds())
		}
	})
}

// fillLongest sets the longest of these times.
func fillLongest(vec *prometheus.GaugeVec) {
	longest := map[string]time.Duration{}
	fill(vec, func(m *measures, why workqueue.Reason) {
		if why.Place == workqueue.Running {
			longest[m.name] = max(longest[m.name], time.Since(why.Since))
		}
		vec.WithLabelValues(m.name, m.name).Set(longest[m.name].Seconds())
	})
}

// fill forgets what a vector said of the queues that are shown, and calls add for
// each of their keys. Queues of one name add up.
func fill(vec *prometheus.GaugeVec, add func(*measures, workqueue.Reason)) {
	shown.Lock()
	defer shown.Unlock()
	for m := range shown.queues {
		m.forget(vec)
	}
	for m, q := range shown.queues {
		q.whys(func(why workqueue.Reason) { add(m, why) })
	}
}
