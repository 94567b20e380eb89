// Package controllerruntime runs programs written for kube-apiserver,
// unmodified, on Heliograph's API server for tests: managers, controllers,
// clients and caches of sigs.k8s.io/controller-runtime, and what client-go has
// above its typed clients. It has only tests, and a module of its own, so that
// nobody who uses Heliograph gets controller-runtime with it.
//
//	cd conformance/controllerruntime && go test ./...
//
// All of it runs twice: on controller-runtime's own informers and queues, which
// judges the server, and on ours (heliograph.example/contrib/controllerruntime),
// which judges those. SUBJECT=heliograph, or any other value, runs one of the two.
//
// All of it runs with KUBE_WATCHLIST_INCONSISTENCY_DETECTOR=true: client-go then
// reads each streaming list once more by an exact list, and panics when the two
// differ.
//
// Whole managers run in a bubble of testing/synctest, server and connections
// included. That makes "nothing more happens" a thing to wait for, so the tests
// count requests exactly, and it makes timeouts, resyncs and lost leases last
// no time.
//
// Three things that are not the server's show on it, and the tests avoid them:
// the detector takes typed custom resources in lists, which have a kind, for
// others than those in watches, which client-go takes it from; a metadata client
// that ends its own watch may leave a goroutine behind; and an error handler of
// apimachinery sleeps until the last error of the process is a millisecond old,
// by a clock that a bubble has set back by decades.
//
// # What controller-runtime offers and the server has not
//
//   - Apply of the client and of its subresources, and Patch with client.Apply:
//     server-side apply needs managedFields and the schema of every kind. The
//     server refuses them (415), and so they fail loudly in a test instead of
//     doing something else than in a cluster.
//   - Subresources other than status ("scale", "eviction", "binding", "token"):
//     each one is a small API of its own with its own kind. They are answered
//     with 404.
//   - Webhooks: the server has no admission and no conversion to call them for.
//   - What other components of a cluster do: nothing is collected when its owner
//     is gone, Deployments get no Pods. A controller under test that counts on
//     it needs a stand-in, as with envtest.
package controllerruntime
