//go:build race

package informer

// modelSeeds is how many seeds the model of listeners runs. The race detector makes
// each ten times as slow.
const modelSeeds = 20
