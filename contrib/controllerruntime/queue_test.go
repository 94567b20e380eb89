package controllerruntime

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	clientgo "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// queues are controller-runtime's queue and ours: what is said of one here has to
// be true of the other.
var queues = map[string]func(name string, limiter clientgo.TypedRateLimiter[string]) priorityqueue.PriorityQueue[string]{
	"controller-runtime": func(name string, limiter clientgo.TypedRateLimiter[string]) priorityqueue.PriorityQueue[string] {
		return priorityqueue.New(name, func(o *priorityqueue.Opts[string]) { o.RateLimiter = limiter })
	},
	"ours": func(name string, limiter clientgo.TypedRateLimiter[string]) priorityqueue.PriorityQueue[string] {
		return NewQueue(name, limiter).(priorityqueue.PriorityQueue[string])
	},
}

// inEach runs a test in a bubble with each of the queues.
func inEach(t *testing.T, test func(t *testing.T, q priorityqueue.PriorityQueue[string])) {
	for name, make := range queues {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := make("", clientgo.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute))
				defer synctest.Wait()
				defer q.ShutDown()
				test(t, q)
			})
		})
	}
}

// expect takes keys and compares them, each with its priority.
func expect(t *testing.T, q priorityqueue.PriorityQueue[string], want ...any) {
	t.Helper()
	for i := 0; i < len(want); i += 2 {
		key, priority, shutdown := q.GetWithPriority()
		if shutdown || key != want[i] || priority != want[i+1] {
			t.Fatalf("got %q of priority %d, shutdown %t, instead of %q of %d", key, priority, shutdown, want[i], want[i+1])
		}
	}
}

func prio(p int) *int { return &p }

func TestTheHigherPriorityGoesFirst(t *testing.T) {
	inEach(t, func(t *testing.T, q priorityqueue.PriorityQueue[string]) {
		q.AddWithOpts(priorityqueue.AddOpts{Priority: prio(-100)}, "old-1", "old-2")
		q.Add("new")
		q.AddWithOpts(priorityqueue.AddOpts{Priority: prio(5)}, "urgent")
		expect(t, q, "urgent", 5, "new", 0, "old-1", -100, "old-2", -100)
	})
}

func TestAKeyKeepsTheHighestPriorityAndTheShortestDelay(t *testing.T) {
	inEach(t, func(t *testing.T, q priorityqueue.PriorityQueue[string]) {
		begin := time.Now()
		q.AddWithOpts(priorityqueue.AddOpts{After: time.Hour, Priority: prio(7)}, "key")
		q.AddWithOpts(priorityqueue.AddOpts{After: time.Minute, Priority: prio(1)}, "key")
		if q.Len() != 0 {
			t.Errorf("a delayed key counts as ready")
		}
		expect(t, q, "key", 7)
		if waited := time.Since(begin); waited != time.Minute {
			t.Errorf("the key came after %v", waited)
		}
	})
}

func TestOfADelayAndTheLimitersTheShorterCounts(t *testing.T) {
	for _, test := range []struct{ after, want time.Duration }{
		{0, time.Second}, {time.Millisecond, time.Millisecond}, {time.Hour, time.Second}, {-time.Hour, -1},
	} {
		inEach(t, func(t *testing.T, q priorityqueue.PriorityQueue[string]) {
			begin := time.Now()
			q.AddWithOpts(priorityqueue.AddOpts{After: test.after, RateLimited: true}, "key")
			expect(t, q, "key", 0)
			if waited := time.Since(begin); test.want >= 0 && waited != test.want {
				t.Errorf("After: %v: the key came after %v", test.after, waited)
			}
			if n := q.NumRequeues("key"); n != 1 {
				t.Errorf("After: %v: %d requeues", test.after, n)
			}
			q.Forget("key")
			if n := q.NumRequeues("key"); n != 0 {
				t.Errorf("a forgotten key has %d requeues", n)
			}
		})
	}
}

func TestAKeyThatRunsIsHandedOutOnceMoreWhenItIsDone(t *testing.T) {
	inEach(t, func(t *testing.T, q priorityqueue.PriorityQueue[string]) {
		q.Add("key")
		expect(t, q, "key", 0)
		q.AddWithOpts(priorityqueue.AddOpts{Priority: prio(3)}, "key")
		q.AddWithOpts(priorityqueue.AddOpts{After: time.Minute}, "key")
		got := make(chan struct{})
		go func() {
			defer close(got)
			expect(t, q, "key", 3)
		}()
		synctest.Wait()
		select {
		case <-got:
			t.Fatal("a key runs twice at a time")
		default:
		}
		q.Done("key")
		<-got
	})
}

