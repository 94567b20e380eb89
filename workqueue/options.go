package workqueue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"golang.org/x/time/rate"
)

// The back-off of a queue whose options say nothing else. The first retry comes
// as fast as client-go's. The longest pause is five minutes, where client-go
// waits up to 1000 seconds: an object that nobody touches should not stay
// broken for a quarter of an hour after its cause has gone.
const (
	DefaultBackoffBase = 5 * time.Millisecond
	DefaultBackoffMax  = 5 * time.Minute
)

// Options say how a queue behaves. The zero value is ready for use: the default
// back-off and no pacing.
type Options struct {
	// Backoff is the pause before a failed key is tried again.
	Backoff Backoff
	// Rate is the number of keys that Get hands out for each second, over all
	// workers and whether a key comes for the first time or again. 0 and
	// [rate.Inf] mean as many as there are. A negative number or NaN is an
	// error.
	//
	// The rate is asked when a key is handed out, not when it is added. So a
	// key never waits for a turn that was booked long ahead: the pause for
	// one key does not depend on how many others have failed.
	Rate rate.Limit
	// Burst is the number of keys that may be handed out at once after a quiet
	// time. 0 means 1. A negative number is an error, and so is a burst
	// without a rate.
	Burst int
}

// Backoff is the pause between the failure of a key and its next try. It
// doubles with each failure in a row. To keep keys that failed together from
// coming back together, each pause is drawn at random between half of that and
// the whole.
type Backoff struct {
	// Base is the pause after the first failure. 0 means DefaultBackoffBase.
	// A negative duration is an error.
	Base time.Duration
	// Max is the longest pause. 0 means DefaultBackoffMax, or Base if that is
	// longer. A negative duration is an error, and so is one below Base.
	Max time.Duration
}

// complete checks the back-off and fills in what was left out.
func (b Backoff) complete() (Backoff, error) {
	if b.Base < 0 || b.Max < 0 {
		return b, fmt.Errorf("workqueue: back-off from %v to %v: must not be negative", b.Base, b.Max)
	}
	if b.Base == 0 {
		b.Base = DefaultBackoffBase
		if b.Max > 0 {
			b.Base = min(b.Base, b.Max)
		}
	}
	if b.Max == 0 {
		b.Max = max(DefaultBackoffMax, b.Base)
	}
	if b.Max < b.Base {
		return b, fmt.Errorf("workqueue: back-off from %v to %v: ends before it starts", b.Base, b.Max)
	}
	return b, nil
}

// ceiling is the longest pause after so many failures in a row.
func (b Backoff) ceiling(failures uint32) time.Duration {
	if failures == 0 {
		return 0
	}
	shift := failures - 1
	if shift >= 63 || b.Base > b.Max>>shift {
		return b.Max
	}
	return b.Base << shift
}

// pause draws the pause after so many failures in a row.
func (b Backoff) pause(failures uint32) time.Duration {
	d := b.ceiling(failures)
	return d - rand.N(d/2+1)
}

// limiter builds the limiter that the options ask for, nil for none.
func (o Options) limiter() (*rate.Limiter, error) {
	switch {
	case math.IsNaN(float64(o.Rate)) || o.Rate < 0:
		return nil, fmt.Errorf("workqueue: rate of %v for each second: must not be negative", o.Rate)
	case o.Burst < 0:
		return nil, fmt.Errorf("workqueue: burst of %d: must not be negative", o.Burst)
	case o.Rate == 0 && o.Burst > 0:
		return nil, fmt.Errorf("workqueue: burst of %d without a rate", o.Burst)
	case o.Rate == 0 || o.Rate == rate.Inf:
		return nil, nil
	}
	return rate.NewLimiter(o.Rate, max(o.Burst, 1)), nil
}
