//go:build !race

package simulation

// quickSeeds is how many seeds a quick test runs; with the race detector they are
// fewer.
const quickSeeds = 1000
