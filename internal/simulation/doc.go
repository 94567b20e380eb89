// Package simulation looks for histories in which an informer does not keep the
// promises of its contract (docs/contract.md): random writes by several writers
// against the embedded server, under random faults, with everything checked all
// the time.
//
//	go test ./internal/simulation           # a few hundred seeds
//	make soak SEEDS=20000                   # many
//
// # A seed
//
// [Run] plays one seed in a bubble of testing/synctest, where time is virtual: an
// hour of trouble takes some milliseconds. It starts a server, three writers and
// two informers (typed, unstructured or of metadata; streaming or in pages; all
// objects, one namespace or one label; with a transform or without; with a stale
// start, a small relist budget, a group that reads one state at a time), each with
// indexes and handlers: quick ones, slow ones with a small budget, filtered ones,
// ones that resync, panic, come late or leave, and loops over the changes
// (specs.go). Then it takes some dozens of steps. A step is a burst of writes, or
// a fault, or both at the same time: all that package fault can do to requests
// (faults.go), and what the server can do (disturb.go): drop watches, compact, be
// unready, freeze, stop and come back, go into a black hole, go back in time, at
// once or by a restart from a backup; and informers stop and start, or others take
// their places that know no more than the version of the last one; handlers come
// and go, snapshots are opened and held for a while. Every fifth object or so is
// poisonous (poison.go): at times an informer cannot decode it, or its transform
// fails on it.
//
// Not simulated are resources that go away and come back, rights that are
// withdrawn for good, several servers behind one address, index functions that
// fail, writes into shared objects, factories, and client-go's sources; and time
// does not press: in a bubble everything under way ends before time goes on.
//
// A seed fixes all of this, but not how goroutines are scheduled: the same seed
// may find a fault once, and not the next time.
//
// # What is checked
//
// The [Truth] is what the storage of the server ever had: for each key, its states
// in order, each with the number of the write that made it. It consists of epochs:
// a server that goes back in time begins a new one.
//
// After each step, when everything has come to rest, the checks (keeper.go,
// follower.go) compare with it what every store holds and every index lists, and
// what every handler was told since the last time. For each key there must be a
// way through the history that goes forward only, on which all that a handler was
// told lies in order; the same for what a store holds. Queries of all kinds
// (indexes.go, queries.go) find what a look at each object finds, and an open
// snapshot (snapshot.go) shows what the store held when it was opened. And the
// store as a whole must be the state of the server at the version that the store
// says.
//
// Three things are excused. While an informer says that a list was pushed in parts
// and has not come to its end, its store is a mixture. Of an object that is marked
// as broken an older state may be held, as long as the one that the mark is about
// is there and poisonous, and what is held does not change. And (gaps.go) where
// the frame of an object is held back behind the end of a streaming list, the
// object may be missing or as it was before that frame, and a handler told that it
// is gone, until the late frame has made the informer read its state again.
//
// At the end all faults are mended, and within an hour of virtual time stores,
// indexes and handlers must be as the server's exact list, and nothing broken.
//
// # A failure
//
// What an informer asks its source and what it gets is written down, line by line
// (record.go); so is when it, and its handlers, start and stop. [Replay] plays
// that back to a new informer, through the step function of its reflector: each
// answer to the question that it answered then; but objects that are read again by
// their names, which is done at times of chance, get their answers in order.
// [Shrink] leaves out of the record what the failure does not need. A test that
// fails prints what is left, in which file it is, and the command that plays it
// back:
//
//	go test ./internal/simulation -run Replay -args -record=FILE
//
// The lines are JSON and may be changed by hand. A replay in which the informer
// asks something else than the record says ends with a [DivergedError]. The times
// of a record count in nanoseconds from its begin.
package simulation
