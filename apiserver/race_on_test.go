//go:build race

package apiserver_test

// loadWatchers is how many clients watch in the test of many watchers. Each
// costs three goroutines, two of them the server's, and the race detector gives
// up near 8,000.
const loadWatchers = 1000
