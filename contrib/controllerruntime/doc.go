// Package controllerruntime makes managers of sigs.k8s.io/controller-runtime run
// on Heliograph's informers and queues. It is a module of its own, so that nobody
// who uses Heliograph gets controller-runtime with it.
//
//	options := manager.Options{...}
//	controllers := controller.Options{Reconciler: reconciler}
//	controllerruntime.Use(&options, &controllers)
//	mgr, err := manager.New(config, options)
//	...
//	c, err := controller.New("websites", mgr, controllers)
//
// Nothing else changes: sources, handlers, predicates, field indexes, the
// manager's client, several namespaces, metadata-only and unstructured objects
// are used as before. With the builder, it is
//
//	builder.ControllerManagedBy(mgr).For(&Website{}).WithOptions(controllers)
//
// # What it brings
//
//   - The cache resumes its watches instead of listing again, calls no handler
//     for objects that a list shows unchanged, and holds no event twice: see
//     packages informer and clientgo/cache, whose informers these are.
//   - The queue has no goroutine where controller-runtime's has five, drains when
//     it is asked to, and costs a fraction: see package workqueue, and
//     docs/performance.md for figures.
//   - The metrics of queues go on under their names, in controller-runtime's
//     registry.
//
// # What is different
//
//   - Keys age: a key of low priority is overtaken only by those that are added
//     in the 100 seconds after it, and so never starves. In controller-runtime's
//     queue it waits for as long as there are others.
//   - Priorities are from -1000 to 1000; others are taken for the nearest of
//     them.
//   - A key that is added with a delay counts in workqueue_adds_total when it is
//     added, and not when its time has come.
//   - A key that is added while it runs, with a delay and without, runs once
//     more, at once, as with controller-runtime.
//   - ShutDownWithDrain drains. Controllers do not call it.
package controllerruntime
