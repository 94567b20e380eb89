package reflector

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/deltafifo"
)

// always answers each streaming list or watch alike.
func always(acts ...act) func(int, metav1.ListOptions) ([]act, error) {
	return func(int, metav1.ListOptions) ([]act, error) { return append([]act(nil), acts...), nil }
}

// refusing answers each with an error.
func refusing(err error) func(int, metav1.ListOptions) ([]act, error) {
	return func(int, metav1.ListOptions) ([]act, error) { return nil, err }
}

var oneAdded = send(event(deltafifo.Added, "a", "u1", "5"))

func TestTheFirstStateFallsFromStreamToPages(t *testing.T) {
	retryAfter := status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
	retryAfter.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 7}
	for _, test := range []struct {
		name     string
		onStream func(int, metav1.ListOptions) ([]act, error)
		opts     Options[object]
		streams  int
		// The list must come between these two moments.
		after, before time.Duration
		reason        string
		remembered    bool
	}{{
		name:     "a stream that ends early each time is tried three times", // report 1
		onStream: always(oneAdded, eof()),
		streams:  3, after: 500 * time.Millisecond, before: 2 * time.Second,
		reason: "no initial-events bookmark", remembered: true,
	}, {
		name:     "a stream that stays silent is left after the progress deadline", // report 2
		onStream: always(oneAdded),
		streams:  1, after: 10 * time.Second, before: 10 * time.Second,
		reason: "no initial-events bookmark", remembered: true,
	}, {
		name:     "progress moves the deadline",
		onStream: always(oneAdded, send(event(deltafifo.Added, "b", "u2", "6")).wait(7*time.Second)),
		streams:  1, after: 17 * time.Second, before: 17 * time.Second,
		reason: "no initial-events bookmark", remembered: true,
	}, {
		name: "changes are no progress", // report 2 on a busy resource
		onStream: func(int, metav1.ListOptions) ([]act, error) {
			acts := []act{oneAdded}
			for i := range 100 {
				acts = append(acts, send(event(deltafifo.Updated, "a", "u1", fmt.Sprint(6+i))).wait(time.Second))
			}
			return acts, nil
		},
		streams: 1, after: 10 * time.Second, before: 10 * time.Second,
		reason: "no initial-events bookmark", remembered: true,
	}, {
		name: "new objects after the first change are no progress",
		onStream: func(int, metav1.ListOptions) ([]act, error) {
			acts := []act{oneAdded, send(event(deltafifo.Deleted, "x", "ux", "6"))}
			for i := range 100 {
				acts = append(acts, send(event(deltafifo.Added, fmt.Sprint(i), fmt.Sprint(i), fmt.Sprint(7+i))).wait(time.Second))
			}
			return acts, nil
		},
		streams: 1, after: 10 * time.Second, before: 10 * time.Second,
		reason: "no initial-events bookmark", remembered: true,
	}, {
		name: "bookmarks are no progress",
		onStream: func(int, metav1.ListOptions) ([]act, error) {
			acts := []act{oneAdded}
			for i := range 100 {
				acts = append(acts, read(1).wait(5*time.Second), send(bookmark(fmt.Sprint(6+i))))
			}
			return acts, nil
		},
		streams: 1, after: 15 * time.Second, before: 15 * time.Second,
		reason: "no initial-events bookmark", remembered: true,
	}, {
		name:     "the deadline is an option",
		onStream: always(oneAdded),
		opts:     Options[object]{StreamingTimeout: 3 * time.Second},
		streams:  1, after: 3 * time.Second, before: 3 * time.Second,
		reason: "no initial-events bookmark", remembered: true,
	}, {
		name:     "a busy server is asked three times", // report 3
		onStream: refusing(errBusy),
		streams:  3, after: 2400 * time.Millisecond, before: 4 * time.Second,
		reason: "TooManyRequests",
	}, {
		name:     "a busy server says for how long",
		onStream: refusing(retryAfter),
		streams:  3, after: 21 * time.Second, before: 21 * time.Second,
		reason: "TooManyRequests",
	}, {
		name:     "a server that cannot be reached is asked three times",
		onStream: refusing(fmt.Errorf("dial: %w", errDeadline)),
		streams:  3, after: 2400 * time.Millisecond, before: 4 * time.Second,
		reason: "dial",
	}, {
		name:     "a stream that is refused under way is asked for three times",
		onStream: always(oneAdded, fail(errBusy)),
		streams:  3, after: 2400 * time.Millisecond, before: 4 * time.Second,
		reason: "TooManyRequests",
	}, {
		name:     "422 is taken at its word",
		onStream: nil,
		streams:  1, before: 0, reason: "Invalid", remembered: true,
	}, {
		name:     "400 is taken at its word",
		onStream: refusing(status(http.StatusBadRequest, metav1.StatusReasonBadRequest)),
		streams:  1, before: 0, reason: "BadRequest", remembered: true,
	}, {
		name:     "405 is taken at its word",
		onStream: refusing(status(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed)),
		streams:  1, before: 0, reason: "MethodNotAllowed", remembered: true,
	}, {
		name:     "406 is taken at its word",
		onStream: refusing(status(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable)),
		streams:  1, before: 0, reason: "NotAcceptable", remembered: true,
	}, {
		name:     "an unknown error is one too many",
		onStream: refusing(fmt.Errorf("boom")),
		streams:  1, before: 0, reason: "boom", remembered: true,
	}, {
		name:     "an end without a version is no end",
		onStream: always(oneAdded, send(end(""))),
		streams:  1, before: 0, reason: "no resource version", remembered: true,
	}, {
		name:    "the policy says never",
		opts:    Options[object]{Streaming: StreamingNever},
		streams: 0, before: 0, reason: "not wanted", remembered: true,
	}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{onStream: test.onStream, onList: listed("10", obj("a", "u1", "5"))}
				g := newRig(t, s, test.opts)
				g.during(time.Minute, func() {
					wantLines(t, "pushed", g.sink.took(), "Replaced@10[Added a/u1@5]")
					streams, lists := s.asked("STREAM"), s.asked("LIST")
					if len(streams) != test.streams || len(lists) != 1 {
						t.Fatalf("%d streams and %d lists: %v", len(streams), len(lists), s.asked())
					}
					if at := lists[0].at; at < test.after || at > test.before {
						t.Errorf("the list came at %v, want %v to %v", at, test.after, test.before)
					}
					gap := time.Duration(0)
					for i := 1; i < len(streams); i++ {
						next := streams[i].at - streams[i-1].at
						if next < gap || next == 0 {
							t.Errorf("the pauses do not grow: %v", streams)
						}
						gap = next
					}
					told := false
					for _, st := range g.states {
						told = told || st.State == Listing && strings.Contains(st.Reason, test.reason)
					}
					if !told {
						t.Errorf("no listing for the reason %q: %v", test.reason, g.states)
					}
					if got := strings.Contains(g.Status().Fallback, test.reason); got != test.remembered {
						t.Errorf("remembered %v, want %v: %q", got, test.remembered, g.Status().Fallback)
					}
				})
			})
		})
	}
}

