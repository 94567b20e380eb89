// Package history keeps an ordered map from strings to values together with
// its recent past: the state at any revision within reach, and the changes
// between two revisions, in order. The in-memory backend and the watch cache
// are both built on it.
//
// Each change has a revision and a sequence number. Revisions are the store's
// and may have gaps; sequence numbers are dense, so that a reader keeps its
// place in the shared window of changes as one integer:
//
//	h := history.New[Pod](1, history.Limits{Min: 4096, Max: 100 << 10, Age: 75 * time.Second})
//	h.Set(2, "default/a", pod)
//	changes, ok := h.Read(seq, buffer)   // ok is false once seq fell off the window
//	view, err := h.At(1)                 // the state before
//
// States come from copy-on-write B-trees. One is kept for every few hundred
// changes, and a state between two of them is made by replaying the changes in
// between, so that remembering costs little memory and looking back is cheap
// without being free.
//
// A [History] belongs to its owner's lock: its methods must not run
// concurrently. A [View] and a [Change] never change and may be read by any
// number of goroutines without it.
package history
