package fault

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Cut says how an answer breaks off. The request itself is served: a write that
// is cut has been done, only its answer is lost. A watch is cut after
// [Fault].AfterEvents events.
type Cut string

const (
	// CutNone lets the answer through.
	CutNone Cut = ""
	// CutEnd ends a watch cleanly, as a server does at its timeout.
	CutEnd Cut = "end"
	// CutError ends a watch with an ERROR event that has the Status of
	// Fault.Code.
	CutError Cut = "error"
	// CutReset breaks the connection: in the middle of the stream of a watch,
	// and before the first byte of any other answer.
	CutReset Cut = "reset"
	// CutFrame breaks the connection in the middle: of the next frame of a
	// watch, and of the body of any other answer.
	CutFrame Cut = "frame"
	// CutStall stops sending, while the connection stays open and the server
	// still notices when the client goes. A stalled watch does not even end
	// at its timeout.
	CutStall Cut = "stall"
	// CutBlackHole makes the connection a black hole: it stays open, but
	// nothing is read from it or written to it any more, and the server does
	// not notice what the client does, until the server stops.
	CutBlackHole Cut = "black hole"
)

// Illegal says how a watch breaks the rules that every server keeps: each event
// is told once, and in the order of versions. Proxies have been seen to break
// them. A client need not survive it.
type Illegal string

const (
	// IllegalNone keeps the rules.
	IllegalNone Illegal = ""
	// IllegalReplay sends an event twice: the last one of the first
	// Fault.AfterEvents, or the first one if that is 0.
	IllegalReplay Illegal = "replay"
	// IllegalSwap swaps the two events after the first Fault.AfterEvents. The
	// earlier one is held back until there is a later one.
	IllegalSwap Illegal = "swap"
)

// Request is what a fault can match: one request to a resource.
type Request struct {
	// Verb is get, list, watch, create, update, patch, delete or
	// deletecollection.
	Verb string
	// Resource is the resource asked for.
	Resource schema.GroupResource
	// Namespace is the namespace in the path, empty if there is none.
	Namespace string
	// Client is the User-Agent of the client.
	Client string
	// Streaming is true for a watch with sendInitialEvents=true.
	Streaming bool
}

// Fault is one thing that goes wrong: which requests it strikes, how often,
// and what happens to them.
type Fault struct {
	// Verb limits the fault to one verb, as in [Request]; empty means all
	// that it can happen to.
	Verb string
	// Resource limits the fault to one resource; the zero value means all.
	Resource schema.GroupResource
	// Namespace limits the fault to requests in that namespace; empty means
	// all requests, with a namespace or without.
	Namespace string
	// Client limits the fault to clients whose User-Agent contains it.
	Client string
	// Streaming limits the fault to streaming lists.
	Streaming bool
	// Times is how many matching requests are struck, the first ones; zero
	// means every one.
	Times int

	// Delay passes before anything else is done with the request.
	Delay time.Duration
	// Code is the HTTP status that the request is answered with instead of
	// being served, or, with CutError, the code of the ERROR event. Zero
	// means that the request is served.
	Code int
	// RetryAfter goes with Code as a Retry-After header and in the details of
	// the Status, in whole seconds; zero means none.
	RetryAfter time.Duration
	// Cut breaks off the answer.
	Cut Cut

	// The rest is about watches only, and so is a fault that has any of it.

	// AfterEvents is the number of events, bookmarks included, before a Cut
	// or Illegal happens.
	AfterEvents int
	// Pause passes before each event.
	Pause time.Duration
	// NoBookmarks keeps back the bookmarks that tell progress; NoInitialEnd
	// the one that ends the initial events, so that a streaming list never
	// ends.
	NoBookmarks  bool
	NoInitialEnd bool
	// Illegal breaks a rule that every server keeps.
	Illegal Illegal
}
