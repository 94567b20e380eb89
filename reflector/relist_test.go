package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/deltafifo"
)

// lists answers the n-th list with the n-th state, and the last for ever.
func lists(states ...[]Item[object]) func(int, metav1.ListOptions) ([]Item[object], Page, error) {
	return func(n int, _ metav1.ListOptions) ([]Item[object], Page, error) {
		return states[min(n, len(states)-1)], Page{Version: fmt.Sprint(100 + 900*n)}, nil
	}
}

// expiring ends the first watches with 410, after a minute.
func expiring(times int) func(int, metav1.ListOptions) ([]act, error) {
	return func(n int, _ metav1.ListOptions) ([]act, error) {
		if n < times {
			return []act{fail(errExpired).wait(time.Minute)}, nil
		}
		return nil, nil
	}
}

func TestAListPushesOnlyWhatDiffers(t *testing.T) {
	before := []Item[object]{obj("a", "u1", "5"), obj("b", "u2", "6"), obj("c", "u3", "7")}
	for _, test := range []struct {
		name   string
		after  []Item[object]
		pushed string
		stale  uint64
	}{
		{"nothing differs", before, "Replaced@1000[]", 0},
		{"one has changed", []Item[object]{before[0], obj("b", "u2", "150"), before[2]}, "Replaced@1000[Updated b/u2@150]", 0}, // report 13
		{"one is gone, one is new", []Item[object]{before[0], before[1], obj("d", "u4", "150")},
			"Replaced@1000[Deleted c/u3@1000? Added d/u4@150]", 0},
		{"one has been replaced", []Item[object]{before[0], obj("b", "u9", "150"), before[2]}, // report 38
			"Replaced@1000[Deleted b/u2@150? Added b/u9@150]", 0},
		{"one is older than what is held", []Item[object]{obj("a", "u1", "4"), before[1], before[2]}, "Replaced@1000[]", 1},
		{"one comes twice", []Item[object]{before[0], before[1], before[2], obj("b", "u2", "150"), obj("b", "u2", "140"), obj("b", "u2", "160")},
			"Replaced@1000[Updated b/u2@160]", 0},
		{"all are gone", nil, "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transforms := 0
				s := &script{onList: lists(before, test.after), onWatch: expiring(1)}
				g := newRig(t, s, Options[object]{Transform: func(o object) (object, error) { transforms++; return o, nil }})
				g.during(2*time.Minute, func() {
					pushed := g.sink.took()
					if len(pushed) != 2 || test.pushed != "" && pushed[1] != test.pushed {
						t.Errorf("pushed: %q", pushed)
					}
					if held := g.sink.holds(); test.pushed == "" && len(held) != 0 {
						t.Errorf("held: %v", held)
					}
					st := g.Status()
					if st.Stale != test.stale || st.Version != "1000" {
						t.Errorf("status: %+v", st)
					}
					wantLines(t, "asked", s.asked("LIST", "WATCH"), "LIST()", "WATCH(100)", "LIST()", "WATCH(1000)")
					if changes := strings.Count(pushed[1], "Added") + strings.Count(pushed[1], "Updated"); test.name != "one comes twice" && transforms != 3+changes {
						t.Errorf("%d transforms", transforms)
					}
				})
			})
		})
	}
}

func TestAStreamingListIsADifferenceToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onWatch: expiring(1), onStream: func(n int, _ metav1.ListOptions) ([]act, error) {
			if n == 0 {
				return []act{send(event(deltafifo.Added, "a", "u1", "5"), event(deltafifo.Added, "b", "u2", "6"), end("10")),
					fail(errExpired).wait(time.Minute)}, nil
			}
			return []act{send(event(deltafifo.Added, "a", "u1", "5"), event(deltafifo.Added, "c", "u3", "11"), end("20"))}, nil
		}}
		g := newRig(t, s, Options[object]{})
		g.during(2*time.Minute, func() {
			wantLines(t, "pushed", g.sink.took(), "Replaced@10[Added a/u1@5 Added b/u2@6]",
				"Replaced@20[Deleted b/u2@20? Added c/u3@11]")
			wantLines(t, "asked", s.asked(), "STREAM()", "STREAM()")
		})
	})
}

