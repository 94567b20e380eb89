package workqueue

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// The back-off of a queue whose options say nothing else. The first retry comes
// as fast as client-go's. The longest pause is five minutes, where client-go
// waits up to 1000 seconds: an object that nobody touches should not stay
// broken for a quarter of an hour after its cause has gone.
const (
	DefaultBackoffBase = 5 * time.Millisecond
	DefaultBackoffMax  = 5 * time.Minute
)

// Backoff is the pause between the failure of a key and its next try. It
// doubles with each failure in a row. To keep keys that failed together from
// coming back together, each pause is drawn at random between half of that and
// the whole.
type Backoff struct {
	// Base is the pause after the first failure. 0 means DefaultBackoffBase,
	// or Max if that is shorter. A negative duration is an error.
	Base time.Duration
	// Max is the longest pause. 0 means DefaultBackoffMax, or Base if that is
	// longer. A negative duration is an error, and so is one below Base.
	Max time.Duration
}

// complete checks the back-off and fills in what was left out.
func (b Backoff) complete() (Backoff, error) {
	if b.Base < 0 || b.Max < 0 {
		return b, fmt.Errorf("%w: back-off from %v to %v: must not be negative", ErrInvalid, b.Base, b.Max)
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
		return b, fmt.Errorf("%w: back-off from %v to %v: ends before it starts", ErrInvalid, b.Base, b.Max)
	}
	return b, nil
}

// ceiling is the longest pause after so many failures in a row.
func (b Backoff) ceiling(failures uint16) time.Duration {
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
func (b Backoff) pause(failures uint16) time.Duration {
	d := b.ceiling(failures)
	return d - rand.N(d/2+1)
}
