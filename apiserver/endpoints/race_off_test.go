//go:build !race

package endpoints_test

// raceEnabled is whether the race detector watches the test.
const raceEnabled = false