func TestWatchesThatExpireAtOnceArePaced(t *testing.T) { // report 19
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("10", obj("a", "u1", "5")), onWatch: always(fail(errExpired))}
		g := newRig(t, s, Options[object]{})
		g.during(100*time.Second, func() {
			if n := len(s.asked("LIST")); n < 4 || n > 9 {
				t.Errorf("%d lists", n)
			}
			if st := g.Status(); st.Tries < 4 || st.Class != ClassExpired || st.State != BackingOff {
				t.Errorf("status: %+v", st)
			}
		})
	})
}

func TestAListThatBreaksOffPushesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onWatch: expiring(1), onList: func(n int, opts metav1.ListOptions) ([]Item[object], Page, error) {
			switch {
			case n == 0:
				return []Item[object]{obj("a", "u1", "5"), obj("b", "u2", "6")}, Page{Version: "10"}, nil
			case opts.Continue == "":
				return []Item[object]{obj("c", "u3", "15")}, Page{Version: "20", Continue: "c"}, nil
			}
			return nil, Page{}, errInternal
		}}
		g := newRig(t, s, Options[object]{})
		g.during(5*time.Minute, func() {
			wantLines(t, "pushed", g.sink.took(), "Replaced@10[Added a/u1@5 Added b/u2@6]")
			if st := g.Status(); st.Version != "10" || st.Tries == 0 {
				t.Errorf("status: %+v", st)
			}
		})
	})
}

func TestAServerThatWentBackIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onWatch: expiring(1), onList: func(n int, _ metav1.ListOptions) ([]Item[object], Page, error) {
			if n == 0 {
				return []Item[object]{obj("a", "u1", "80"), obj("b", "u2", "6"), obj("c", "u3", "70")}, Page{Version: "100"}, nil
			}
			return []Item[object]{obj("a", "u1", "20"), obj("b", "u2", "6")}, Page{Version: "50"}, nil
		}}
		g := newRig(t, s, Options[object]{})
		g.sink.loose = true
		g.during(2*time.Minute, func() {
			// Equal versions prove nothing here, so b is told again.
			wantLines(t, "pushed", g.sink.took(), "Replaced@100[Added a/u1@80 Added b/u2@6 Added c/u3@70]",
				"Replaced@50[Deleted c/u3@50? Updated a/u1@20 Updated b/u2@6]")
			wantLines(t, "asked", s.asked("LIST", "WATCH"), "LIST()", "WATCH(100)", "LIST()", "LIST()", "WATCH(50)")
			told := false
			for _, st := range g.states {
				told = told || strings.Contains(st.Reason, "went back from version 100 to 50")
			}
			if !told || g.Version() != "50" {
				t.Errorf("states: %v", g.states)
			}
		})
	})
}

func TestAStaleAnswerThatIsCorrectedIsNotFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onWatch: expiring(1), onList: func(n int, _ metav1.ListOptions) ([]Item[object], Page, error) {
			version := []string{"100", "50", "120"}[min(n, 2)]
			return []Item[object]{obj("a", "u1", "20")}, Page{Version: version}, nil
		}}
		g := newRig(t, s, Options[object]{})
		g.during(2*time.Minute, func() {
			if got := g.sink.took(); len(got) != 2 || g.Version() != "120" {
				t.Errorf("pushed %q", got)
			}
		})
	})
}

func TestASourceWithoutAListVersionIsListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("", obj("a", "u1", "")), onWatch: always(
			send(event(deltafifo.Added, "b", "u2", "7"), event(deltafifo.Updated, "a", "u1", "3"), bookmark("9")), eof().wait(time.Minute))}
		g := newRig(t, s, Options[object]{})
		g.during(90*time.Second, func() {
			wantLines(t, "asked", s.asked("LIST", "WATCH"), "LIST()", "WATCH()", "LIST()", "WATCH()")
			wantLines(t, "pushed", g.sink.took(), "Replaced@[Added a/u1@]", "Added b/u2@7", "Updated a/u1@3",
				"Replaced@[Deleted b/u2@? Updated a/u1@]", "Added b/u2@7", "Updated a/u1@3")
		})
	})
}

func TestRunAgainResumesWithoutAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("10", obj("a", "u1", "5")), onWatch: func(n int, _ metav1.ListOptions) ([]act, error) {
			return []act{send(event(deltafifo.Updated, "a", "u1", fmt.Sprint(11+n)))}, nil
		}}
		g := newRig(t, s, Options[object]{})
		g.during(time.Hour, func() {})
		watches := len(s.asked("WATCH"))
		time.Sleep(time.Hour)
		g.during(time.Second, func() {
			if len(s.asked("LIST")) != 1 || len(s.asked("WATCH")) != watches+1 {
				t.Errorf("asked: %v", s.asked())
			}
			if w := s.asked("WATCH"); w[watches].opts.ResourceVersion != fmt.Sprint(10+watches) {
				t.Errorf("resumed from %v", w[watches])
			}
		})
	})
}

func TestASinkThatRefusesEndsTheRun(t *testing.T) {
	closed := errors.New("closed")
	for name, onWatch := range map[string]func(int, metav1.ListOptions) ([]act, error){
		"a state":  nil,
		"an event": always(send(event(deltafifo.Updated, "a", "u1", "11")).wait(time.Minute)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, &script{onList: listed("10", obj("a", "u1", "5")), onWatch: onWatch}, Options[object]{})
				if onWatch == nil {
					g.sink.refuse = closed
				} else {
					time.AfterFunc(time.Second, func() { g.sink.mu.Lock(); g.sink.refuse = closed; g.sink.mu.Unlock() })
				}
				err := g.Run(t.Context())
				var refusal *SinkError
				if !errors.As(err, &refusal) || !errors.Is(err, closed) || !strings.Contains(err.Error(), "pods") {
					t.Errorf("Run returned %v", err)
				}
				if st := g.Status(); st.State != Stopped || !errors.Is(st.LastError, closed) {
					t.Errorf("status: %v", st)
				}
			})
		})
	}
}

func TestListAndWatchReturnsWhenTheStateIsNeededAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("10", obj("a", "u1", "5")), onWatch: func(n int, _ metav1.ListOptions) ([]act, error) {
			if n == 0 { // bridged
				return []act{fail(io.EOF).wait(time.Minute)}, nil
			}
			return []act{fail(errExpired).wait(time.Minute)}, nil
		}}
		g := newRig(t, s, Options[object]{})
		if err := g.ListAndWatch(t.Context()); !errors.Is(err, error(errExpired)) {
			t.Errorf("ListAndWatch returned %v", err)
		}
		wantLines(t, "asked", s.asked("LIST", "WATCH"), "LIST()", "WATCH(10)", "WATCH(10)")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := g.ListAndWatch(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the second ListAndWatch returned %v", err)
		}
		// Unlike Run, a round begins with the state.
		ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_ = g.ListAndWatch(ctx)
		if n := len(s.asked("LIST")); n != 3 {
			t.Errorf("%d lists", n)
		}
	})
}

func TestALoopAroundListAndWatchIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: func(int, metav1.ListOptions) ([]Item[object], Page, error) { return nil, Page{}, errInternal }}
		g := newRig(t, s, Options[object]{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		rounds := 0
		for ctx.Err() == nil {
			if err := g.ListAndWatch(ctx); err == nil {
				t.Fatal("ListAndWatch returned nil")
			}
			rounds++
		}
		if rounds < 4 || rounds > 8 {
			t.Errorf("%d rounds in a minute", rounds)
		}
	})
}

func TestOnlyOneRunAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, &script{onList: listed("10")}, Options[object]{})
		g.during(time.Second, func() {
			if err := g.Run(t.Context()); !errors.Is(err, ErrRunning) {
				t.Errorf("the second Run returned %v", err)
			}
			if err := g.ListAndWatch(t.Context()); !errors.Is(err, ErrRunning) {
				t.Errorf("ListAndWatch returned %v", err)
			}
		})
	})
}
