package main

import "fmt"

// target is what a row has to reach.
type target struct {
	// floor is what it must reach, and aim what is hoped for: how many times
	// less Heliograph has to need.
	floor, aim float64
	// absolute says that they are bounds of Heliograph's own figure instead.
	absolute bool
}

const notMet = "NO"

// show prints a floor or an aim.
func (t target) show(v float64) string {
	switch {
	case t == target{}:
		return ""
	case t.absolute:
		return "<= " + fmt.Sprint(v)
	}
	return fmt.Sprint(v) + "x"
}

// met says which of floor and aim a row has reached.
func (t target) met(theirs, ours float64) string {
	reached := func(v float64) bool {
		if t.absolute {
			return ours <= v
		}
		return theirs >= v*ours
	}
	switch {
	case t == target{}:
		return ""
	case reached(t.aim):
		return "aim"
	case reached(t.floor):
		return "yes"
	}
	return notMet
}

func times(floor, aim float64) target  { return target{floor: floor, aim: aim} }
func atMost(floor, aim float64) target { return target{floor, aim, true} }

// targets are those of the design of Heliograph, by the names of rows.
var targets = map[string]target{
	"initial sync, protobuf, list, each as it does by default: CPU":                     times(2.5, 3.5),
	"initial sync, protobuf, streaming list: CPU":                                       times(4, 6),
	"initial sync, protobuf, streaming list: peak of resident memory":                   times(2.5, 4),
	"initial sync, protobuf, list, each as it does by default: peak of resident memory": times(2.5, 4),
	"initial sync, protobuf, streaming list: retained per object":                       times(2, 2.8),

	"initial sync, custom resources, unstructured: retained per object": times(3, 5),
	"initial sync, custom resources, unstructured: CPU":                 times(3, 4.5),
	"initial sync, custom resources, typed: CPU":                        times(2, 3),

	"initial sync, protobuf, some fields, client-go with whole objects: CPU":                     times(8, 12),
	"initial sync, protobuf, some fields, client-go with whole objects: peak of resident memory": times(6, 8),
	"initial sync, protobuf, some fields, client-go with whole objects: retained per object":     times(5, 8),

	"watch, protobuf over HTTP, 1 handler: CPU per event":         times(3.5, 5),
	"watch, protobuf over HTTP, 1 handler: allocations per event": times(8, 10),

	"pipeline, 1 handler, ours from batches of 64: allocations per event":   atMost(0.1, 0.01),
	"pipeline, 5 handlers, ours from batches of 64: allocations per event":  atMost(0.1, 0.01),
	"pipeline, 20 handlers, ours from batches of 64: allocations per event": atMost(0.1, 0.01),
	"pipeline, 1 handler, ours from batches of 64: CPU per event":           times(4, 6),
	"pipeline, 5 handlers, ours from batches of 64: CPU per event":          times(5, 8),
	"pipeline, 20 handlers, ours from batches of 64: CPU per event":         times(8, 12),

	"relist of 100k, 0.1 % changed, ready objects: CPU":                times(5, 15),
	"relist of 100k, 0.1 % changed, ready objects: calls of a handler": atMost(100, 100),

	"store, Get while 100k are replaced without pause: the longest": times(15, 50),
	"store of 100k: Get as a lister does it, hot":                   times(2, 3),
	"store of 100k: Get as a lister does it, cold":                  times(2, 3),
	"store of 100k: ByIndex of 100":                                 times(5, 8),

	"queue: Add, Get, Done, 1 goroutine":                               times(1.2, 2),
	"queue: Add, Get, Done, 4 goroutines":                              times(1.2, 2),
	"queue: Add, Get, Done, 16 goroutines":                             times(1.2, 2),
	"queue: fill with 100k keys":                                       times(0.8, 1.2),
	"queue: Add of a key that waits":                                   times(0.8, 1.2),
	"queue, against controller-runtime: Add, Get, Done, 1 goroutine":   times(6, 12),
	"queue, against controller-runtime: Add, Get, Done, 4 goroutines":  times(6, 12),
	"queue, against controller-runtime: Add, Get, Done, 16 goroutines": times(6, 12),

	// Two thirds of what the queue of our own form has to reach.
	"drop-in queue: Add, Get, Done, 1 goroutine":   times(1.13, 1.67),
	"drop-in queue: Add, Get, Done, 4 goroutines":  times(1.13, 1.67),
	"drop-in queue: Add, Get, Done, 16 goroutines": times(1.13, 1.67),

	"idle: goroutines of an informer":          atMost(2, 1),
	"idle: goroutines of a handler":            atMost(1, 0),
	"idle: bytes of an informer and a handler": times(4, 7),
}

