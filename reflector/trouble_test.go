package reflector

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"heliograph.example/deltafifo"
)

func TestAForbiddenResourceIsExplainedAndReadOnceGranted(t *testing.T) { // report 18
	for _, test := range []struct {
		name  string
		err   error
		class ErrorClass
		line  string
	}{
		{"forbidden", errForbidden, ClassForbidden, `pods: forbidden: may not VERB: pods is forbidden: user "eve" cannot list resource (for `},
		{"unauthorized", status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized), ClassUnauthorized, "pods: unauthorized: Unauthorized (401) (for "},
	} {
		for _, streaming := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, streaming %v", test.name, streaming), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var granted atomic.Bool
					s := &script{
						onList: func(int, metav1.ListOptions) ([]Item[object], Page, error) {
							if !granted.Load() {
								return nil, Page{}, test.err
							}
							return []Item[object]{obj("a", "u1", "5")}, Page{Version: "10"}, nil
						},
						onStream: func(int, metav1.ListOptions) ([]act, error) {
							if !granted.Load() {
								return nil, test.err
							}
							return []act{send(event(deltafifo.Added, "a", "u1", "5"), end("10"))}, nil
						},
					}
					opts := Options[object]{}
					if !streaming {
						opts.Streaming = StreamingNever
					}
					g := newRig(t, s, opts)
					g.during(2*time.Minute, func() {
						st := g.Status()
						if st.State != Forbidden || st.Class != test.class || st.Synced || st.Tries < 5 || !st.NextTry.After(time.Now()) {
							t.Errorf("status: %+v", st)
						}
						line := strings.Replace(test.line, "VERB", map[bool]string{true: "watch", false: "list"}[streaming], 1)
						if want := fmt.Sprintf("%s2m0s, %d tries)", line, st.Tries); st.Explain() != want {
							t.Errorf("explained as\n%s\nwant\n%s", st, want)
						}
						granted.Store(true)
						time.Sleep(46 * time.Second)
						synctest.Wait()
						if st := g.Status(); !st.Synced || st.State != Watching || !errors.Is(st.LastError, test.err) {
							t.Errorf("status: %+v", st)
						}
						time.Sleep(10 * time.Second)
						if st := g.Status(); st.Tries != 0 || !strings.HasPrefix(st.String(), "pods: watching: ") {
							t.Errorf("status: %+v", st)
						}
					})
				})
			})
		}
	}
}

func TestOneTryIsToldInTheSingular(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onStream: refusing(errForbidden)}
		g := newRig(t, s, Options[object]{})
		g.during(500*time.Millisecond, func() {
			if got := g.Status().Explain(); !strings.HasSuffix(got, "(for 500ms, 1 try)") {
				t.Error(got)
			}
		})
	})
}

func TestAResourceThatIsGoneAndComesBackIsListed(t *testing.T) { // report 20
	synctest.Test(t, func(t *testing.T) {
		notFound := status(http.StatusNotFound, metav1.StatusReasonNotFound)
		var gone atomic.Bool
		s := &script{
			onList: func(n int, _ metav1.ListOptions) ([]Item[object], Page, error) {
				switch {
				case n == 0:
					return []Item[object]{obj("a", "u1", "5"), obj("b", "u2", "6")}, Page{Version: "10"}, nil
				case gone.Load():
					return nil, Page{}, notFound
				}
				return []Item[object]{obj("c", "u3", "50")}, Page{Version: "60"}, nil
			},
			onWatch: func(n int, opts metav1.ListOptions) ([]act, error) {
				if n == 0 {
					return []act{fail(notFound).wait(time.Minute)}, nil
				}
				return nil, nil
			},
		}
		g := newRig(t, s, Options[object]{})
		time.AfterFunc(30*time.Second, func() { gone.Store(true) })
		time.AfterFunc(10*time.Minute, func() { gone.Store(false) })
		g.during(9*time.Minute, func() {
			st := g.Status()
			if st.State != NotServed || st.Class != ClassNotServed || !st.Synced {
				t.Errorf("status: %+v", st)
			}
			if n := len(s.asked("LIST")); n < 8 || n > 12 {
				t.Errorf("%d lists in 8 minutes", n)
			}
			time.Sleep(2 * time.Minute)
			g.Nudge()
			synctest.Wait()
			wantLines(t, "pushed", g.sink.took(), "Replaced@10[Added a/u1@5 Added b/u2@6]",
				sortedReplaced("60", "Deleted a/u1@60?", "Deleted b/u2@60?", "Added c/u3@50", g.sink.took()))
			wantLines(t, "watched", s.asked("WATCH"), "WATCH(10)", "WATCH(60)")
		})
	})
}

