package workqueue

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestBadOptionsAreErrors(t *testing.T) {
	tenant := func(string) string { return "" }
	for name, opts := range map[string]Options[string]{
		"negative base":       {Backoff: Backoff{Base: -1}},
		"negative max":        {Backoff: Backoff{Max: -1}},
		"max below base":      {Backoff: Backoff{Base: 2, Max: 1}},
		"negative rate":       {Rate: -1},
		"rate not a number":   {Rate: limit(math.NaN())},
		"rate below any":      {Rate: limit(math.Inf(-1))},
		"negative burst":      {Rate: 1, Burst: -1},
		"burst, no rate":      {Burst: 1},
		"negative ageing":     {Ageing: -1},
		"endless ageing":      {Ageing: math.MaxInt64},
		"weights, no tenants": {Weights: map[string]int{"a": 1}},
		"zero weight":         {Tenant: tenant, Weights: map[string]int{"a": 1, "b": 0}},
		"negative weight":     {Tenant: tenant, Weights: map[string]int{"a": -1}},
	} {
		t.Run(name, func(t *testing.T) {
			if q, err := New(opts); !errors.Is(err, ErrInvalid) || q != nil {
				t.Errorf("New: %v, %v", q, err)
			}
		})
	}
}

func TestBadArgumentsAreErrors(t *testing.T) {
	q := newQueue(t, Options[string]{})
	var missing context.Context
	for name, err := range map[string]error{
		"Drain without a context":   q.Drain(missing, RunDelayed),
		"Drain in no mode":          q.Drain(t.Context(), 2),
		"Drain in a mode below any": q.Drain(t.Context(), -1),
		"Hold without a reason":     holdError(q, Hold{Limit: time.Second}),
		"Hold without a limit":      holdError(q, Hold{Reason: "r"}),
		"Hold until yesterday":      holdError(q, Hold{Reason: "r", Limit: -time.Second}),
	} {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s := q.Stats(); s.Held > 0 {
		t.Errorf("%+v", s)
	}
	add(t, q, "still open")
}

func holdError(q *Queue[string], h Hold) error {
	_, err := q.Hold("a", h)
	return err
}

func TestWhatIsNoKeyIsAnError(t *testing.T) {
	type inside struct {
		name string
		more [2]any
	}
	q, err := New(Options[any]{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []any{
		[]int{1}, map[string]int{}, func() {}, math.NaN(), float32(math.NaN()), complex(0, math.NaN()),
		inside{"a", [2]any{1, []byte("b")}}, [1]any{math.NaN()},
	} {
		_, err := q.Hold(key, Hold{Reason: "r", Limit: time.Second})
		for _, err := range []error{q.Add(key), q.AddAfter(key, time.Second), q.Done(key, Result{}), err} {
			if !errors.Is(err, ErrBadKey) {
				t.Errorf("%T: %v", key, err)
			}
		}
		if r, ok := q.Why(key); ok || q.Cancel(key) {
			t.Errorf("%T: %v", key, r)
		}
	}
	for _, key := range []any{nil, 1, "", math.Inf(1), inside{"a", [2]any{1, "b"}}, &inside{}} {
		if err := q.Add(key); err != nil {
			t.Errorf("%T: %v", key, err)
		}
		if got, err := q.Get(t.Context()); got != key || err != nil || q.Done(key, Result{}) != nil {
			t.Errorf("%T: %v, %v", key, got, err)
		}
	}
	if s := q.Stats(); s.Adds != 6 || s.Ready+s.Delayed+s.Held+s.Running > 0 {
		t.Errorf("%+v", s)
	}
	floats, err := New(Options[[2]float64]{})
	if err != nil {
		t.Fatal(err)
	}
	if err := floats.Add([2]float64{1, math.NaN()}); !errors.Is(err, ErrBadKey) {
		t.Error(err)
	}
}

func TestAHugeKeyMakesNoHugeError(t *testing.T) {
	q := newQueue(t, Options[string]{})
	key := strings.Repeat("huge", 1<<20)
	add(t, q, key)
	if got, err := q.Get(t.Context()); got != key || err != nil {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	done(t, q, key, Result{})
	if err := q.Done(key, Result{}); !errors.Is(err, ErrNotProcessing) || len(err.Error()) > 1000 {
		t.Errorf("%d bytes: %.100v", len(err.Error()), err)
	}
}

// talkative is a key that asks its queue while it is printed.
type talkative struct {
	q *Queue[talkative]
}

func (k talkative) String() string {
	k.q.Why(k)
	return "talkative"
}

func TestAKeyMayAskTheQueueWhileItIsPrinted(t *testing.T) {
	q, err := New(Options[talkative]{})
	if err != nil {
		t.Fatal(err)
	}
	key := talkative{q}
	if err := q.Done(key, Result{}); !errors.Is(err, ErrNotProcessing) {
		t.Error(err)
	}
	q.Close()
	for _, err := range []error{q.Add(key), q.AddAfter(key, 1)} {
		if !errors.Is(err, ErrClosed) || !strings.Contains(err.Error(), "talkative") {
			t.Error(err)
		}
	}
}

func TestATenantFunctionThatPanicsIsAnErrorOfItsKey(t *testing.T) {
	q := newQueue(t, Options[string]{Tenant: func(key string) string { return key[:1] }})
	for _, err := range []error{q.Add(""), holdError(newQueue(t, Options[string]{Tenant: func(string) string { panic("no") }}), Hold{})} {
		if !errors.Is(err, ErrBadKey) || !strings.Contains(err.Error(), "panics") {
			t.Error(err)
		}
	}
	add(t, q, "ok")
	if key, err := q.Get(t.Context()); key != "ok" || err != nil {
		t.Error(key, err)
	}
}

func TestAContextThatHasEndedTakesNothing(t *testing.T) {
	q := newQueue(t, Options[string]{})
	add(t, q, "a", "b")
	cause := errors.New("the cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := q.Get(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Get: %v", err)
	}
	if keys, err := q.GetBatch(ctx, 2); len(keys) > 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("GetBatch: %q, %v", keys, err)
	}
	if s := q.Stats(); s.Ready != 2 || s.Running != 0 {
		t.Errorf("%+v", s)
	}
	// A drain begins even so: only the wait for its end is over.
	if err := q.Drain(ctx, RunDelayed); !errors.Is(err, cause) {
		t.Errorf("Drain: %v", err)
	}
	if err := q.Add("c"); !errors.Is(err, ErrClosed) {
		t.Errorf("Add: %v", err)
	}
	for _, key := range []string{"a", "b"} {
		if got, err := q.Get(t.Context()); got != key || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		done(t, q, key, Result{})
	}
	if err := q.Drain(ctx, RunDelayed); err != nil {
		t.Errorf("Drain: %v", err)
	}
}
