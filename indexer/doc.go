// Package indexer is the typed, indexed store in which an informer mirrors the
// objects of a server.
//
// # Use
//
// A store is made with its indexes; each is a function from an object to the
// values under which to find it:
//
//	pods, err := indexer.New(indexer.Indexes[*corev1.Pod]{
//		indexer.NamespaceIndex: indexer.ByNamespace[*corev1.Pod],
//		"node": func(p *corev1.Pod) ([]string, error) { return []string{p.Spec.NodeName}, nil },
//	})
//
// Everything is written in transactions, and everything a transaction has
// written becomes visible at once:
//
//	pods.Update(func(tx indexer.Tx[*corev1.Pod]) {
//		err = tx.Put(indexer.Entry[*corev1.Pod]{Key: key, UID: pod.UID, Version: "7", Object: pod})
//		tx.SetVersion("7")
//	})
//
// Reading and writing are different types: an informer keeps the [Indexer] and
// hands out a [Reader].
//
//	pod, ok := pods.Get(key)
//	onNode, err := pods.ByIndex("node", "worker-1")
//	for pod := range pods.All() { ... }
//
// Keys are types.NamespacedName everywhere; the namespace is empty for objects
// that have none. The store takes keys, UIDs and versions as they are given and
// compares none of them: to store another UID under a key just overwrites it.
//
// # Objects
//
// Objects are shared by all who read them, and by the indexes. Nobody may change
// an object that was stored or read, and a store never copies one.
//
// # Consistency
//
// Each call of a [Reader] answers from one state, between two transactions. Two
// calls may see two states. A loop over an iterator sees the state of the moment
// at which it started, each time it is started; it holds no lock, so its body may
// block, or read from and write to the store.
//
// # Indexes
//
// Index functions must be pure. They run when an object is put, once for each
// version, and readers do not wait for them. Duplicate values count once. A value
// under which nothing is listed any more leaves no trace.
//
// If a function fails for an object, by an error or a panic, the object is stored
// all the same and missing from that one index: also its earlier version is no
// longer listed there. Put returns an [*IndexError]. The next version of the
// object gets a new chance.
//
// Indexes can be added while the store is in use (see [Indexer.AddIndexes]). None
// can be removed.
//
// # Concurrency
//
// Readers share one lock, which a transaction takes only to commit: for the time
// of its map writes, not for that of its function. Writers wait for each other.
// The package starts no goroutine.
package indexer