// sortedReplaced is the Replaced of one add and two deletes, in whichever order
// they were pushed.
func sortedReplaced(version, first, second, add string, pushed []string) string {
	a := fmt.Sprintf("Replaced@%s[%s %s %s]", version, first, second, add)
	if slices.Contains(pushed, a) {
		return a
	}
	return fmt.Sprintf("Replaced@%s[%s %s %s]", version, second, first, add)
}

func TestOnePoisonObjectHarmsOnlyItself(t *testing.T) { // report 29
	boom := errors.New("boom")
	for _, test := range []struct {
		name      string
		transform func(object) (object, error)
		cause     func(error) bool
	}{
		{"an error", func(object) (object, error) { return nil, boom }, func(err error) bool { return errors.Is(err, boom) }},
		{"a panic", func(object) (object, error) { panic("boom") }, func(err error) bool {
			var p *PanicError
			return errors.As(err, &p) && p.Value == "boom" && len(p.Stack) > 0
		}},
		{"nothing", func(object) (object, error) { return nil, nil }, func(err error) bool { return errors.Is(err, errTransformedAway) }},
	} {
		for _, streaming := range []StreamingPolicy{StreamingAuto, StreamingNever} {
			t.Run(fmt.Sprintf("%s, streaming %d", test.name, streaming), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := &script{
						onList:   listed("10", obj("good", "u1", "5"), obj("bad", "u2", "6")),
						onStream: always(send(event(deltafifo.Added, "good", "u1", "5"), event(deltafifo.Added, "bad", "u2", "6"), end("10"))),
						onWatch:  always(send(event(deltafifo.Updated, "good", "u1", "11"), event(deltafifo.Updated, "bad", "u2", "12"), event(deltafifo.Deleted, "bad", "u2", "13"))),
					}
					opts := Options[object]{Streaming: streaming, Transform: func(o object) (object, error) {
						if o.Name == "bad" {
							return test.transform(o)
						}
						return o, nil
					}}
					g := newRig(t, s, opts)
					g.during(time.Minute, func() {
						want := []string{"Replaced@10[Added good/u1@5]"}
						errs := 1
						if streaming == StreamingNever {
							want, errs = append(want, "Updated good/u1@11", "Bookmark@12", "Deleted bad/u2@13?"), 3
						}
						wantLines(t, "pushed", g.sink.took(), want...)
						if st := g.Status(); !st.Synced || st.ObjectErrors != uint64(errs) || len(g.errs) != errs {
							t.Fatalf("status: %+v, errors %v", st, g.errs)
						}
						err := g.errs[0]
						if err.Stage != StageTransform || err.Key != key("bad") || err.UID != "u2" || err.Version != "6" || !test.cause(err) {
							t.Errorf("error: %v", err)
						}
						if !strings.HasPrefix(err.Error(), "pods: ns/bad at version 6: transform: ") {
							t.Errorf("error: %v", err)
						}
					})
				})
			})
		}
	}
}