const contended = "two processors share the one lock of a queue, as in client-go's, and nothing is done with the keys in between: the row " +
	"depends on how often they meet at it. One goroutine at a time waits for the lock, so it costs little more with many workers than with one. GetBatch takes it once for many keys."

// pages explains what the CPU of an initial sync consists of.
const pages = "much of the CPU is the kernel's, for pages of memory that the process touches for the first time: one cost 12 µs on the virtual machine where this was looked into " +
	"(77,000 pages of 300 MB, touched one after the other: 0.92 s), on both sides, so the ratio follows that of the peaks of memory. What is kept of a Pod is nearly all that is allocated for it: " +
	"its own struct and the slices of containers, volumes, conditions and statuses, which differ from Pod to Pod. The rest is the collector, which marks the heap again and again while it grows, and decoding."

// reasons explain rows in which Heliograph loses or does not reach what it has
// to. They are printed where that is so.
var reasons = map[string]string{
	"idle: bytes of an informer and a handler": "a quarter is the stack of the reader, which waits for the server. The rest are the open watch with its contexts, timers and buffer (3 KB), the reader and its status (2 KB), the handler (1 KB), the empty store (1 KB), the queue and the informer.",
	"watch, protobuf over HTTP, 1 handler: CPU per event": "in a profile, about a quarter is reading the socket, which net/http does 4 KB at a time, the same on both sides; another is going through the whole Pod of 4 KB, " +
		"which an event carries, to find what has changed; the rest waking up, the collector, and the way to the handler.",
	"initial sync, protobuf, streaming list: CPU":                      pages,
	"initial sync, protobuf, list, each as it does by default: CPU":    pages,
	"queue: Add, Get, Done, 4 goroutines":                              contended,
	"queue: Add, Get, Done, 16 goroutines":                             contended,
	"queue, against controller-runtime: Add, Get, Done, 16 goroutines": contended,
	"queue: bytes per key that waits": "a key has its priority, tenant, times and failures with it from the start. client-go keeps failures in " +
		"its rate limiter, in a map that grows with each key that fails and shrinks only where somebody calls Forget; this row has none.",
	"queue: Add, Get, Done, 1 goroutine":                               "a quarter of it is the clock, which is read when a key is added, taken and done; client-go's queue reads it only where it has metrics.",
	"drop-in queue: Add, Get, Done, 4 goroutines":                      contended,
	"drop-in queue: Add, Get, Done, 16 goroutines":                     contended,
	"drop-in queue: bytes per key that waits":                          "as for a key that waits in the queue of our own form.",
	"drop-in queue: bytes per key that is delayed":                     "as for a key that waits in the queue of our own form.",
	"queue, 1M keys: bytes per key that waits":                         "as for a key that waits in a smaller queue.",
	"queue, ours fair among tenants: fill and drain of 100k keys":      "client-go's queue has no tenants: this is what fairness costs.",
	"queue, ours in batches of 64: fill and drain of 100k keys":        "keys are added one by one on both sides.",
	"queue: bytes per key that is delayed":                             "as for a key that waits.",
	"queue, against controller-runtime: bytes per key that is delayed": "as for a key that waits.",
	"store of 100k: bytes per object, three indexes included": "the newest object and the name lie beside each entry, so that a Get needs neither a lock nor " +
		"more than two places of memory.",
	"store of 100k: List": "each object is beside its entry, and entries lie all over the memory; client-go's map has the pointers in its slots, " +
		"one behind the other. Ours waits for several entries at a time, but still for each.",
}
