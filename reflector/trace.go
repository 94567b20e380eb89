package reflector

import (
	"context"
	"time"
)

// SourceTrace is a set of hooks that a [Source] runs while it reads, as those of
// net/http/httptrace are run by a client. A reflector puts one into the context
// of each List and Watch: what it hears is counted, and is the proof that an
// answer which has not brought a whole object for long still advances.
//
// Any hook may be nil. Hooks may be called by any goroutine, at any time while
// the call or its stream is open, and do not block.
type SourceTrace struct {
	// Read is called with the number of bytes of an answer that have just been
	// read from the server, as they came over the wire if the source can tell,
	// and decompressed if not.
	Read func(n int)
	// RetryAfter is called when the server has refused, and has said in the header
	// of its answer how long to wait; see KeepRetryAfter.
	RetryAfter func(wait time.Duration)
}

type sourceTraceKey struct{}

// WithSourceTrace returns a context that carries trace, for the calls of a
// [Source]. It takes the place of a trace that ctx carries already. A nil trace
// is the same as one without hooks.
func WithSourceTrace(ctx context.Context, trace *SourceTrace) context.Context {
	if trace == nil {
		trace = &SourceTrace{}
	}
	return context.WithValue(ctx, sourceTraceKey{}, trace)
}

// SourceTraceFrom returns the trace that ctx carries, for a [Source] to call. It
// is never nil: without a trace it has no hooks.
func SourceTraceFrom(ctx context.Context) *SourceTrace {
	if trace, ok := ctx.Value(sourceTraceKey{}).(*SourceTrace); ok {
		return trace
	}
	return &SourceTrace{}
}
