package reflector

import (
	"context"
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// defaultBackoff is what client-go's reflector uses, with half of its jitter:
// enough to part a herd, and each pause is still longer than the one before.
var defaultBackoff = wait.Backoff{Duration: 800 * time.Millisecond, Factor: 2, Jitter: 0.5, Cap: 30 * time.Second}

const (
	// maxFactor bounds the growth of pauses from one to the next, and the jitter.
	maxFactor = 1000
	// minPause is the shortest first pause that is taken for one.
	minPause = time.Millisecond
)

// backoff is the one pacer of a reflector. It belongs to the goroutine that
// runs.
type backoff struct {
	initial, current wait.Backoff
}

// newBackoff checks and completes b.
func newBackoff(b wait.Backoff) (*backoff, error) {
	if b == (wait.Backoff{}) {
		b = defaultBackoff
	}
	if b.Duration < minPause || !(b.Jitter >= 0 && b.Jitter <= maxFactor) || b.Steps < 0 || b.Cap < 0 {
		return nil, fmt.Errorf("%w back-off %+v: the duration must be at least %v, the jitter from 0 to %d, nothing negative",
			ErrInvalid, b, minPause, maxFactor)
	}
	if b.Cap != 0 && b.Cap < b.Duration {
		return nil, fmt.Errorf("%w back-off %+v: the cap must not be less than the duration", ErrInvalid, b)
	}
	// With others the pauses would shrink to nothing, or grow beyond all numbers and
	// then be none.
	if b.Factor != 0 && !(b.Factor >= 1 && b.Factor <= maxFactor) {
		return nil, fmt.Errorf("%w back-off %+v: the factor must be 0, or from 1 to %d", ErrInvalid, b, maxFactor)
	}
	if b.Cap == 0 {
		b.Cap = max(defaultBackoff.Cap, b.Duration)
	}
	if b.Steps == 0 {
		b.Steps = math.MaxInt32
	}
	return &backoff{initial: b, current: b}, nil
}

// next returns the pause after a failure: the next step, or the longer pause
// that the server asked for.
func (b *backoff) next(err error) time.Duration { return asked(b.current.Step(), err) }

// first returns the shortest pause, or the longer one that the server asked for.
// The pauses after it do not grow by that.
func (b *backoff) first(err error) time.Duration {
	shortest := b.initial
	return asked(shortest.Step(), err)
}

// asked returns pause, or the longer one that the server asked for with err.
func asked(pause time.Duration, err error) time.Duration {
	wanted, _ := retryAfter(err)
	return max(pause, wanted)
}

// reset starts again from the shortest pause.
func (b *backoff) reset() { b.current = b.initial }

// sleep waits until t or the end of ctx.
func sleep(ctx context.Context, t time.Time) {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
