// Package indexer is the typed, indexed store in which an informer mirrors the
// objects of a server.
//
// # Use
//
// A store is made with its indexes; each has a function that appends the values
// under which to find an object:
//
//	pods, err := indexer.New(indexer.Indexes[*corev1.Pod]{
//		indexer.NamespaceIndex: indexer.ByNamespace[*corev1.Pod](),
//		"node": {Values: func(p *corev1.Pod, values []string) ([]string, error) {
//			return append(values, p.Spec.NodeName), nil
//		}},
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
// Who has many writes at hand tells their keys before (see [Tx]): memory is waited
// for at once then, not for each.
//
// Reading and writing are different types: an informer keeps the [Indexer] and
// hands out a [Reader].
//
//	pod, ok := pods.Get(key)
//	onNode, err := pods.ByIndex("node", "worker-1")
//	n, err := pods.Count("node", "worker-1")
//	for pod := range pods.All() { ... }
//
// Keys are types.NamespacedName everywhere; the namespace is empty for objects
// that have none. The store takes keys, UIDs and versions as they are given and
// compares none of them: to store another UID under a key just overwrites it.
//
// # Queries
//
// [Reader.Select] finds what meets several terms at once, without copying:
//
//	seq, err := pods.Select(
//		indexer.Equal(indexer.NamespaceIndex, "shop"),
//		indexer.Labels(selector),
//	)
//	for pod := range seq { ... }
//
// It goes through the objects of the term that the fewest have, and compares those
// with the other terms. A selector of labels finds its objects by an index that
// [ByLabels] makes, if there is one. [Prefix] and [Range] ask an index whose values
// are kept in order (see [Index]); alone, they yield in that order.
//
// # Objects
//
// Objects are shared by all who read them, and by the indexes. Nobody may change
// an object that was stored or read, and a store never copies one.
//
// # Consistency
//
// Each call of a [Reader] answers from one state, between two transactions. Two
// calls may see two states, the second never an older one; for several calls that
// must agree there is a [Snapshot], of which a [Cursor] reads a few entries at a
// time. A loop over an iterator sees the state of the moment at which it started,
// each time it is started; it holds no lock, so its body may block, or read from
// and write to the store. While it runs, what it may still see is kept, as by a
// snapshot.
//
// # Indexes
//
// Index functions must be pure. They run when an object is put, once for each
// version, and readers do not wait for them. Duplicate values count once. A value
// under which nothing is listed any more leaves no trace. Where the values of an
// object stay the same from one version to the next, its indexes are not touched.
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
// Reading takes no lock and never waits, neither for a transaction nor for its
// commit, however large it is. Writers wait for each other. The package starts no
// goroutine.
//
// # Memory
//
// Beside the object and its namespace, an object takes some 190 bytes, 220 if its
// name is longer than 32, and for each value in an index 24 more. A value takes
// about 100 bytes and its text, of which nothing is shared if it is unique, and 20
// more if its index is ordered. What has become too large for what is in it is
// made anew. [Indexer.Stats] has estimates.
//
// A copy of the name lies beside the entry, entries share the texts of namespaces, and
// objects that are pointers are in their entry twice: Get then looks at two places of
// memory, and List and queries of an index at one for each object.
// For objects of other types all need one place more.
//
// Versions that were superseded are used again. A transaction allocates a little,
// an update of an object within it nothing, while no snapshot is open.
package indexer
