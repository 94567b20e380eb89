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
//		fault.Fault{Verb: "create", Client: "my-controller", Times: 1, Cut: fault.CutReset},
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
// With a Cut the request is served and its answer breaks off. A write whose
// answer is lost has been done, so a client that repeats it meets its own work:
// an AlreadyExists, a Conflict or a NotFound. What clients see of each cut:
//
//	reset       EOF or "connection reset" instead of an answer; in a watch,
//	            an unexpected EOF. client-go repeats a read, not a write.
//	frame       the header, half of the body, and an unexpected EOF
//	stall       nothing more, until the client gives up
//	black hole  the same, but the server does not even acknowledge that the
//	            client is there: pings and closes get no answer
//
// # Watches
//
// A watch is cut after AfterEvents events. Besides the cuts above it can end
// cleanly, or by an ERROR event with the Status of Code. A real server reports a
// version that is too old in the last way; an answer with code 410 is what it
// gives to a list. A watch that is answered with a code instead has not begun.
//
// Pause makes a watch slow; a slow first byte is a Delay. NoBookmarks makes a
// quiet watch quite silent. Streaming limits a fault to streaming lists (watches
// with sendInitialEvents=true): with code 422 or 400 it plays a server that has
// none, with NoInitialEnd one that never ends them.
//
// Illegal is for what no server does: it replays or swaps events, as a broken
// proxy might. It is marked so because a client that fails then is not to blame.
//
// # Connections
//
// A [Network] is the listener of a server whose connections can become black
// holes, all of them by a switch. The switch, and faults of the state behind the
// requests (a compacted history, a stale cache, a restored backup), are methods
// of the server: see the package apiserver.
package fault