func TestAStreamThatBreaksTwiceIsReadTheThirdTime(t *testing.T) { // report 5
	synctest.Test(t, func(t *testing.T) {
		s := &script{onStream: func(n int, _ metav1.ListOptions) ([]act, error) {
			acts := []act{send(event(deltafifo.Added, "a", "u1", "5"), event(deltafifo.Added, "b", "u2", "3"))}
			if n < 2 {
				return append(acts, eof()), nil
			}
			return append(acts, send(event(deltafifo.Added, "c", "u3", "9"), end("12"), event(deltafifo.Updated, "a", "u1", "13")),
				send(event(deltafifo.Deleted, "b", "u2", "14"))), nil
		}}
		g := newRig(t, s, Options[object]{})
		g.during(time.Minute, func() {
			wantLines(t, "pushed", g.sink.took(),
				"Replaced@12[Added a/u1@5 Added b/u2@3 Added c/u3@9]", "Updated a/u1@13", "Deleted b/u2@14")
			if got := s.asked(); len(got) != 3 || len(s.asked("STREAM")) != 3 {
				t.Errorf("requests: %v", got)
			}
			st := g.Status()
			if st.State != Watching || !st.Synced || st.Objects != 3 || st.Version != "14" || st.Fallback != "" || st.Streams != 3 {
				t.Errorf("status: %+v", st)
			}
		})
		opts := s.asked()[0].opts
		if opts.ResourceVersion != "" || opts.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan || !opts.AllowWatchBookmarks {
			t.Errorf("a streaming list was asked for with %+v", opts)
		}
	})
}

func TestAChangeWithinTheInitialEventsCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onStream: always(send(
			event(deltafifo.Added, "a", "u1", "5"), event(deltafifo.Added, "b", "u2", "3"), event(deltafifo.Added, "c", "u3", "4"),
			event(deltafifo.Deleted, "b", "u2", "6"), event(deltafifo.Updated, "a", "u1", "7"), event(deltafifo.Updated, "c", "u3", "2"),
			bookmark("7"), end("8")))}
		g := newRig(t, s, Options[object]{})
		g.during(time.Minute, func() {
			wantLines(t, "pushed", g.sink.took(), "Replaced@8[Added a/u1@7 Added c/u3@4]")
		})
	})
}

func TestABusyServerIsStreamedFromAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{
			onList:  listed("10", obj("a", "u1", "5")),
			onWatch: always(fail(errExpired).wait(time.Minute)),
			onStream: func(n int, _ metav1.ListOptions) ([]act, error) {
				if n < 3 {
					return nil, errBusy
				}
				return []act{send(event(deltafifo.Added, "a", "u1", "5"), end("11"))}, nil
			},
		}
		g := newRig(t, s, Options[object]{})
		g.during(5*time.Minute, func() {
			wantLines(t, "pushed", g.sink.took(), "Replaced@10[Added a/u1@5]", "Replaced@11[]")
		})
	})
}

func TestAListIsReadPageByPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: func(n int, opts metav1.ListOptions) ([]Item[object], Page, error) {
			if opts.Limit != 2 || opts.ResourceVersion != "" || opts.ResourceVersionMatch != "" {
				t.Errorf("a page was asked for with %+v", opts)
			}
			switch opts.Continue {
			case "":
				return []Item[object]{obj("a", "u1", "5"), obj("b", "u2", "6")}, Page{Version: "10", Continue: "c"}, nil
			case "c":
				return []Item[object]{obj("c", "u3", "7")}, Page{Version: "10"}, nil
			}
			return nil, Page{}, errInternal
		}}
		g := newRig(t, s, Options[object]{PageSize: 2, Streaming: StreamingNever})
		g.during(time.Second, func() {
			wantLines(t, "pushed", g.sink.took(), "Replaced@10[Added a/u1@5 Added b/u2@6 Added c/u3@7]")
			wantLines(t, "asked", s.asked(), "LIST()", "LIST(continue c)", "WATCH(10)")
			if st := g.Status(); st.Pages != 2 || st.Objects != 3 {
				t.Errorf("status: %+v", st)
			}
		})
	})
}

func TestAListThatExpiresUnderWayStartsAgainAndThenAsksForOnePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tooOld := status(http.StatusGone, metav1.StatusReasonExpired)
		tooOld.ErrStatus.Continue = "inconsistent"
		s := &script{onList: func(n int, opts metav1.ListOptions) ([]Item[object], Page, error) {
			switch {
			case opts.Limit == 0:
				return []Item[object]{obj("a", "u1", "5"), obj("b", "u2", "6")}, Page{Version: "40"}, nil
			case opts.Continue == "":
				return []Item[object]{obj("gone", "u0", "1")}, Page{Version: fmt.Sprint(10 + n), Continue: "c"}, nil
			}
			return nil, Page{}, tooOld
		}}
		g := newRig(t, s, Options[object]{Streaming: StreamingNever})
		g.during(time.Minute, func() {
			wantLines(t, "pushed", g.sink.took(), "Replaced@40[Added a/u1@5 Added b/u2@6]")
			wantLines(t, "asked", s.asked(), "LIST()", "LIST(continue c)", "LIST()", "LIST(continue c)",
				"LIST()", "LIST(continue c)", "LIST()", "WATCH(40)")
			lists := s.asked("LIST")
			for i := 2; i < len(lists); i += 2 {
				if lists[i].at-lists[i-1].at < 800*time.Millisecond {
					t.Errorf("list %d came without a pause: %v", i, lists[i].at-lists[i-1].at)
				}
			}
		})
	})
}

func TestPagesThatLeadNowhereAreAnError(t *testing.T) {
	for name, test := range map[string]struct {
		next func(n int) string
		says string
	}{
		"the same token": {func(int) string { return "c" }, "repeats a page"},
		"empty pages":    {func(n int) string { return fmt.Sprint(n) }, "nothing new in it"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{onList: func(n int, _ metav1.ListOptions) ([]Item[object], Page, error) {
					return nil, Page{Version: "10", Continue: test.next(n)}, nil
				}}
				g := newRig(t, s, Options[object]{Streaming: StreamingNever})
				g.during(700*time.Millisecond, func() {
					if st := g.Status(); st.State != BackingOff || !strings.Contains(st.Explain(), test.says) {
						t.Errorf("status: %v", st)
					}
				})
				if pushed := g.sink.took(); len(pushed) != 0 {
					t.Errorf("pushed: %q", pushed)
				}
			})
		})
	}
}

func TestAPageThatDoesNotComeIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{hang: map[string]bool{"LIST": true}}
		g := newRig(t, s, Options[object]{Streaming: StreamingNever})
		g.during(100*time.Second, func() {
			if n := len(s.asked("LIST")); n != 2 {
				t.Errorf("%d lists", n)
			}
			if st := g.Status(); st.Class != ClassUnreachable || st.Tries != 1 {
				t.Errorf("status: %+v", st)
			}
		})
	})
}

func TestAListAfterBusyStreamsIsNoSoonerThanTheServerAsks(t *testing.T) {
	asks := status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
	asks.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 30}
	internal := status(http.StatusInternalServerError, metav1.StatusReasonInternalError)
	internal.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 30}
	for name, test := range map[string]struct {
		refusal error
		at      time.Duration
	}{"busy": {asks, 90 * time.Second}, "broken": {internal, 30 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{onList: listed("10"), onStream: refusing(test.refusal)}
				g := newRig(t, s, Options[object]{})
				g.during(3*time.Minute, func() {
					if lists := s.asked("LIST"); len(lists) != 1 || lists[0].at != test.at {
						t.Errorf("asked %+v", s.asked())
					}
				})
			})
		})
	}
}

func TestASlowTransformIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var acts []Event[object]
		for i := range 20 {
			acts = append(acts, event(deltafifo.Added, fmt.Sprint(i), fmt.Sprint(i), "5"))
		}
		s := &script{onStream: always(send(acts...), send(end("10")))}
		g := newRig(t, s, Options[object]{Transform: func(o object) (object, error) { time.Sleep(time.Second); return o, nil }})
		g.during(time.Minute, func() {
			wantLines(t, "asked", s.asked(), "STREAM()")
		})
	})
}
