// Package informer keeps a local, indexed copy of a collection of Kubernetes
// objects and tells handlers of each change to it. It is what users import.
//
// # Use
//
// A [Factory] makes informers for one server. [For] finds the resource of a Go
// type and returns its informer, shared with everybody who asks for the same:
//
//	factory, err := informer.NewFactory(config, informer.FactoryOptions{})
//	pods, err := informer.For(ctx, factory, informer.Options[*corev1.Pod]{
//		Indexes: indexer.Indexes[*corev1.Pod]{
//			"node": {Values: func(p *corev1.Pod, values []string) ([]string, error) {
//				return append(values, p.Spec.NodeName), nil
//			}},
//		},
//	})
//	factory.Start(ctx)
//	if err := factory.Wait(ctx); err != nil {
//		return err // says which collection, what it is doing, and why
//	}
//	onNode, err := pods.Store().ByIndex("node", "worker-1")
//
// T may also be *unstructured.Unstructured or *metav1.PartialObjectMetadata; then
// [Scope].Kind says what to read. [New] makes an informer of any source, without
// a factory.
//
// There are two ways to follow changes. A [Handler] is called from a goroutine of
// its own, one call at a time:
//
//	reg, err := pods.Handle(informer.Funcs[*corev1.Pod]{
//		Deleted: func(ctx context.Context, last *corev1.Pod) { ... },
//	}, informer.HandlerOptions[*corev1.Pod]{Name: "cleanup"})
//
// and a loop over [Informer.Changes] runs in the caller's:
//
//	for change := range pods.Changes(ctx) { ... }
//
// Work that can fail belongs behind a queue: see package controller.
//
// # Contract
//
// For each key, a handler sees a chain: Old is the New it was given last, versions
// never go back (but where the server itself does, as after a restored backup), a
// Deleted ends the object, and another object under the same name is a Deleted and
// an Added. There is no change for an object that did not change, unless the
// handler asked for a resync.
//
// When a handler is told of a change, the store has it, or something newer.
//
// A handler that falls behind delays no one else. Its pending changes are kept one
// by one up to its Budget or the number of objects in the store, whichever is
// larger; past that they are folded: for each key, what is left is the step from
// the state it was told last to the newest, with deletes and changes of identity
// kept. Until it has caught up, what follows is folded too.
//
// A handler can come late, and starts with the objects that are there. It can go
// at any time with [Registration.Remove]; to tie it to a context, use
//
//	context.AfterFunc(ctx, reg.Remove)
//
// The objects that are there, and those of a resync, are read from a snapshot of
// the store while the handler is told of them: a few are copied at a time, however
// many there are. In order they stand where the handler came, or the resync was due:
// what changed before is told before, what changed since follows, and an object that
// is gone by now is still told, and then its end. A resync that is due while the
// objects of the one before, or the first, are still being told is left out.
//
// Failures that concern one object - it cannot be decoded, transformed or
// indexed, or a handler panics on it - are reported as [ObjectError], counted, and
// stop nothing else.
//
// What is held of an object that cannot be decoded or transformed is an older state;
// [Informer.IsBroken] and [Informer.Broken] tell of that.
//
// Objects are read-only: they belong to the store and to all handlers, and have
// parts in common with one another. In tests, set Options.Mutations or the
// environment variable HELIOGRAPH_MUTATION_DETECTOR to have it checked: see
// [MutationPolicy]. Options.Shape leaves out what nobody reads.
//
// # Reading your own writes
//
// A write returns the resourceVersion of what it wrote.
//
//	err = pods.WaitForVersion(ctx, written.ResourceVersion)
//
// waits until the store has that change, [Registration.WaitForVersion] until a
// handler has returned from it, and [Informer.OnVersion] calls a function then. They
// are woken by events, bookmarks and lists, ask the server for nothing, and cost no
// goroutine. When the server goes back in time (a restored backup), the waits under
// way fail with [ErrEpoch]: the write may be undone.
//
// # Types that cannot be read
//
// A type that is not served or forbidden delays no other. [WaitFor] waits for the
// informers that are used, Factory.Wait for all. While the server does not serve a
// type, its reader tries ever more slowly, and the factory asks discovery, once a
// minute for all of them together, whether it has come. [Scope].Resource makes an
// informer for a type that is yet to come. reflector.Options.NotServed says what
// becomes of the objects of a type that is gone.
//
// # Many informers
//
// The informers of a factory share a [reflector.Group]: at most
// FactoryOptions.MaxLists of them read their whole state at a time, those first for
// which somebody waits; an outage of the server is watched by one request a second,
// and all are back some seconds after it.
//
// # Goroutines
//
// A running informer has one, that which called Run: the reader of the server, which
// waits there for events. While changes come, and for a moment after them, there is
// another, the controller loop. While an object is broken there is one that reads it
// again; one more looks out for mutations, if that is on. Each Factory.Start has one.
// A handler has one while it has something to be told, and none while it is idle. Run
// waits for all of them.
//
// A transform is called in the reader's goroutine, an index function in that of the
// loop. A transform that ends its goroutine (runtime.Goexit, which FailNow of a test
// calls) so ends the caller of Run, after everything that Run has started; waits are
// told why.
//
// # Changes on their way
//
// The controller loop writes each batch to the store and, once for all handlers, to
// a log of changes; that is one step for whoever takes a snapshot of the one and a
// place in the other. Then it looks at each handler: one that is idle gets a
// goroutine, one that has fallen too far behind has its part of the log folded.
// Handlers read the log with a cursor each. What all have read is used again, so
// that delivery allocates next to nothing, and a log that was read holds nothing;
// a handler that does not return keeps 128 changes at most.
package informer
