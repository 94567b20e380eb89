package workqueue

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// counted is a provider that sums up what it is told.
type counted struct {
	depth, adds, retries               sum
	latency, work, unfinished, longest sum
}

func (c *counted) NewDepthMetric(string) GaugeMetric                         { return &c.depth }
func (c *counted) NewAddsMetric(string) CounterMetric                        { return &c.adds }
func (c *counted) NewLatencyMetric(string) HistogramMetric                   { return &c.latency }
func (c *counted) NewWorkDurationMetric(string) HistogramMetric              { return &c.work }
func (c *counted) NewUnfinishedWorkSecondsMetric(string) SettableGaugeMetric { return &c.unfinished }
func (c *counted) NewLongestRunningProcessorSecondsMetric(string) SettableGaugeMetric {
	return &c.longest
}
func (c *counted) NewRetriesMetric(string) CounterMetric { return &c.retries }

// String has all but the gauges that are set by the time.
func (c *counted) String() string {
	return fmt.Sprintf("depth %v, adds %v, retries %v, latency %v, work %v",
		c.depth.get(), c.adds.get(), c.retries.get(), c.latency.get(), c.work.get())
}

// sum is a metric of every kind.
type sum struct {
	mu    sync.Mutex
	value float64
	n     int
}

func (s *sum) change(d float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value += d
	s.n++
}

func (s *sum) Inc()              { s.change(1) }
func (s *sum) Dec()              { s.change(-1) }
func (s *sum) Observe(v float64) { s.change(v) }
func (s *sum) Set(v float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value = v
	s.n++
}

func (s *sum) get() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("%.6f/%d", s.value, s.n)
}

func TestUnfinishedWorkIsToldWhileThereIsAny(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m counted
		q := NewTypedWithConfig(TypedQueueConfig[string]{Name: "test", MetricsProvider: &m})
		want := func(unfinished, longest string) {
			t.Helper()
			synctest.Wait()
			if u, l := m.unfinished.get(), m.longest.get(); u != unfinished || l != longest {
				t.Errorf("unfinished %s, longest %s, want %s, %s", u, l, unfinished, longest)
			}
		}
		time.Sleep(time.Hour)
		want("0.000000/0", "0.000000/0") // nothing runs while the queue is idle
		q.Add("a")
		q.Add("b")
		q.Get()
		time.Sleep(200 * time.Millisecond)
		q.Get()
		time.Sleep(300 * time.Millisecond)
		want("0.800000/1", "0.500000/1")
		q.Done("a")
		time.Sleep(500 * time.Millisecond)
		want("0.800000/2", "0.800000/2")
		q.Done("b")
		time.Sleep(time.Hour)
		want("0.000000/3", "0.000000/3")
		q.Add("c")
		q.Get()
		q.ShutDown()
		time.Sleep(time.Hour)
		want("0.000000/3", "0.000000/3")
	})
}

func TestAQueueHasMetricsIfItHasANameAndAProvider(t *testing.T) {
	var all counted
	SetProvider(&all)
	t.Cleanup(func() { provider.Store(nil) })
	SetProvider(nil) // the first call counts
	for name, row := range map[string]struct {
		config TypedRateLimitingQueueConfig[string]
		all    string
		own    string
	}{
		"a name":                {config: TypedRateLimitingQueueConfig[string]{Name: "test"}, all: "1.000000/1", own: "0.000000/0"},
		"no name":               {all: "0.000000/0", own: "0.000000/0"},
		"a provider of its own": {config: TypedRateLimitingQueueConfig[string]{Name: "test", MetricsProvider: &counted{}}, all: "0.000000/0", own: "1.000000/1"},
	} {
		t.Run(name, func(t *testing.T) {
			all = counted{}
			own, _ := row.config.MetricsProvider.(*counted)
			if own == nil {
				own = &counted{}
			}
			q := NewTypedRateLimitingQueueWithConfig(NewTypedItemExponentialFailureRateLimiter[string](time.Hour, time.Hour), row.config)
			q.Add("a")
			q.AddRateLimited("b")
			q.ShutDown()
			q.Add("c")
			q.AddRateLimited("c")
			for _, m := range []*sum{&all.adds, &all.retries} {
				if got := m.get(); got != row.all {
					t.Errorf("%s, want %s", got, row.all)
				}
			}
			for _, m := range []*sum{&own.adds, &own.retries} {
				if got := m.get(); got != row.own {
					t.Errorf("of its own: %s, want %s", got, row.own)
				}
			}
		})
	}
}
