package leader

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// candidate is an election that is under way, without a server: the test says when a
// request was sent, and that its answer has come. Its timers wait until awake is closed.
func candidate(t *testing.T) (e *Election, answered func(sent time.Time) error, awake chan struct{}) {
	t.Helper()
	e, err := New(Options{Leases: &coordinationclient.CoordinationV1Client{}, Namespace: "n", Name: "l", Identity: "a"})
	if err != nil {
		t.Fatal(err)
	}
	awake = make(chan struct{})
	e.hook = func() { <-awake }
	if err := e.begin(); err != nil {
		t.Fatal(err)
	}
	return e, func(sent time.Time) error {
		e.mu.Lock()
		defer e.mu.Unlock()
		return lock{nil, e}.renewed(sent)
	}, awake
}

// TestATermIsCountedFromWhenItsRequestWasSent: whoever saw the renewal at that moment
// waits from then on.
func TestATermIsCountedFromWhenItsRequestWasSent(t *testing.T) {
	for name, renewals := range map[string]int{"the first": 0, "a renewal": 1, "the third": 3} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, answered, awake := candidate(t)
				defer close(awake)
				var sent time.Time
				for range 1 + renewals {
					sent = time.Now()
					time.Sleep(4 * time.Second) // so long takes the answer
					if err := answered(sent); err != nil {
						t.Fatal(err)
					}
				}
				term, err := e.Lead(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(6*time.Second - time.Nanosecond)
				if !term.Valid() {
					t.Error(term.Err())
				}
				time.Sleep(time.Nanosecond)
				if term.Valid() {
					t.Errorf("valid %v after the request was sent", time.Since(sent))
				}
			})
		})
	}
}

func TestAnAnswerThatComesAfterTheDeadlineRenewsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, answered, awake := candidate(t)
		defer close(awake)
		sent := time.Now()
		time.Sleep(10 * time.Second)
		if err := answered(sent); !errors.Is(err, errNotRenewed) || e.tenure != nil {
			t.Fatalf("a lease that was won ten seconds ago: %v", err)
		}
		if err := answered(time.Now()); err != nil {
			t.Fatal(err)
		}
		term, err := e.Lead(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(9 * time.Second)
		again := time.Now()
		time.Sleep(time.Second)
		// The timer sleeps, and nobody has looked at the clock since.
		if err := answered(again); !errors.Is(err, errNotRenewed) {
			t.Errorf("a renewal of what was lost: %v", err)
		}
		if term.Valid() || !errors.Is(term.Err(), errNotRenewed) {
			t.Errorf("valid again: %v", term.Err())
		}
	})
}
