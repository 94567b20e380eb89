// Package workqueue takes the place of k8s.io/client-go/util/workqueue: it has the
// same names with the same signatures, and its queues are those of
// [heliograph.example/workqueue]. A program moves over by changing the import:
//
//	import "heliograph.example/clientgo/workqueue"
//
// Interfaces, configurations, limiters and metrics are client-go's own types, so
// what takes a workqueue.TypedRateLimitingInterface takes ours. [Typed] alone is a
// type of ours. What client-go documents is kept; what a program may notice is
// listed in docs/migration.md, and is in short:
//
//   - AddAfter and AddRateLimited never wait, and a queue has no goroutine.
//   - ShutDownWithDrain waits for all keys that were added, not only for those that
//     workers have just then; and any number of callers may wait.
//   - What client-go takes silently or with a panic, such as a Done of a key that no
//     worker has, is told to the error handlers of apimachinery and does no harm.
//   - The metrics provider that was set with client-go's [SetProvider] cannot be
//     read from outside; set it here too.
//
// # Who is waited for
//
// No queue has a goroutine, but for a delaying queue over a queue of the caller's
// ([TypedDelayingQueueConfig].Queue): it has one that adds to that queue what is due,
// from the first AddAfter on, and its ShutDown and ShutDownWithDrain wait for it to
// end. A delay has a timer while it lasts, and the metrics of a named queue have one
// while a key is worked on. Shutting down stops both. All of it works in a bubble of
// testing/synctest.
//
// New code does better with [heliograph.example/workqueue] itself, which takes
// errors instead of limiters and has contexts, priorities and fair shares.
package workqueue
