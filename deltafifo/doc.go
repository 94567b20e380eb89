// Package deltafifo is the queue between the reader of a server and the loop
// that applies what was read. It keeps changes in order, hands them out in
// batches, and stays small however slow the loop is.
//
// # Use
//
// One producer pushes, one consumer pops:
//
//	queue, err := deltafifo.New[*corev1.Pod](deltafifo.Options{Holds: store.Holds})
//
//	// the reader
//	err = queue.Push(deltas) // never waits for the consumer
//
//	// the loop
//	for {
//		batch, err := queue.Pop(ctx)
//		if err != nil {
//			return err // ctx ended, or ErrClosed
//		}
//		apply(batch)
//	}
//
// A popped batch is in flight until the consumer calls [DeltaFIFO.Pop] again:
// that acknowledges it. [DeltaFIFO.Settled] waits until all that was pushed is
// acknowledged; a reader calls it before it compares a list with the store. The
// consumer must not change or keep the slice of a batch, only its objects.
//
// A list arrives as one [Delta] of type [Replaced], which is never taken apart.
//
// # Order
//
// Deltas are popped in the order in which they were pushed. The queue drops some
// of them when it is over its budget, but moves none before another. So versions
// come in the order of the reader, for each key and for all together. A reader
// should push no version of a key after a newer one: the queue passes it on, and
// drops it only if a compaction meets both.
//
// # Compaction
//
// When more than Options.Budget deltas wait, the queue keeps for each key only
// what its consumer still needs to know. Between two Replaced, which nothing
// crosses, that is:
//
//   - the newest state, if the object lives, at the place where it was pushed;
//   - before it the first Deleted, which ends the object that the consumer
//     knows. It stays even if the object that follows has the same UID (it left
//     the selection and came back): an end is never hidden from someone who saw
//     the beginning;
//   - no object that began and ended in between.
//
// The newest state is an Added if it follows a Deleted, or another UID, or if
// the oldest delta was Added; else it is an Updated. So Added and Updated, and
// Added, Deleted and Added, become one Added where nothing was held before;
// Updated and Deleted become the Deleted.
//
// A first Deleted goes too if the consumer cannot hold the key: Options.Holds
// says that its store does not, and neither the batch in flight nor what stays
// in the queue before the last Replaced names it. Without Holds no Deleted that
// came first is dropped, and a consumer can meet one for a key that it does not
// hold. A consumer takes a Deleted as the end of whatever it holds under the key:
// where a server changed the UID without a Deleted, the one that stays can name
// a UID which the consumer never saw.
//
// The newest version always arrives. If the delta that carried it is dropped, a
// [Bookmark] stands in its place; older bookmarks are dropped. Versions are
// compared where both are numbers; else the later delta is the newer one.
//
// # What a batch shows
//
// After each batch the consumer is in a state that the reader was in: it has
// everything up to some place in what was pushed, and nothing after it. For
// this, what a compaction has left is popped in one batch, whatever its size. If
// it were cut, the consumer could have applied version 20 of one key while
// version 10 of another was dropped in favour of version 30, which still waits,
// and whoever waited for version 20 would read too old a state. A consumer that
// publishes a version does so at the end of a batch, and publishes the newest of
// the batch.
//
// # Bounds
//
// Push returns with at most max(Budget, 2 x S) deltas queued, where items of a
// Replaced count as deltas, and S is what the last compaction left: for each
// stretch between Replaced deltas
//
//   - two deltas for each key that the consumer may hold: that its store holds,
//     that is in flight, or that is named earlier in the queue;
//   - one for each other key that lives at the end of the stretch;
//   - one bookmark;
//
// and the Replaced deltas with their items. A producer that waits for Settled
// before each list has one Replaced in the queue at most. So the queue is
// bounded by the number of objects that live in the store or at the server,
// never by the number of events. Without Holds it is bounded by the number of
// keys that changed since the last Pop.
//
// A compaction costs time in proportion to the queue and runs only when at least
// half of the queue is new: a constant amount for each delta.
//
// Popped slots are cleared, so they keep no object alive. The queue gives
// buffers that a burst made large back: at once, or where many large batches
// follow each other, when none came for a second. Until then each of its two
// buffers keeps no more than Budget slots (rounded up to a power of two); an
// idle queue keeps at most 64.
//
// # Failure
//
// [DeltaFIFO.Close] ends the queue. Push then returns [ErrClosed], Pop first
// returns what is left, and Settled does not wait any more. The package starts
// no goroutine.
package deltafifo
