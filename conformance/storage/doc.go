// Package storage has no code but tests: upstream's own suite for the storage of
// kube-apiserver, k8s.io/apiserver/pkg/storage/testing, as the judge of
// heliograph.example/apiserver/storage and heliograph.example/apiserver/cacher.
//
// Run it with
//
//	go test -vet=off ./...
//
// or, together with the other judges, with "make conformance" at the root.
//
// # What is judged
//
// Each function of the suite that applies runs twice: on a Store over Memory
// ("store/..."), and on a Cacher in front of such a Store ("cache/..."). The
// table in suite_test.go has one line per function. An adapter translates
// between upstream's storage.Interface, which has keys that are paths and
// results that are filled in, and ours; it translates and decides nothing:
//
//   - A suggestion ("cachedExistingObject") is ignored, as the interface allows.
//     Ours has none: it reads first, from memory.
//   - Some functions store an object under another key than that of its name.
//     Our Store refuses that, so the adapter hides the object's own name in an
//     annotation and gives it back on the way out.
//   - The encryption that kube-apiserver can put between codec and etcd is, for
//     those functions that ask for it, a Backend around Memory. Data that the
//     transformer calls stale come with a space appended, so that they are not
//     what would be written, and rewriting them is judged like everything else.
//
// # What is left out
//
// The list, with a reason each, is leftOut in suite_test.go; a function that
// does not apply to the cache has the reason in its line. In short: leases
// (objects with a time to live), statistics, deleting what cannot be decoded,
// paths that are no names, and benchmarks. TestNothingIsForgotten reads the
// source of the suite and fails if a function is neither in the table nor in
// the list, so that a newer release cannot add one unnoticed.
package storage
