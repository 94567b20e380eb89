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
//	queue, err := workqueue.New[types.NamespacedName](workqueue.Options{})
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
// Every key that Get has handed out must be given back with [Queue.Done]. The
// [Result] tells the queue how the work has ended, and the queue does the rest:
//
//   - Result{} is success. The key leaves the queue.
//   - Result{Err: err} is failure. The key is tried again after a pause that
//     doubles with each failure in a row, is drawn at random from its upper half,
//     and never exceeds [Backoff].Max.
//   - Result{After: d} is success, with a wish to look again after d.
//   - Result{Err: err, After: d} is failure, to be tried again after d.
//
// # Where a key is
//
// A key is ready, delayed or running; see [Queue.Why]. Whatever asks for a key
// at several times gets it at the earliest: [Queue.Add] of a delayed key makes
// it ready now, and [Queue.AddAfter] of a ready key changes nothing. A retry is
// no exception. Somebody who adds a key that is waiting out its back-off has
// seen something new, and so the key runs at once; its failures still count.
//
// The number of failures is kept with the key and goes when the key leaves the
// queue. There is nothing to forget by hand and nothing that could be forgotten:
// the memory of a queue follows the number of keys that are in it, also
// downward. A queue shares nothing with another.
//
// # Pace
//
// [Options].Rate limits how many keys are handed out over time. It counts when a
// key is handed out. There are no bookings for the future, so the thousandth key
// that fails waits no longer for its retry than the first, except for its turn.
//
// # The end
//
// [Queue.Drain] lets the work that is known be done and then closes the queue;
// [Queue.Close] closes it at once and drops what is not running. Both refuse
// new keys with [ErrClosed], and end every [Queue.Get]. A queue has no goroutine
// of its own, and one timer, which runs when a delay ends and is stopped when the
// queue closes.
package workqueue
