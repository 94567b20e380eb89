package reflector

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/deltafifo"
)

// tooLarge is the answer of a server that is behind.
func tooLarge(cause bool) error {
	err := status(http.StatusGatewayTimeout, metav1.StatusReasonTimeout)
	err.ErrStatus.Message = "Timeout: Too large resource version: 10, current: 9"
	if cause {
		err.ErrStatus.Message = "Timeout"
		err.ErrStatus.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}}
	}
	return err
}

// pausing checks that each watch after the first comes after a longer pause.
func pausing(t *testing.T, watches []request) {
	t.Helper()
	gap := time.Duration(0)
	for i := 1; i < len(watches); i++ {
		next := watches[i].at - watches[i-1].at
		if next <= gap {
			t.Errorf("pause %d of %v after one of %v", i, next, gap)
		}
		gap = next
	}
}

func TestAWatchResumesFromTheLastVersion(t *testing.T) {
	undecodable := status(http.StatusInternalServerError, "")
	undecodable.ErrStatus.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: watchDecodeCause}}}
	for _, test := range []struct {
		name string
		err  error
		// paced tells that the next watch comes after a pause even though
		// this one had been open for an hour.
		paced bool
		class ErrorClass
	}{
		{"after a clean end", io.EOF, false, ClassUnreachable},
		{"after a cut", io.ErrUnexpectedEOF, false, ClassUnreachable},
		{"after an error of the network", fmt.Errorf("read: %w", io.ErrClosedPipe), true, ClassOther},
		{"after a broken frame", undecodable, true, ClassDecode},
		{"after 500", errInternal, true, ClassOther},
		{"after 503", status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable), true, ClassUnreachable},
		{"after 429", errBusy, true, ClassTooManyRequests},
		{"after 403", errForbidden, true, ClassForbidden},
		{"after 401", status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized), true, ClassUnauthorized},
		{"after version too large", tooLarge(true), true, ClassTooLarge},
		{"after version too large, said in words", tooLarge(false), true, ClassTooLarge},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{
					onList: listed("10", obj("a", "u1", "5")),
					onWatch: func(n int, _ metav1.ListOptions) ([]act, error) {
						if n == 0 {
							return []act{send(event(deltafifo.Updated, "a", "u1", "12"), bookmark("15")), fail(test.err).wait(time.Minute)}, nil
						}
						return []act{send(event(deltafifo.Updated, "a", "u1", "17"))}, nil
					},
				}
				g := newRig(t, s, Options[object]{})
				g.during(4*time.Minute, func() {
					wantLines(t, "pushed", g.sink.took(),
						"Replaced@10[Added a/u1@5]", "Updated a/u1@12", "Bookmark@15", "Updated a/u1@17")
					wantLines(t, "asked", s.asked("LIST", "WATCH"), "LIST()", "WATCH(10)", "WATCH(15)")
					watches := s.asked("WATCH")
					if pause := watches[1].at - watches[0].at - time.Minute; (pause > 0) != test.paced || pause > 2*time.Second {
						t.Errorf("a pause of %v", pause)
					}
					seen := false
					for _, st := range g.states {
						seen = seen || st.Class == test.class && st.LastError != nil
					}
					if st := g.Status(); !seen || st.LastError == nil || st.Tries != 0 || st.failing() {
						t.Errorf("class %q seen: %v; now %+v", test.class, seen, st)
					}
				})
			})
		})
	}
}

func TestAWatchThatCannotBeOpenedIsTriedAgainAndNeverListed(t *testing.T) { // reports 6, 16
	for name, refusal := range map[string]error{
		"busy":        errBusy,
		"internal":    errInternal,
		"unreachable": fmt.Errorf("dial: %w", io.EOF),
		"forbidden":   errForbidden,
		"odd":         fmt.Errorf("odd"),
		"refused":     &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{
					onList: listed("10", obj("a", "u1", "5")),
					onWatch: func(n int, _ metav1.ListOptions) ([]act, error) {
						if n < 5 {
							return nil, refusal
						}
						return nil, nil
					},
				}
				g := newRig(t, s, Options[object]{})
				g.during(2*time.Minute, func() {
					pausing(t, s.asked("WATCH"))
					if lists, watches := len(s.asked("LIST")), len(s.asked("WATCH")); lists != 1 || watches != 6 {
						t.Errorf("%d lists, %d watches", lists, watches)
					}
					for _, st := range g.states {
						if st.LastError != nil && errors.Is(st.LastError, errShort) {
							t.Errorf("a watch that was never opened is said to have ended: %v", st.LastError)
						}
					}
				})
			})
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
		busy.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 20}
		s := &script{onList: listed("10"), onWatch: func(n int, _ metav1.ListOptions) ([]act, error) {
			if n == 0 {
				return nil, busy
			}
			return nil, nil
		}}
		g := newRig(t, s, Options[object]{})
		g.during(time.Minute, func() {
			if w := s.asked("WATCH"); len(w) != 2 || w[1].at != 20*time.Second {
				t.Errorf("watches: %+v", w)
			}
		})
	})
}

