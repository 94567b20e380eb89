// Package fault scripts what goes wrong on an API server under test.
//
// A [Script] holds faults in the order in which they were added. The server
// asks it before it serves a request to a resource; the first fault that
// matches the request and is not used up is applied, and no other. What a
// fault matches and what it does is plain data, so a test reads as the story
// it tells:
//
//	var script fault.Script
//	err := script.Add(
//		fault.Fault{Verb: "list", Times: 2, Code: http.StatusServiceUnavailable},
//		fault.Fault{Verb: "watch", Resource: pods, Times: 1, Cut: fault.CutReset, AfterEvents: 3},
//	)
//
// Faults are counted, never random: the same requests in the same order meet
// the same faults. The zero Script has no faults. A Script is safe for
// concurrent use and may be changed while the server runs.
//
// # Answers
//
// A fault with a Code and no Cut answers the request with a Status of that
// code. Note what client-go does with it: its REST client repeats by itself
// every 429 and every 5xx that carries a Retry-After, up to ten times, so a
// fault that the program under test should see has no RetryAfter.
//
// # Watches
//
// A fault with a Cut lets a watch begin and ends it after AfterEvents events:
// cleanly, by a reset connection, or by an ERROR event with the Status of Code.
// A real server reports a version that is too old in the last way; an answer
// with code 410 is what it gives to a list.
//
// Streaming limits a fault to streaming lists (watches with
// sendInitialEvents=true). With code 422 or 400 it plays a server that has
// none; with NoBookmarks one that never ends them.
package fault
