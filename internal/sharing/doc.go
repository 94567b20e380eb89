// Package sharing has the tables in which decoders find what they have made
// before of equal bytes, so that objects that are much alike have strings and
// larger parts in common.
//
// [Tables] are for one decoder, which owns them and uses them from one goroutine
// at a time. A decoder looks a value up by the hash of its encoding, and compares
// the encoding as well, so that equal hashes do no harm. A [Trial] for each place
// at which values occur notices where they never repeat, and leaves them alone.
//
// The tables grow with what is put into them, up to a number of entries and of
// bytes, and forget what was not found again between two sweeps. Empty tables take
// no memory.
package sharing