func TestAGetWaitsForAKey(t *testing.T) {
	inEach(t, func(t *testing.T, q priorityqueue.PriorityQueue[string]) {
		ended := make(chan bool)
		go func() {
			_, _, shutdown := q.GetWithPriority()
			ended <- shutdown
		}()
		synctest.Wait()
		q.Add("key")
		if <-ended {
			t.Error("a Get says shutdown before there was one")
		}
	})
}

func TestAQueueThatWasShutDownTakesNoKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queues["ours"]("", clientgo.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute))
		ended := make(chan bool)
		go func() {
			_, _, shutdown := q.GetWithPriority()
			ended <- shutdown
		}()
		synctest.Wait()
		q.AddAfter("later", time.Hour)
		q.ShutDown()
		q.ShutDown()
		if !<-ended || !q.ShuttingDown() {
			t.Error("a Get that waits is not told of the shutdown")
		}
		q.Add("key")
		q.AddRateLimited("key")
		if _, shutdown := q.Get(); !shutdown || q.Len() != 0 || q.NumRequeues("key") != 0 {
			t.Error("a key is taken, or has cost its limiter a try")
		}
	})
}

func TestADrainFinishesWhatIsReadyAndRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queues["ours"]("", nil)
		q.Add("running")
		q.Add("ready")
		q.AddAfter("later", time.Hour)
		expect(t, q, "running", 0)
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			q.ShutDownWithDrain()
		}()
		synctest.Wait()
		expect(t, q, "ready", 0)
		q.Done("ready")
		synctest.Wait()
		select {
		case <-drained:
			t.Fatal("the drain did not wait for the key that runs")
		default:
		}
		q.Done("running")
		<-drained
	})
}

func TestPrioritiesBeyondTheRangeAreTheNearest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queues["ours"]("", nil)
		defer q.ShutDown()
		q.AddWithOpts(priorityqueue.AddOpts{Priority: prio(math.MinInt)}, "last")
		q.AddWithOpts(priorityqueue.AddOpts{Priority: prio(math.MaxInt)}, "first")
		expect(t, q, "first", 1000, "last", -1000)
	})
}

// gathered is what controller-runtime's registry says of the queues of a name:
// the sum of each metric, or the number of observations.
func gathered(t *testing.T, queue string) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			key, of := family.GetName(), ""
			for _, label := range m.GetLabel() {
				switch label.GetName() {
				case "name":
					of = label.GetValue()
				case "priority":
					key += "/" + label.GetValue()
				}
			}
			if of == queue {
				sums[key] += m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sums
}

// It holds for both queues, and so says too that the vectors are still the ones
// of controller-runtime.
func TestTheMetricsOfAQueueAreInTheRegistryUnderTheirNames(t *testing.T) {
	for kind, make := range queues {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				name := "metrics of " + kind
				q := make(name, nil)
				q.AddWithOpts(priorityqueue.AddOpts{Priority: prio(-100)}, "a", "b")
				q.Add("c")
				q.AddAfter("later", time.Second)
				expect(t, q, "c", 0)
				time.Sleep(2 * time.Second)
				synctest.Wait()
				want := map[string]float64{
					"workqueue_adds_total":                        4,
					"workqueue_retries_total":                     1,
					"workqueue_depth/-100":                        2,
					"workqueue_depth/0":                           1,
					"workqueue_queue_duration_seconds":            1,
					"workqueue_unfinished_work_seconds":           2,
					"workqueue_longest_running_processor_seconds": 2,
				}
				got := gathered(t, name)
				for metric, value := range want {
					if got[metric] != value {
						t.Errorf("%s is %v instead of %v", metric, got[metric], value)
					}
				}
				q.Done("c")
				if got := gathered(t, name)["workqueue_work_duration_seconds"]; got != 1 {
					t.Errorf("work_duration_seconds has %v observations", got)
				}
				q.ShutDown()
				synctest.Wait()
			})
		})
	}
}

func TestAQueueThatIsGoneHasNoDepth(t *testing.T) {
	q := queues["ours"]("gone", nil)
	q.Add("key")
	if depth := gathered(t, "gone")["workqueue_depth/0"]; depth != 1 {
		t.Errorf("the depth is %v", depth)
	}
	q.ShutDown()
	if depth, there := gathered(t, "gone")["workqueue_depth/0"]; there {
		t.Errorf("the depth is %v after the end", depth)
	}
}
