// Bench measures Heliograph side by side with client-go and controller-runtime and
// prints one table.
//
//	go run . [-n pods] [-events n] [-runs n] [-only regexp] [-objects n] [-json] [-profile dir] [-quick] [-document file]
//
// Each sample is taken in a process of its own, which is this program started
// again with a job in its environment (process.go); the API server that both
// sides read is one more such process (server.go). What is compared, and what
// makes it fair, is in README.md.
package main
