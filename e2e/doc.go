// Package e2e holds the tests that run the whole walk of an object against a
// genuine kube-apiserver: "make e2e" at the root of the repository. It is one
// package in a module of its own, because each test binary links etcd, and no
// program that imports Heliograph should have to know of that.
//
// A test run has one cluster (package harness) with ten thousand ConfigMaps and
// a thousand Pods. Each test reads all of them in its own way, writes thousands
// of changes meanwhile, and compares at the end: the store with a LIST by a stock
// client, and what each handler was told (package recorder) with the promises
// and with what a stock watch has seen.
package e2e
