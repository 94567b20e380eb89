package reflector

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"heliograph.example/deltafifo"
)

func TestEverySubscriberIsToldOfEachChangeOfState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("10"), onWatch: func(n int, _ metav1.ListOptions) ([]act, error) {
			if n == 0 {
				return nil, errInternal
			}
			return nil, nil
		}}
		g := newRig(t, s, Options[object]{})
		var first, second []State
		cancelFirst := g.Subscribe(func(st Status) {
			first = append(first, st.State)
			if now := g.Status().State; now != st.State {
				t.Errorf("told of %s in %s", st.State, now)
			}
		})
		var cancelSecond func()
		cancelSecond = g.Subscribe(func(st Status) {
			if second = append(second, st.State); len(second) == 2 {
				cancelSecond()
			}
		})
		g.Subscribe(nil)()
		g.during(time.Minute, func() {})
		wantLines(t, "first", first, "starting", "streaming", "listing", "watching", "backing off", "watching", "stopped")
		wantLines(t, "second", second, "starting", "streaming")
		cancelFirst()
		cancelFirst()
		g.during(time.Minute, func() {})
		if len(first) != 7 {
			t.Errorf("told after cancel: %v", first)
		}
	})
}

func TestTheLogHasALineForEachChangeAndNotForEachTry(t *testing.T) { // quiet logs
	outage := func(n int, err error) func(int, metav1.ListOptions) ([]act, error) {
		return func(i int, _ metav1.ListOptions) ([]act, error) {
			if i < n {
				return nil, err
			}
			return []act{send(event(deltafifo.Added, "a", "u1", "11"))}, nil
		}
	}
	unreachable := fmt.Errorf("dial: %w", errDeadline)
	for _, test := range []struct {
		name    string
		onWatch func(int, metav1.ListOptions) ([]act, error)
		want    map[int][]string // by verbosity
	}{
		{"nothing wrong", outage(0, nil), map[int][]string{0: nil, 2: {"starting", "listing", "watching"}}},
		{"one failure", outage(1, unreachable), map[int][]string{0: nil,
			2: {"starting", "listing", "watching", "backing off unreachable", "recovered"}}},
		{"many failures", outage(12, unreachable), map[int][]string{0: {"backing off unreachable", "recovered"},
			2: {"starting", "listing", "watching", "backing off unreachable", "backing off unreachable", "recovered"}}},
		{"forbidden is told at once", outage(2, errForbidden), map[int][]string{0: {"forbidden forbidden", "recovered"},
			2: {"starting", "listing", "watching", "forbidden forbidden", "recovered"}}},
		{"one trouble turns into another", func(n int, opts metav1.ListOptions) ([]act, error) {
			return outage(12, []error{unreachable, errInternal}[n/6%2])(n, opts)
		}, map[int][]string{0: {"backing off unreachable", "backing off other", "recovered"}}},
	} {
		for verbosity, want := range test.want {
			t.Run(fmt.Sprintf("%s, at level %d", test.name, verbosity), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					logger := ktesting.NewLogger(ktesting.NopTL{}, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(verbosity)))
					ctx, cancel := context.WithTimeout(klog.NewContext(t.Context(), logger), 10*time.Minute)
					defer cancel()
					r, err := New[object](&script{onList: listed("10"), onWatch: test.onWatch}, newRecorder(t),
						Options[object]{Name: "pods", Streaming: StreamingNever, WatchTimeout: time.Hour})
					if err != nil {
						t.Fatal(err)
					}
					if err := r.Run(ctx); err != nil {
						t.Error(err)
					}
					wantLines(t, "log", logLines(logger), append(want, map[int][]string{2: {"stopped"}}[verbosity]...)...)
				})
			})
		}
	}
}

