//go:build !race

package reflector

// manyItems is how many items the longest list of the tests has. The race detector
// makes each many times as slow.
const manyItems = 1_000_000
