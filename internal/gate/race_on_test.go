//go:build race

package gate

// underRace is true where the race detector changes what memory is used.
const underRace = true
