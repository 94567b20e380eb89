// Package watch takes the place of k8s.io/client-go/tools/watch: it has the same
// names with the same types, so that a program moves over by its import lines.
//
//	import "heliograph.example/clientgo/watch" // was k8s.io/client-go/tools/watch
//
// It follows one collection as a plain [k8s.io/apimachinery/pkg/watch.Interface]:
//
//   - [NewRetryWatcherWithContext] gives every event after a resource version, in
//     the order of the server, and resumes where a watch has ended. It cannot go on
//     when the server has forgotten that version: then it says so with an error
//     event, and ends.
//   - [NewIndexerInformerWatcherWithLogger] gives the changes that an informer sees.
//     It survives whatever happens, for which it may leave out states in between.
//   - [Until] and [UntilWithSync] wait on the one and on the other until conditions
//     hold.
//
// What must be read is the channel of results. Nobody who does not read it makes
// memory grow: the RetryWatcher holds one event, and the informer one pending change
// for each object once it is behind.
//
// Everything ends with its context or by Stop, also where a client does not heed
// either. What is visibly different, and why, is in docs/migration.md.
package watch
