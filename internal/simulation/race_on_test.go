//go:build race

package simulation

// quickSeeds is how many seeds a quick test runs. The race detector makes each
// several times as slow.
const quickSeeds = 40
