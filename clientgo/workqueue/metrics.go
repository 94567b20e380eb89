package workqueue

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// provider is that of SetProvider, nil until then.
var provider atomic.Pointer[MetricsProvider]

// SetProvider sets the provider of the metrics of all queues that are made with a
// name from now on and bring none. Only the first call has an effect, and nil is none.
// It is that of this package alone: client-go's cannot be read from outside, so a
// program sets both if it has queues of both.
func SetProvider(metricsProvider MetricsProvider) {
	provider.CompareAndSwap(nil, &metricsProvider)
}

// providerOr is the provider of a queue that brings p, which may be nil.
func providerOr(p MetricsProvider) MetricsProvider {
	if set := provider.Load(); p == nil && set != nil {
		return *set
	}
	return p
}

// metrics are those of one queue. It is told by the queue of each item, in order.
type metrics[T comparable] struct {
	clock               clock.WithDelayedExecution
	period              time.Duration
	depth               GaugeMetric
	adds                CounterMetric
	latency, work       HistogramMetric
	unfinished, longest SettableGaugeMetric

	mu sync.Mutex
	// due and started are since when items are to be handed out, and since
	// when workers have them.
	due, started map[T]time.Time
	// timer runs while a worker has an item; nil otherwise.
	timer   clock.Timer
	stopped bool
}

// newMetrics returns nil if a queue is to have no metrics.
func newMetrics[T comparable](p MetricsProvider, name string, c clock.WithDelayedExecution, period time.Duration) *metrics[T] {
	if p = providerOr(p); p == nil || name == "" {
		return nil
	}
	if c == nil {
		c = clock.RealClock{}
	}
	return &metrics[T]{
		clock:      c,
		period:     period,
		depth:      p.NewDepthMetric(name),
		adds:       p.NewAddsMetric(name),
		latency:    p.NewLatencyMetric(name),
		work:       p.NewWorkDurationMetric(name),
		unfinished: p.NewUnfinishedWorkSecondsMetric(name),
		longest:    p.NewLongestRunningProcessorSecondsMetric(name),
		due:        map[T]time.Time{},
		started:    map[T]time.Time{},
	}
}

// Due counts an item that is to be handed out.
func (m *metrics[T]) Due(item T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.adds.Inc()
	m.depth.Inc()
	m.due[item] = m.clock.Now()
}

// Started counts an item that is handed out.
func (m *metrics[T]) Started(item T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.depth.Dec()
	m.latency.Observe(m.clock.Since(m.due[item]).Seconds())
	delete(m.due, item)
	m.started[item] = m.clock.Now()
	if m.timer == nil && !m.stopped {
		m.startTimer()
	}
}

// Ended counts an item that is Done.
func (m *metrics[T]) Ended(item T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.work.Observe(m.clock.Since(m.started[item]).Seconds())
	delete(m.started, item)
}

// startTimer sets the timer. A clock that is set by hand may call what it is given
// while it holds a lock that update needs.
func (m *metrics[T]) startTimer() {
	m.timer = m.clock.AfterFunc(m.period, func() { go m.update() })
}

// update sets the gauges of unfinished work, and again after the period as long as
// there is any.
func (m *metrics[T]) update() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped {
		return
	}
	var total, longest time.Duration
	for _, since := range m.started {
		age := m.clock.Since(since)
		total += age
		longest = max(longest, age)
	}
	m.unfinished.Set(total.Seconds())
	m.longest.Set(longest.Seconds())
	if m.timer = nil; len(m.started) > 0 {
		m.startTimer()
	}
}

// stop ends the updates.
func (m *metrics[T]) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stopped = true
	if m.timer != nil {
		m.timer.Stop()
	}
}
