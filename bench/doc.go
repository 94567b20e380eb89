// Bench measures Heliograph side by side with client-go and prints one table.
//
//	go run . [-n pods] [-events n] [-runs n] [-only regexp] [-json] [-profile dir] [-quick]
//
// Each sample is taken in a process of its own, which is this program started
// again with a job in its environment (process.go); the API server that both
// sides read is one more such process (server.go). What is compared, and what
// makes it fair, is in README.md.
package main