func TestAPoisonObjectKeepsItsGoodStateThroughAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := obj("a", "u1", "50")
		bad.Object, bad.Err = nil, errors.New("garbage")
		nameless := Item[object]{Err: &ObjectError{Resource: "the source", Stage: StageDecode, Err: errNoName}}
		s := &script{onList: lists([]Item[object]{obj("a", "u1", "5")}, []Item[object]{bad, nameless}), onWatch: expiring(1)}
		g := newRig(t, s, Options[object]{})
		g.during(2*time.Minute, func() {
			wantLines(t, "pushed", g.sink.took(), "Replaced@100[Added a/u1@5]", "Replaced@1000[]")
			wantLines(t, "errors", g.errs, "pods: ns/a at version 50: decode: garbage", "pods: an object without a name: decode: it has no name")
		})
	})
}

func TestATransformIsAppliedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		s := &script{onStream: always(send(event(deltafifo.Added, "a", "u1", "5"), end("10"), event(deltafifo.Updated, "a", "u1", "11")))}
		g := newRig(t, s, Options[object]{Transform: func(o object) (object, error) {
			calls++
			return &metav1.PartialObjectMetadata{}, nil // even the version is cut out
		}})
		g.during(time.Minute, func() {
			wantLines(t, "pushed", g.sink.took(), "Replaced@10[Added a/u1@5]", "Updated a/u1@11")
			if calls != 2 {
				t.Errorf("%d calls", calls)
			}
		})
	})
}

func TestEveryStateEndsWithItsContext(t *testing.T) { // report 26
	hang := func(verb string) *script { return &script{onList: listed("10"), hang: map[string]bool{verb: true}} }
	busy := status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
	busy.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 3600}
	for _, test := range []struct {
		name   string
		state  State
		script *script
	}{
		{"streaming, unanswered", Streaming, hang("STREAM")},
		{"streaming, silent", Streaming, &script{onStream: always(oneAdded)}},
		{"streaming, busy", BackingOff, &script{onStream: refusing(busy)}},
		{"listing", Listing, hang("LIST")},
		{"watching, unanswered", Watching, hang("WATCH")},
		{"watching, silent", Watching, &script{onList: listed("10")}},
		{"backing off", BackingOff, &script{onList: listed("10"), onWatch: refusing(busy)}},
		{"forbidden", Forbidden, &script{onStream: refusing(errForbidden)}},
		{"not served", NotServed, &script{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, test.script, Options[object]{})
				g.during(5*time.Second, func() {
					if st := g.Status(); st.State != test.state {
						t.Errorf("state: %s, gone through %v", st, g.path())
					}
				})
			})
		})
	}
	t.Run("proving", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := hang("PROOF")
			s.onWatch = nth(repeat(1, eof()))
			g := newRig(t, s, Options[object]{})
			g.during(20*time.Second, func() {
				if st := g.Status(); st.State != Starting || len(s.asked("PROOF")) != 1 {
					t.Errorf("status: %+v", st)
				}
			})
		})
	})
	t.Run("waiting for the sink", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newRig(t, &script{onList: listed("10")}, Options[object]{})
			g.sink.hang = true
			g.during(5*time.Second, func() {})
		})
	})
	t.Run("starting", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &script{onList: listed("10")}
			g := newRig(t, s, Options[object]{})
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := g.Run(ctx); err != nil || len(s.asked()) != 0 {
				t.Errorf("Run returned %v after %v", err, s.asked())
			}
		})
	})
}

func TestTheStatesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("10"), onWatch: func(n int, _ metav1.ListOptions) ([]act, error) {
			if n == 0 {
				return nil, errInternal
			}
			return nil, nil
		}}
		g := newRig(t, s, Options[object]{})
		if st := g.Status(); st.State != Stopped || st.Explain() != "pods: stopped: not started (for 0s)" {
			t.Errorf("before: %s", st)
		}
		g.during(time.Minute, func() {})
		wantLines(t, "states", g.path(), "starting", "streaming", "listing", "watching", "backing off", "watching", "stopped")
		for _, st := range g.states {
			if st.Reason == "" || st.Name != "pods" || st.Since.IsZero() || strings.Contains(st.Explain(), "\n") {
				t.Errorf("told %+v", st)
			}
		}
	})
}

