//go:build !race

package apiserver_test

// loadWatchers is how many clients watch in the test of many watchers; with the
// race detector they are fewer.
const loadWatchers = 5000
