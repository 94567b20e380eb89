// Package cache takes the place of k8s.io/client-go/tools/cache: it has the same
// names with the same types, so that a program moves over by its import lines.
//
//	import "heliograph.example/clientgo/cache" // was k8s.io/client-go/tools/cache
//
// Types, interfaces, handler adaptors and helpers are client-go's own, under the
// same names, so values pass freely between code that imports the one and code that
// imports the other: a lister made by client-go reads an [Indexer] of ours, and an
// informer of ours takes a handler written for client-go's. What is constructed is
// ours:
//
//   - [NewStore], [NewIndexer] and [NewThreadSafeStore] give the store of package
//     indexer: reads take no lock, and wait for no writer.
//   - [NewSharedInformer], [NewSharedIndexInformer] and their relatives give the
//     informer of package informer: it resumes instead of listing again, tells of what
//     has changed and of nothing else, and holds no more for a slow handler than there
//     are objects. [Native] gives access to it, and to its status.
//     [NewSharedIndexInformerFromSource] reads a source of package reflector.
//   - [NewInformerWithOptions] and its older relatives give the same informer as a
//     store and a controller.
//   - [NewReflectorWithOptions] and [New] give client-go's Reflector and controller,
//     over a [ListerWatcher] of ours that mends what it can.
//
// What is visibly different, and why, is in docs/migration.md.
package cache