func TestAServerThatStaysBehindIsListed(t *testing.T) { // report 6
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("10", obj("a", "u1", "5")), onWatch: func(n int, _ metav1.ListOptions) ([]act, error) {
			if n < 4 {
				return nil, tooLarge(false)
			}
			return nil, nil
		}}
		g := newRig(t, s, Options[object]{})
		g.during(2*time.Minute, func() {
			wantLines(t, "asked", s.asked("LIST", "WATCH"),
				"LIST()", "WATCH(10)", "WATCH(10)", "WATCH(10)", "WATCH(10)", "LIST()", "WATCH(10)")
		})
	})
}

func TestAWatchOutlivesItsTimeByHalfAMinute(t *testing.T) { // report 11
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("10"), onWatch: always(send(event(deltafifo.Added, "a", "u1", "11")))}
		g := newRig(t, s, Options[object]{WatchTimeout: 2 * time.Second})
		g.during(33*time.Second, func() {
			wantLines(t, "asked", s.asked("LIST", "WATCH"), "LIST()", "WATCH(10)", "WATCH(11)")
			w := s.asked("WATCH")
			if w[1].at != 32*time.Second || *w[0].opts.TimeoutSeconds != 2 {
				t.Errorf("the second watch came at %v", w[1].at)
			}
			if st := g.Status(); st.Tries != 0 || st.State != Watching || st.Replayed != 1 {
				t.Errorf("status: %+v", st)
			}
		})
	})
}

func TestAWatchAsksForFiveToTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("10"), onWatch: always(eof().wait(time.Hour))}
		g := newRig(t, s, Options[object]{})
		g.during(3*time.Hour, func() {
			seen := map[int64]bool{}
			for _, w := range s.asked("WATCH") {
				seconds := *w.opts.TimeoutSeconds
				seen[seconds] = true
				if seconds < 300 || seconds > 600 || !w.opts.AllowWatchBookmarks {
					t.Errorf("a watch asked for %+v", w.opts)
				}
			}
			if len(seen) < 3 {
				t.Errorf("the times do not differ: %v", seen)
			}
		})
	})
}

func TestAWatchRequestWithoutAnAnswerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("10"), hang: map[string]bool{"WATCH": true}}
		g := newRig(t, s, Options[object]{})
		g.during(45*time.Second, func() {
			if w := s.asked("WATCH"); len(w) != 2 || w[1].at < 30*time.Second {
				t.Errorf("watches: %+v", w)
			}
		})
	})
}

func TestAQuietWatchResumesFromItsBookmarks(t *testing.T) { // report 31
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("10"), onWatch: func(n int, _ metav1.ListOptions) ([]act, error) {
			if n == 0 {
				return []act{send(bookmark("100")), send(bookmark("200")).wait(time.Minute),
					send(bookmark("150"), bookmark(""), bookmark("200")).wait(time.Second), eof().wait(time.Minute)}, nil
			}
			return nil, nil
		}}
		g := newRig(t, s, Options[object]{})
		g.during(3*time.Minute, func() {
			wantLines(t, "pushed", g.sink.took(), "Replaced@10[]", "Bookmark@100", "Bookmark@200")
			wantLines(t, "asked", s.asked("WATCH"), "WATCH(10)", "WATCH(200)")
			if st := g.Status(); g.Version() != "200" || st.LastBookmark.IsZero() || !st.LastEvent.Equal(st.LastBookmark) {
				t.Errorf("status: %+v", st)
			}
		})
	})
}

func TestWatchesThatEndAtOnceArePaced(t *testing.T) { // weak point: hot loops
	for _, test := range []struct {
		name string
		acts func(n int) []act
		max  int
	}{
		{"with nothing", func(int) []act { return []act{eof()} }, 9},
		{"with a replay", func(int) []act { return []act{send(event(deltafifo.Added, "a", "u1", "9")), eof()} }, 9},
		{"with an old bookmark", func(int) []act { return []act{send(bookmark("9")), eof()} }, 9},
		// Each brings something: one a pause, and the pause does not grow.
		{"with an event", func(n int) []act { return []act{send(event(deltafifo.Updated, "a", "u1", fmt.Sprint(11+n))), eof()} }, 125},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{onList: listed("10", obj("a", "u1", "9")), onWatch: func(n int, _ metav1.ListOptions) ([]act, error) {
					return test.acts(n), nil
				}}
				g := newRig(t, s, Options[object]{})
				g.during(100*time.Second, func() {
					if lists, watches := len(s.asked("LIST")), len(s.asked("WATCH")); lists != 1 || watches < 4 || watches > test.max {
						t.Errorf("%d lists, %d watches", lists, watches)
					}
				})
			})
		})
	}
}

func TestReplaysAndSwapsWithinAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("10", obj("a", "u1", "5"), obj("b", "u2", "6")), onWatch: always(send(
			event(deltafifo.Updated, "a", "u1", "10"), // before the watch
			event(deltafifo.Updated, "a", "u1", "12"),
			event(deltafifo.Updated, "a", "u1", "12"), // twice
			event(deltafifo.Updated, "a", "u1", "11"), // overtaken
			event(deltafifo.Updated, "b", "u2", "15"),
			event(deltafifo.Updated, "a", "u1", "14"), // late
			event(deltafifo.Updated, "a", "u1", "14"), // late, twice
			event(deltafifo.Deleted, "b", "u2", "17"),
			event(deltafifo.Updated, "b", "u2", "16"), // must not rise again
		))}
		g := newRig(t, s, Options[object]{})
		g.during(time.Second, func() {
			wantLines(t, "pushed", g.sink.took(), "Replaced@10[Added a/u1@5 Added b/u2@6]",
				"Updated a/u1@12", "Updated b/u2@15", "Updated a/u1@14", "Deleted b/u2@17")
			if st := g.Status(); st.Replayed != 5 || st.Late != 1 || st.Version != "17" {
				t.Errorf("status: %+v", st)
			}
		})
	})
}

func TestAnEventTooLateToBePlacedLeadsToAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var events []Event[object]
		for i := range memory + 10 {
			events = append(events, event(deltafifo.Added, fmt.Sprint(i), fmt.Sprint(i), fmt.Sprint(120+i)))
		}
		s := &script{
			onList: lists(nil, []Item[object]{obj("late", "late", "111")}),
			onWatch: func(n int, _ metav1.ListOptions) ([]act, error) {
				if n == 0 {
					return []act{send(events...), send(event(deltafifo.Added, "late", "late", "111")).wait(time.Minute)}, nil
				}
				return nil, nil
			},
		}
		g := newRig(t, s, Options[object]{})
		g.during(2*time.Minute, func() {
			wantLines(t, "held", g.sink.holds(), "late@111")
			if n := len(s.asked("LIST")); n != 2 {
				t.Errorf("%d lists", n)
			}
			if why := g.states[len(g.states)-2].Reason; !strings.Contains(why, "out of order") {
				t.Errorf("listed because %q", why)
			}
		})
	})
}

func TestAnInitialEventThatComesAfterTheEndOfItsListIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := []Event[object]{event(deltafifo.Added, "a", "u1", "5"), event(deltafifo.Added, "b", "u2", "6")}
		s := &script{onStream: func(n int, _ metav1.ListOptions) ([]act, error) {
			if n == 0 {
				return []act{send(all[0], end("10"), all[0], all[1])}, nil
			}
			return []act{send(all[0], all[1], end("12"), all[1], all[0])}, nil
		}}
		g := newRig(t, s, Options[object]{})
		g.during(time.Minute, func() {
			wantLines(t, "held", g.sink.holds(), "a@5", "b@6")
			if n := len(s.asked("STREAM")); n != 2 {
				t.Errorf("%d streaming lists", n)
			}
			if st := g.Status(); st.Replayed != 3 {
				t.Errorf("status: %+v", st)
			}
		})
	})
}

func TestVersionsThatAreNoNumbersPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("v-1", obj("a", "u1", "v-0")), onWatch: func(n int, _ metav1.ListOptions) ([]act, error) {
			if n == 0 {
				return []act{send(event(deltafifo.Updated, "a", "u1", "v-9"), event(deltafifo.Updated, "a", "u1", "v-2")), eof().wait(time.Minute)}, nil
			}
			return nil, nil
		}}
		g := newRig(t, s, Options[object]{})
		g.during(2*time.Minute, func() {
			wantLines(t, "pushed", g.sink.took(), "Replaced@v-1[Added a/u1@v-0]", "Updated a/u1@v-9", "Updated a/u1@v-2")
			wantLines(t, "asked", s.asked("WATCH"), "WATCH(v-1)", "WATCH(v-2)")
		})
	})
}
