package apiservertest

import utilruntime "k8s.io/apimachinery/pkg/util/runtime"

// defaultErrorHandlers is how many apimachinery has: one logs, and one sleeps.
const defaultErrorHandlers = 2

// init takes away what would stop client-go in a bubble of testing/synctest.
// When a stock reflector or controller reports an error, apimachinery sleeps for
// the rest of a millisecond since the error before, and begins with the start of
// the process, by the real clock. Seen from a bubble, whose time begins in the
// year 2000, that is decades ahead. Handlers that a program has set itself are
// left alone.
func init() {
	if len(utilruntime.ErrorHandlers) == defaultErrorHandlers {
		utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1]
	}
}
