// Package workqueue is a queue of keys between those who notice that something
// has to be done and the workers who do it.
//
// A key names a piece of work, say an object. The queue holds each key at most
// once, and gives it to at most one worker at a time; whatever is added while a
// key waits is one with it, and whatever is added while it runs makes it run
// once more. So a worker reads the newest state when it starts, and nothing that
// comes after is missed.
//
// # A worker
//
//	queue, err := workqueue.New(workqueue.Options[types.NamespacedName]{})
//	...
//	for {
//		key, err := queue.Get(ctx)
//		if err != nil {
//			return // ctx has ended, or the queue is closed
//		}
//		err = work(ctx, key)
//		queue.Done(key, workqueue.Result{Err: err})
//	}
//
// Every key that [Queue.Get] or [Queue.GetBatch] has handed out must be given
// back with [Queue.Done]. The [Result] tells the queue how the work has ended, and
// the queue does the rest:
//
//   - Result{} is success. The key leaves the queue.
//   - Result{Err: err} is failure. The key is tried again after a pause that
//     doubles with each failure in a row, is drawn at random from its upper half,
//     and never exceeds [Backoff].Max.
//   - Result{After: d} is success, with a wish to look again after d.
//   - Result{Err: err, After: d} is failure, to be tried again after d.
//   - Result{Err: err, Drop: true} is failure for good: there is no further try
//     until somebody adds the key again.
//
// A Done too many, or of a key that nobody got, is counted and is an error, and
// does no harm.
//
// # Where a key is
//
// A key is ready, running, delayed or held; [Queue.Why] tells which, since when,
// and why, and [Queue.All] tells it of all keys. Whatever asks for a key at several
// times gets it at the earliest: [Queue.Add] of a delayed key makes it ready now,
// and [Queue.AddAfter] of a ready key changes nothing. A retry is no exception.
// Somebody who adds a key that is waiting out its back-off has seen something new,
// and so the key runs at once; its failures still count. [Queue.AddWith] can do
// otherwise: replace a delay by a later one, which makes a debounce, keep the
// back-off, or keep a delay beside a run that comes first. [Queue.Cancel] ends a
// delay without a run.
//
// The number of failures is kept with the key and goes when the key leaves the
// queue. There is nothing to forget by hand and nothing that could be forgotten:
// the memory of a queue follows the number of keys that are in it, also
// downward. A queue shares nothing with another.
//
// # Priorities
//
// AddWith gives a key a priority, and the larger goes first. [Low] is meant for
// what nobody waits for: the objects that are there when a program starts, and
// those of a resync.
//
//	queue.AddWith(key, workqueue.AddOptions{Priority: workqueue.Low})
//
// Keys age: each [Options].Ageing of waiting, a second by default, counts as much
// as one unit of priority. So a key of low priority is overtaken only by those
// that are added in a limited time after it, and none starves. A key has the
// highest priority it was added with since it last left Get, and keeps it when its
// result brings it back.
//
// # Tenants
//
// With a [Options].Tenant function, keys belong to tenants, and among the ready
// keys of one priority the tenants take turns, in proportion to their weights. A
// tenant with thousands of keys then delays the others by one key each turn. The
// usual tenant of an object is its [Namespace]:
//
//	workqueue.Options[types.NamespacedName]{Tenant: workqueue.Namespace}
//
// Priority comes before turns: it is given by the program, not by the tenant. A
// tenant costs memory only while it has keys in the queue.
//
// # Holds
//
// Sometimes a key must not run until something has happened: most often, until the
// program's own cache shows what the last run has written, because a run that does
// not see it would write it again. [Queue.Hold] keeps a key from being handed out
// until it is released. No worker is parked for that, and other keys do not wait.
//
//	key, _ := queue.Get(ctx)
//	written, err := create(ctx, child)
//	release, err := queue.Hold(key, workqueue.Hold{
//		Reason: "child at version " + written.ResourceVersion,
//		Limit:  30 * time.Second,
//	})
//	...
//	whenSeen(written, release) // calls release once the cache has it
//	queue.Done(key, workqueue.Result{})
//
// The hold begins while the key runs, before Done, so the release may come at any
// time, also at once. Every hold has a reason, which Why tells, and a limit: a
// cache that never catches up delays its keys and is counted in
// [Stats].HoldsExpired, and stops nothing. A key that is held and that nobody adds
// leaves the queue with its last hold.
//
// # Pace
//
// [Options].Rate limits how many keys are handed out over time. It counts when a
// key is handed out. There are no bookings for the future, so the thousandth key
// that fails waits no longer for its retry than the first, except for its turn, and
// adding a key twice costs nothing.
//
// # Measures
//
// [Queue.Stats] tells how many keys are where, the age of the oldest, what was
// counted, and histograms of the times that keys waited and ran. Nothing is
// registered anywhere, so any number of queues may have one name. An [Observer] is
// told of single keys, for metrics that must be pushed, and a [Tracer] of all that
// happens to each of them.
//
// # The end
//
// [Queue.Drain] lets the work that is known be done and then closes the queue;
// [Queue.Close] closes it at once and drops what is not running. Both refuse
// new keys with [ErrClosed], and end every [Queue.Get]. A queue has no goroutine
// of its own, and one timer, which runs when a delay or a hold ends and is stopped
// when the queue closes. All times are those of package time, so a queue works in a
// bubble of testing/synctest; a program that brings a clock of its own for its tests
// sets [Options].Clock.
package workqueue