// logLines returns what the log says of states.
func logLines(logger klog.Logger) (lines []string) {
	for _, entry := range logger.GetSink().(ktesting.Underlier).GetBuffer().Data() {
		if entry.Message == "Reflector has recovered" {
			lines = append(lines, "recovered")
			continue
		}
		line := ""
		for i := 0; i+1 < len(entry.ParameterKVList); i += 2 {
			switch entry.ParameterKVList[i] {
			case "state":
				line = fmt.Sprint(entry.ParameterKVList[i+1])
			case "class":
				if class := fmt.Sprint(entry.ParameterKVList[i+1]); class != "" && line != "watching" && line != "stopped" {
					line += " " + class
				}
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func TestASlowListIsTracedAndAQuickOneIsNot(t *testing.T) {
	for _, test := range []struct {
		name   string
		period time.Duration
		err    error
		lines  int
	}{
		{"quick", time.Second, nil, 0},
		{"slow", 3 * time.Second, nil, 1},
		{"slow and broken off", 3 * time.Second, status(http.StatusConflict, metav1.StatusReasonConflict), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				logger := ktesting.NewLogger(ktesting.NopTL{}, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(0)))
				ctx, cancel := context.WithTimeout(klog.NewContext(t.Context(), logger), 12500*time.Millisecond)
				defer cancel()
				s := &script{trickle: trickling(4, test.period), onList: func(int, metav1.ListOptions) ([]Item[object], Page, error) {
					return []Item[object]{obj("a", "u1", "5")}, Page{Version: "10"}, test.err
				}}
				r, err := New[object](s, newRecorder(t), Options[object]{Name: "pods", Streaming: StreamingNever})
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Run(ctx); err != nil {
					t.Error(err)
				}
				var told []any
				for _, entry := range logger.GetSink().(ktesting.Underlier).GetBuffer().Data() {
					if entry.Message == "A list was slow" {
						told = append(told, entry.ParameterKVList)
					}
				}
				if len(told) != test.lines {
					t.Errorf("told %v, want %d lines", told, test.lines)
				}
			})
		})
	}
}

func TestWhatEndsOnThisSideIsStopped(t *testing.T) {
	for _, err := range []error{&SinkError{Resource: "pods", Err: errors.New("x")}, ErrStopped, context.Canceled,
		&SinkError{Resource: "pods", Err: errForbidden}} {
		if got := classify(err); got != ClassStopped {
			t.Errorf("%v is %q", err, got)
		}
	}
}

func TestAPanicOfWhoIsToldEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("10", garbage("a", "u1", "5"))}
		r, err := New[object](s, newRecorder(t), Options[object]{
			Streaming:     StreamingNever,
			OnTransition:  func(Status) { panic("transition") },
			OnObjectError: func(*ObjectError) { panic("object") },
		})
		if err != nil {
			t.Fatal(err)
		}
		told := 0
		r.Subscribe(func(Status) { panic("subscriber") })
		r.Subscribe(func(Status) { told++ })
		ctx, cancel := context.WithTimeout(klog.NewContext(t.Context(), klog.New(nil)), time.Minute)
		defer cancel()
		if err := r.Run(ctx); err != nil || told != 4 || !r.Status().Synced {
			t.Errorf("%v, told %d times, %s", err, told, r.Status())
		}
	})
}

// looker is a sink that looks at the status while it takes a complete state.
type looker struct {
	*recorder
	look func() Status
	saw  []bool
}

func (l *looker) Push(deltas []deltafifo.Delta[object]) error {
	if deltas[0].Type == deltafifo.Replaced {
		l.saw = append(l.saw, l.look().Synced)
	}
	return l.recorder.Push(deltas)
}

func TestWhoeverSeesTheFirstStateSeesThatItIsSynced(t *testing.T) {
	for _, refuse := range []error{nil, errors.New("closed")} {
		synctest.Test(t, func(t *testing.T) {
			sink := &looker{recorder: newRecorder(t)}
			sink.refuse = refuse
			r, err := New[object](&script{onList: listed("10")}, sink, Options[object]{Streaming: StreamingNever})
			if err != nil {
				t.Fatal(err)
			}
			sink.look = r.Status
			if r.Status().Synced {
				t.Error("synced before the first state")
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := r.Run(ctx); !errors.Is(err, refuse) {
				t.Error(err)
			}
			if !slices.Equal(sink.saw, []bool{true}) || r.Status().Synced != (refuse == nil) {
				t.Errorf("seen as synced: %v; at the end: %v", sink.saw, r.Status().Synced)
			}
		})
	}
}

func TestANilContextIsRefused(t *testing.T) {
	g := newRig(t, &script{}, Options[object]{})
	var none context.Context
	for name, err := range map[string]error{"Run": g.Run(none), "ListAndWatch": g.ListAndWatch(none), "WaitForVersion": g.WaitForVersion(none, "1")} {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
