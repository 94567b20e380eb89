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
//   - A continue token is compared without the slash before its key. A genuine
//     server writes one, and ours does with it; both read either.
//
// One function asks for pages at version "0", where kube-apiserver's cache and
// all of ours ignore a limit; it gets pages of the newest state, which is one of
// the states that may be given. Two cases of RunTestList ask for the same and
// skip themselves for whoever has the rules of the cache.
//
// Of the suite's own counters one is connected: the lists that a cache should
// answer must not reach the backend.
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
