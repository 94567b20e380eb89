package simulation

import (
	"math/rand/v2"
	"net/http"
	"time"

	"heliograph.example/apiserver/fault"
)

// randomFault is one of all that package fault can do to lists and watches of
// one client, or of every informer.
func randomFault(rnd *rand.Rand, clients []string) fault.Fault {
	var f fault.Fault
	switch n := rnd.IntN(20); {
	case n < 6:
		f = brokenWatch(rnd)
	case n < 9:
		f = refusal(rnd)
		f.Verb = pick(rnd, "watch", "list")
	case n < 13:
		f = brokenList(rnd)
	case n < 16:
		f = brokenStreaming(rnd)
	case n < 18:
		f = disorder(rnd)
	default:
		return lostWrite(rnd)
	}
	f.Client = pick(rnd, append(clients, mirrorAgent)...)
	if f.Times = rnd.IntN(4); f.Times == 0 && rnd.IntN(4) > 0 {
		f.Times = 1 // a fault for ever is rare
	}
	return f
}

func pick[T any](rnd *rand.Rand, from ...T) T { return from[rnd.IntN(len(from))] }

// seconds is up to so many of them.
func seconds(rnd *rand.Rand, most int) time.Duration {
	return time.Duration(rnd.Int64N(int64(most)*int64(time.Second))).Truncate(time.Millisecond) + time.Millisecond
}

func brokenWatch(rnd *rand.Rand) fault.Fault {
	f := fault.Fault{Verb: "watch", AfterEvents: rnd.IntN(5)}
	f.Cut = pick(rnd, fault.CutEnd, fault.CutReset, fault.CutFrame, fault.CutStall, fault.CutBlackHole, fault.CutError, fault.CutError)
	switch {
	case f.Cut == fault.CutError:
		f.Code = pick(rnd, http.StatusGone, http.StatusInternalServerError, http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusGatewayTimeout)
	case rnd.IntN(4) == 0: // slow as well
		f.Pause = seconds(rnd, 10)
	}
	if rnd.IntN(4) == 0 {
		f.Delay = seconds(rnd, 40)
	}
	f.NoBookmarks = rnd.IntN(4) == 0
	return f
}

func refusal(rnd *rand.Rand) fault.Fault {
	f := fault.Fault{Code: pick(rnd, http.StatusForbidden, http.StatusUnauthorized, http.StatusNotFound, http.StatusGone,
		http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout)}
	if rnd.IntN(3) == 0 {
		f.RetryAfter = seconds(rnd, 30).Truncate(time.Second)
	}
	if rnd.IntN(4) == 0 {
		f.Delay = seconds(rnd, 20)
	}
	return f
}

func brokenList(rnd *rand.Rand) fault.Fault {
	f := fault.Fault{Verb: "list", Cut: pick(rnd, fault.CutNone, fault.CutReset, fault.CutFrame, fault.CutStall, fault.CutBlackHole)}
	if f.Cut == fault.CutNone || rnd.IntN(3) == 0 {
		f.Delay = seconds(rnd, 60)
	}
	return f
}

func brokenStreaming(rnd *rand.Rand) fault.Fault {
	f := fault.Fault{Verb: "watch", Streaming: true}
	switch rnd.IntN(5) {
	case 0:
		f.Code = pick(rnd, http.StatusUnprocessableEntity, http.StatusBadRequest)
	case 1:
		f.NoInitialEnd = true
	case 2:
		f.Pause = seconds(rnd, 12)
	default:
		f = brokenWatch(rnd)
		f.Streaming = true
	}
	return f
}

// disorder is of frames that come twice or not in their order, also about the
// end of a streaming list.
func disorder(rnd *rand.Rand) fault.Fault {
	return fault.Fault{
		Verb: "watch", Streaming: rnd.IntN(2) == 0, AfterEvents: rnd.IntN(len(namespaces) * namesPerNamespace),
		Illegal: pick(rnd, fault.IllegalReplay, fault.IllegalSwap, fault.IllegalSwap),
	}
}

// lostWrite strikes writers.
func lostWrite(rnd *rand.Rand) fault.Fault {
	f := fault.Fault{Verb: pick(rnd, "create", "patch", "delete"), Client: writerAgent, Times: 1 + rnd.IntN(3)}
	if rnd.IntN(2) == 0 {
		f.Code = pick(rnd, http.StatusInternalServerError, http.StatusServiceUnavailable)
	} else {
		f.Cut = pick(rnd, fault.CutReset, fault.CutFrame, fault.CutStall)
	}
	return f
}
