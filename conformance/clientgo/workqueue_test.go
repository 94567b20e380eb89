package clientgo

import "time"

var workqueue = upstream{
	Path:    "util/workqueue",
	Ours:    "clientgo/workqueue",
	Timeout: 2 * time.Minute,
	Edits: map[string][]edit{
		// The test waits until the queue has read its channel of delays.
		"delaying_queue_test.go": {
			replace("len(q.(*delayingType[any]).waitingForAddCh) == 0", "delaysAreKnown(q)"),
		},
		// The test waits for the ticker of the metrics.
		"metrics_test.go": {replace("c.HasWaiters()", "metricsAreUpdated(c)")},
	},
	Differs: []skip{
		{Name: "WithChunkSize", Why: "its result is a function over a type that client-go does not export", Row: "queue-chunk"},
	},
	Skips: []skip{
		{Name: "TestMetricShutdown", Why: "it hands the queue metrics of an inner type, and waits for a ticker that ours has only while a key is worked on", Row: "queue-metrics-period"},
	},
}
