package informer

import (
	"context"
	"time"

	"heliograph.example/deltafifo"
)

// Handler is told of changes, one at a time and in order. It may take as long
// as it likes: it delays no one but itself, and the end of Run. ctx ends when the
// handler is removed or the informer stops; its values are those of the context
// of Run. A panic is recovered, reported with its key and counted, and the handler
// goes on with the next change, unless HandlerOptions.Crash is set.
type Handler[T any] interface {
	Handle(ctx context.Context, change Change[T])
}

// HandlerFunc is a function as a [Handler].
type HandlerFunc[T any] func(ctx context.Context, change Change[T])

// Handle calls f.
func (f HandlerFunc[T]) Handle(ctx context.Context, change Change[T]) { f(ctx, change) }

// Funcs is a [Handler] made of one function for each type of change. A nil
// function ignores its type.
type Funcs[T any] struct {
	// Added is told of a new object; initial marks those that were there when
	// the handler started to listen.
	Added func(ctx context.Context, obj T, initial bool)
	// Updated is told of a new state. A resync calls it with the same object
	// twice.
	Updated func(ctx context.Context, old, new T)
	// Deleted is told of the end of an object, with the last state known.
	Deleted func(ctx context.Context, last T)
}

// Handle calls the function for the type of the change.
func (f Funcs[T]) Handle(ctx context.Context, c Change[T]) {
	switch c.Type {
	case deltafifo.Added:
		if f.Added != nil {
			f.Added(ctx, c.New, c.Initial)
		}
	case deltafifo.Updated:
		if f.Updated != nil {
			f.Updated(ctx, c.Old, c.New)
		}
	case deltafifo.Deleted:
		if f.Deleted != nil {
			f.Deleted(ctx, c.Object())
		}
	}
}

// HandlerOptions say how a handler wants to be told. The zero value is ready
// for use.
type HandlerOptions[T any] struct {
	// Name stands for the handler in errors, logs and status. If empty, a
	// name is made from its type or function.
	Name string
	// Filter, if not nil, narrows what the handler sees: an object that
	// starts to match is Added, one that stops to match is Deleted. It must
	// be pure.
	Filter func(obj T) bool
	// Resync is the period after which the handler is told again of every
	// object. It begins anew with each run, and is left out while the objects
	// of the last one are still being told. 0 means never; less than a second is
	// an error.
	Resync time.Duration
	// Budget is the number of pending changes up to which the handler gets
	// each change, unless there are more objects in the store: then it is their
	// number. Past it, pending changes are folded to what still matters of each
	// key. 0 means DefaultBudget; a negative number is an error.
	Budget int
	// Crash lets a panic of the handler or its filter go on, once it is reported:
	// it ends the program. Without it, the panic is recovered, and the handler
	// goes on with the next change.
	Crash bool
}

// DefaultBudget is the number of pending changes that a handler may fall behind
// before they are folded.
const DefaultBudget = 4096
