package reflector

import (
	"context"
	"iter"

	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
)

// Sink takes what a reflector reads. An informer's sink is a queue in front of
// its store; the embedded server's watch cache is another.
type Sink[T any] interface {
	// Push hands over changes in order. The slice is used again when Push has
	// returned: the sink must not keep it, only copies of what is in it. Items
	// and objects it may keep. It must not wait for anything slow: while it
	// does, nobody drains the socket. An error (say, a closed queue) ends the
	// reflector's run.
	Push(deltas []deltafifo.Delta[T]) error
	// Known waits until everything pushed so far has been applied, and
	// returns a view of what is there. A relist compares with it. The view is
	// used until the next Push and not after.
	Known(ctx context.Context) (Known, error)
}

// Known is what a sink holds: each key with the identity and version that was
// pushed last.
type Known interface {
	// Lookup returns what is held under key.
	Lookup(key types.NamespacedName) (uid types.UID, version string, ok bool)
	// Keys yields each key that is held, in any order.
	Keys() iter.Seq[types.NamespacedName]
	// Len is the number of keys.
	Len() int
}

// Holder is implemented by a [Sink] that gives its objects to a [Follower].
type Holder[T any] interface {
	// Held returns what the sink has under a key. It may be late: what was pushed
	// need not be there yet. The reading goroutine calls it for each event, so it
	// must be quick and wait for nobody.
	Held(key types.NamespacedName) (T, bool)
}
