//go:build !race

package informer

// modelSeeds is how many seeds the model of listeners runs; with the race detector
// they are fewer.
const modelSeeds = 200
