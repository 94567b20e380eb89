// Package gate holds what memory and allocations are to stay at. It has a test
// and no code: the test measures what an object, an event, a key or an idle
// informer costs, and fails if that is more than a tenth above the figures in
// testdata/figures.txt. Only allocations, retained bytes and goroutines are
// looked at: unlike times, they are nearly the same in every run and on every
// machine.
//
//	go test ./internal/gate            # what make test does
//	go test ./internal/gate -v         # shows all figures
//	go test ./internal/gate -update    # writes those that were measured
//
// Whoever makes something cheaper by more than a tenth is asked to update the
// figures, so that it stays cheap. Whoever has to make it dearer updates them
// too, and says in the commit what is had for it.
//
// How all that compares with client-go is measured by the module bench.
package gate
