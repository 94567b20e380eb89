package workqueue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	ours "heliograph.example/workqueue"
)

// reports takes the place of the error handlers for a test, and keeps what they are
// told.
func reports(t *testing.T) *[]error {
	t.Helper()
	var told []error
	before := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{
		func(_ context.Context, err error, msg string, keysAndValues ...any) {
			told = append(told, fmt.Errorf("%s: %w %v", msg, err, keysAndValues))
		},
	}
	t.Cleanup(func() { utilruntime.ErrorHandlers = before })
	return &told
}

func TestWhatNoMethodCanReturnIsToldToTheErrorHandlers(t *testing.T) {
	slice := []string{"a"}
	for kind, q := range map[string]TypedInterface[any]{
		"ours":    NewTypedWithConfig(TypedQueueConfig[any]{Name: "pods"}),
		"storage": NewTypedWithConfig(TypedQueueConfig[any]{Name: "pods", Queue: DefaultQueue[any]()}),
	} {
		defer q.ShutDown()
		for name, row := range map[string]struct {
			do   func()
			want error
		}{
			"a Done of what nobody has":       {func() { q.Done("a") }, ours.ErrNotProcessing},
			"a Done of what waits":            {func() { q.Add("b"); q.Done("b") }, ours.ErrNotProcessing},
			"a key that is not a number":      {func() { q.Add(math.NaN()) }, ours.ErrBadKey},
			"a key that cannot be hashed":     {func() { q.Add(slice) }, ours.ErrBadKey},
			"a Done of what cannot be hashed": {func() { q.Done(slice) }, ours.ErrBadKey},
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				told := reports(t)
				row.do()
				if len(*told) != 1 || !errors.Is((*told)[0], row.want) || !strings.Contains((*told)[0].Error(), "pods") {
					t.Errorf("told %v, want %v of queue pods", *told, row.want)
				}
			})
		}
		q.Get()
		if n := q.Len(); n != 0 {
			t.Errorf("%s: %d items, want only what was added once", kind, n)
		}
		q.Done("b")
	}
}

func TestAQueueWithoutALimiterDelaysNothing(t *testing.T) {
	told := reports(t)
	q := NewTypedRateLimitingQueueWithConfig[string](nil, TypedRateLimitingQueueConfig[string]{Name: "pods"})
	defer q.ShutDown()
	q.Forget("a")
	if n := q.NumRequeues("a"); n != 0 || len(*told) > 0 {
		t.Errorf("%d requeues, told %v", n, *told)
	}
	q.AddRateLimited("a")
	if len(*told) != 1 || !errors.Is((*told)[0], errNoLimiter) || !strings.Contains((*told)[0].Error(), "pods") {
		t.Errorf("told %v", *told)
	}
	if item, _ := q.Get(); item != "a" {
		t.Errorf("%q, want it at once", item)
	}
}

func TestAnAddToAQueueThatIsShutDownIsNoError(t *testing.T) {
	told := reports(t)
	q := NewTypedRateLimitingQueue(DefaultTypedControllerRateLimiter[string]())
	q.ShutDown()
	q.Add("a")
	q.AddAfter("a", 1)
	q.AddRateLimited("a")
	if len(*told) > 0 || q.Len() > 0 {
		t.Errorf("told %v, %d items", *told, q.Len())
	}
}