func TestBadOptionsAreRefused(t *testing.T) {
	for name, opts := range map[string]Options[object]{
		"page size":         {PageSize: -1},
		"streaming":         {Streaming: 9},
		"streaming timeout": {StreamingTimeout: -time.Second},
		"watch timeout":     {WatchTimeout: -time.Second},
		"silence timeout":   {SilenceTimeout: -time.Second},
		"minimum version":   {MinimumResourceVersion: "v1"},
		"half a second":     {WatchTimeout: time.Second / 2},
		"a life for ever":   {WatchTimeout: math.MaxInt64 / time.Second * time.Second},
		"silence at once":   {SilenceTimeout: time.Millisecond},
		"not served":        {NotServed: 9},
		"a group of none":   {Group: &Group{}},
		"a bare pause":      {Backoff: wait.Backoff{Duration: 1}},
		"a cap below all":   {Backoff: wait.Backoff{Duration: time.Second, Cap: time.Millisecond}},
		"jitter past all":   {Backoff: wait.Backoff{Duration: time.Second, Jitter: math.Inf(1)}},
		"back-off duration": {Backoff: wait.Backoff{Cap: time.Second}},
		"back-off cap":      {Backoff: wait.Backoff{Duration: time.Second, Cap: -1}},
		"back-off jitter":   {Backoff: wait.Backoff{Duration: time.Second, Jitter: -1}},
		"back-off factor":   {Backoff: wait.Backoff{Duration: time.Second, Factor: -1}},
		"a shrinking pause": {Backoff: wait.Backoff{Duration: time.Second, Factor: 0.5}},
		"no number":         {Backoff: wait.Backoff{Duration: time.Second, Factor: math.NaN()}},
		"a pause past all":  {Backoff: wait.Backoff{Duration: time.Second, Factor: math.Inf(1)}},
		"no jitter either":  {Backoff: wait.Backoff{Duration: time.Second, Jitter: math.NaN()}},
		"back-off steps":    {Backoff: wait.Backoff{Duration: time.Second, Steps: -1}},
	} {
		if _, err := New[object](&script{}, newRecorder(t), opts); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New[object](nil, newRecorder(t), Options[object]{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("no source: %v", err)
	}
	if _, err := New[object](&script{}, (*recorder)(nil), Options[object]{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("no sink: %v", err)
	}
	r, err := New[object](&script{}, newRecorder(t), Options[object]{})
	if err != nil || r.Status().Name != "*v1.PartialObjectMetadata" {
		t.Errorf("zero options: %v, %v", r.Status(), err)
	}
}

func TestABackoffOfTheUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("10"), onWatch: refusing(errInternal)}
		g := newRig(t, s, Options[object]{Backoff: wait.Backoff{Duration: time.Second, Factor: 2, Cap: 4 * time.Second}})
		g.during(20*time.Second, func() {
			var at []time.Duration
			for _, w := range s.asked("WATCH") {
				at = append(at, w.at)
			}
			wantLines(t, "watches", at, "0s", "1s", "3s", "7s", "11s", "15s", "19s")
		})
	})
}

func TestEachErrorHasItsClass(t *testing.T) {
	for want, errs := range map[ErrorClass][]error{
		ClassNone:            {nil},
		ClassForbidden:       {errForbidden, fmt.Errorf("wrapped: %w", errForbidden)},
		ClassTooManyRequests: {errBusy},
		ClassExpired:         {errExpired, status(http.StatusGone, metav1.StatusReasonGone)},
		ClassUnreachable: {context.DeadlineExceeded, status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout),
			apierrors.NewServerTimeout(metav1.SchemeGroupVersion.WithResource("x").GroupResource(), "list", 1)},
		ClassDecode: {fmt.Errorf("%w: x", ErrDecode)},
		ClassOther:  {errors.New("x"), errInternal},
	} {
		for _, err := range errs {
			if got := classify(err); got != want {
				t.Errorf("%v is %q, want %q", err, got, want)
			}
		}
	}
}
