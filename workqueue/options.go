package workqueue

import (
	"fmt"
	"maps"
	"math"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// The priorities of keys. A key has priority 0 unless it is added with another; the
// larger, the sooner. Low is for work that nobody waits for, such as the keys of
// an initial list or of a resync; it is the number that controller-runtime uses
// for the same.
const (
	MinPriority = -1000
	Low         = -100
	MaxPriority = 1000
)

// DefaultAgeing is the ageing of a queue whose options say nothing else. A key of
// priority Low is then overtaken by those of priority 0 that are added in the
// first 100 seconds of its wait, and by no others.
const DefaultAgeing = time.Second

// maxAgeing keeps ranks within a time.Duration.
const maxAgeing = 1000 * time.Hour

// Options say how a queue behaves. The zero value is ready for use: the default
// back-off, no pacing, no tenants.
type Options[K comparable] struct {
	// Name stands for the queue in its [Stats]. It may be empty, and several
	// queues may have the same: nothing is registered under it.
	Name string
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
	// Ageing is the time of waiting that counts as much as one unit of
	// priority: a key that was added t ago with priority p comes before all
	// whose priority is less than p + t/Ageing and that are added now. So a
	// key of low priority waits longer, but not for ever. 0 means
	// DefaultAgeing. A negative duration or one above 1000 hours is an error.
	Ageing time.Duration
	// Tenant, if not nil, tells whom a key belongs to, and the queue shares
	// its turns among the tenants that have ready keys, however many keys each
	// of them has. [Namespace] is the tenant function for names of Kubernetes
	// objects. The function is called once for each call that adds a key,
	// without locks, by its caller; it must be safe for concurrent use and
	// always say the same of the same key. Tenants cost nothing when they
	// have no keys in the queue, so there may be any number of them.
	Tenant func(key K) string
	// Weights are the numbers of keys that tenants have for each turn, 1 where
	// a tenant is not in the map. A number below 1 is an error, and so are
	// weights without tenants. The map is copied.
	Weights map[string]int
	// Observer, if not nil, is told of each key that comes, starts and ends.
	Observer Observer
	// Tracer, if not nil, is told what happens to which key.
	Tracer Tracer[K]
	// Clock, if not nil, is the clock of all times, for programs that are
	// tested with one of their own. nil means the functions of package time,
	// and so does [clock.RealClock].
	Clock clock.WithDelayedExecution
}

// Namespace is a tenant function: the namespace of an object.
func Namespace(key types.NamespacedName) string { return key.Namespace }

// Observer is told what happens to the keys of a queue, to feed metrics that are
// not read from [Stats]. It is called without locks, by whoever called the queue,
// and should return soon and not panic. The methods must be safe for concurrent use.
// An observer may be that of several queues.
type Observer interface {
	// Added is called when a key was accepted. merged says that the queue had
	// it already.
	Added(merged bool)
	// Started is called before Get returns a key that was ready for so long.
	Started(waited time.Duration)
	// Ended is called when a key is Done that was worked on for so long, with
	// the error of its result.
	Ended(worked time.Duration, err error)
}

// Tracer is told what happens to single keys, in the order in which it happens. It
// is called under the lock of the queue: it should return soon, and must neither
// panic nor use the queue.
type Tracer[K comparable] interface {
	// Due is called when a key that was not due becomes it: it is ready, or,
	// as it runs or is held, will be when it is let go. What KeepBackoff has
	// joined to a run that failed is due once more when its retry is.
	Due(key K)
	// Started is called when a key is handed out.
	Started(key K)
	// Ended is called when a key is Done.
	Ended(key K)
}

// complete checks the options and fills in what was left out.
func (o Options[K]) complete() (Options[K], error) {
	var err error
	if o.Backoff, err = o.Backoff.complete(); err != nil {
		return o, err
	}
	switch {
	case o.Ageing < 0 || o.Ageing > maxAgeing:
		return o, fmt.Errorf("%w: ageing of %v: must be between 0 and %v", ErrInvalid, o.Ageing, maxAgeing)
	case o.Ageing == 0:
		o.Ageing = DefaultAgeing
	}
	if len(o.Weights) > 0 && o.Tenant == nil {
		return o, fmt.Errorf("%w: weights without a tenant function", ErrInvalid)
	}
	for tenant, weight := range o.Weights {
		if weight < 1 {
			return o, fmt.Errorf("%w: weight %d of tenant %q: must be at least 1", ErrInvalid, weight, tenant)
		}
	}
	o.Weights = maps.Clone(o.Weights)
	if _, ok := o.Clock.(clock.RealClock); ok {
		o.Clock = nil
	}
	return o, nil
}

// limiter builds the limiter that the options ask for, nil for none.
func (o Options[K]) limiter() (*rate.Limiter, error) {
	switch {
	case math.IsNaN(float64(o.Rate)) || o.Rate < 0:
		return nil, fmt.Errorf("%w: rate of %v for each second: must not be negative", ErrInvalid, o.Rate)
	case o.Burst < 0:
		return nil, fmt.Errorf("%w: burst of %d: must not be negative", ErrInvalid, o.Burst)
	case o.Rate == 0 && o.Burst > 0:
		return nil, fmt.Errorf("%w: burst of %d without a rate", ErrInvalid, o.Burst)
	case o.Rate == 0 || o.Rate == rate.Inf:
		return nil, nil
	}
	return rate.NewLimiter(o.Rate, max(o.Burst, 1)), nil
}
