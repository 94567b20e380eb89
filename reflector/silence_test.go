package reflector

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/deltafifo"
)

// bookmarks is a watch that sends n of them, one each minute, after version, and
// is silent from then on.
func bookmarks(version, n int) (acts []act) {
	for i := range n {
		acts = append(acts, send(bookmark(fmt.Sprint(version+1+i))).wait(time.Minute))
	}
	return acts
}

// nth answers the n-th watch with the n-th acts, and the last for ever.
func nth(all ...[]act) func(int, metav1.ListOptions) ([]act, error) {
	return func(n int, _ metav1.ListOptions) ([]act, error) {
		return append([]act(nil), all[min(n, len(all)-1)]...), nil
	}
}

// versions answers the n-th proof with the n-th version, and the last for ever.
func versions(all ...string) func(int) (string, error) {
	return func(n int) (string, error) { return all[min(n, len(all)-1)], nil }
}

func TestSilenceIsNoticedAndCostsNoMoreThanItMust(t *testing.T) { // reports 11, 12, 21
	shut := []act{eof().wait(5 * time.Minute)}
	cut := []act{fail(io.ErrUnexpectedEOF).wait(time.Minute)}
	live := bookmarks(12, 1000)
	for _, test := range []struct {
		name     string
		onWatch  func(int, metav1.ListOptions) ([]act, error)
		onProof  func(int) (string, error)
		opts     Options[object]
		during   time.Duration
		asked    []string
		at       time.Duration // of the last request
		silences uint64
		closes   uint64
	}{{
		name:    "after regular bookmarks, silence leads to a new watch",
		onWatch: nth(bookmarks(10, 2), live), during: 20 * time.Minute,
		asked: []string{"LIST()", "WATCH(10)", "WATCH(12)"}, at: 5 * time.Minute, silences: 1,
	}, {
		name:    "sooner if that is wished",
		onWatch: nth(bookmarks(10, 2), live), opts: Options[object]{SilenceTimeout: 90 * time.Second}, during: 20 * time.Minute,
		asked: []string{"LIST()", "WATCH(10)", "WATCH(12)"}, at: 210 * time.Second, silences: 1,
	}, {
		name:    "bytes are no silence",
		onWatch: nth(append(bookmarks(10, 2), repeat(4, read(1).wait(2*time.Minute))...), live), during: 12 * time.Minute,
		asked: []string{"LIST()", "WATCH(10)"},
	}, {
		name:    "without bookmarks, silence means nothing",
		onWatch: nth(nil), opts: Options[object]{WatchTimeout: time.Hour}, during: time.Hour,
		asked: []string{"LIST()", "WATCH(10)"},
	}, {
		name:    "one bookmark is not regular",
		onWatch: nth(bookmarks(10, 1)), opts: Options[object]{WatchTimeout: time.Hour}, during: time.Hour,
		asked: []string{"LIST()", "WATCH(10)"},
	}, {
		name:    "bookmarks in a burst are not regular",
		onWatch: nth([]act{send(bookmark("11")), send(bookmark("12")).wait(time.Second)}), opts: Options[object]{WatchTimeout: time.Hour}, during: time.Hour,
		asked: []string{"LIST()", "WATCH(10)"},
	}, {
		name:    "if the new watch is silent too, and the server is where we are, bookmarks are no more expected",
		onWatch: nth(bookmarks(10, 2), nil), onProof: versions("12"), opts: Options[object]{WatchTimeout: time.Hour}, during: time.Hour,
		asked: []string{"LIST()", "WATCH(10)", "WATCH(12)", "PROOF()", "WATCH(12)"}, at: 8 * time.Minute, silences: 2,
	}, {
		name:    "if the server has moved and three watches were silent, it is listed, and then let be",
		onWatch: nth(bookmarks(10, 2), nil), onProof: versions("13"), opts: Options[object]{WatchTimeout: time.Hour}, during: time.Hour,
		asked: []string{"LIST()", "WATCH(10)", "WATCH(12)", "PROOF()", "WATCH(12)", "PROOF()", "WATCH(12)", "PROOF()", "LIST()", "WATCH(1000)"},
		at:    14 * time.Minute, silences: 4,
	}, {
		name:    "three watches that are closed without a word lead to a proof",
		onWatch: nth(shut), onProof: versions("10"), during: 29 * time.Minute,
		asked: []string{"LIST()", "WATCH(10)", "WATCH(10)", "WATCH(10)", "PROOF()", "WATCH(10)", "WATCH(10)", "WATCH(10)"}, at: 25 * time.Minute, closes: 5,
	}, {
		name:    "and to a list if the server has moved; if that finds nothing, to the next after six",
		onWatch: nth(shut), onProof: versions("1001"), during: 49 * time.Minute,
		asked: []string{"LIST()", "WATCH(10)", "WATCH(10)", "WATCH(10)", "PROOF()", "LIST()",
			"WATCH(1000)", "WATCH(1000)", "WATCH(1000)", "WATCH(1000)", "WATCH(1000)", "WATCH(1000)", "PROOF()", "LIST()", "WATCH(1000)"},
		at: 45 * time.Minute, closes: 9,
	}, {
		name:    "closes between which something came are no silence",
		onWatch: nth(shut, shut, append(bookmarks(10, 1), shut...), shut, shut, append(bookmarks(11, 1), shut...), live), during: time.Hour,
		asked: []string{"LIST()", "WATCH(10)", "WATCH(10)", "WATCH(10)", "WATCH(11)", "WATCH(11)", "WATCH(11)", "WATCH(12)"}, at: 32 * time.Minute, closes: 4,
	}, {
		name:    "after a cut, silence leads to a proof even without bookmarks",
		onWatch: nth(cut, nil), onProof: versions("11"), opts: Options[object]{WatchTimeout: time.Hour}, during: time.Hour,
		asked: []string{"LIST()", "WATCH(10)", "WATCH(10)", "PROOF()", "WATCH(10)"}, at: 4 * time.Minute, silences: 1, closes: 1,
	}, {
		name:    "after a cut, a watch that brings something needs none",
		onWatch: nth(cut, []act{send(event(deltafifo.Added, "b", "u2", "11"))}), opts: Options[object]{WatchTimeout: time.Hour}, during: time.Hour,
		asked: []string{"LIST()", "WATCH(10)", "WATCH(10)"}, at: time.Minute, closes: 1,
	}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{onWatch: test.onWatch, onProof: test.onProof, onList: func(n int, _ metav1.ListOptions) ([]Item[object], Page, error) {
					return []Item[object]{obj("a", "u1", "5")}, Page{Version: []string{"10", "1000"}[min(n, 1)]}, nil
				}}
				test.opts.Streaming = StreamingNever
				if test.opts.WatchTimeout == 0 {
					test.opts.WatchTimeout = 2 * time.Hour
				}
				g := newRig(t, s, test.opts)
				g.during(test.during, func() {
					wantLines(t, "asked", s.asked(), test.asked...)
					asked := s.asked()
					if last := asked[len(asked)-1].at; last != test.at {
						t.Errorf("the last request came at %v, want %v", last, test.at)
					}
					st := g.Status()
					if st.Silences != test.silences || st.SilentCloses != test.closes || st.Proofs != uint64(len(s.asked("PROOF"))) {
						t.Errorf("%d silences, %d silent closes, %d proofs", st.Silences, st.SilentCloses, st.Proofs)
					}
					if st.State != Watching || st.Tries != 0 || st.Epoch != 0 {
						t.Errorf("status: %+v", st)
					}
				})
			})
		})
	}
}

func TestARestoredServerIsFoundOutBySilenceAndFollowed(t *testing.T) {
	cut := []act{fail(io.ErrUnexpectedEOF).wait(time.Minute)}
	for _, test := range []struct {
		name    string
		onWatch func(int, metav1.ListOptions) ([]act, error)
		asked   []string
		after   time.Duration
	}{
		{"after a cut", nth(cut, nil), []string{"LIST()", "WATCH(100)", "WATCH(100)", "PROOF()", "LIST()", "WATCH(50)"}, 4 * time.Minute},
		{"after regular bookmarks", nth(bookmarks(100, 2), nil),
			[]string{"LIST()", "WATCH(100)", "WATCH(102)", "PROOF()", "LIST()", "WATCH(50)"}, 8 * time.Minute},
		{"after closes without a word", nth([]act{eof().wait(5 * time.Minute)}, []act{eof().wait(5 * time.Minute)}, []act{eof().wait(5 * time.Minute)}, nil),
			[]string{"LIST()", "WATCH(100)", "WATCH(100)", "WATCH(100)", "PROOF()", "LIST()", "WATCH(50)"}, 15 * time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{onWatch: test.onWatch, onProof: versions("50"), onList: func(n int, _ metav1.ListOptions) ([]Item[object], Page, error) {
					if n == 0 {
						return []Item[object]{obj("a", "u1", "80"), obj("b", "u2", "6"), obj("c", "u3", "70")}, Page{Version: "100"}, nil
					}
					return []Item[object]{obj("a", "u1", "20"), obj("b", "u2", "6")}, Page{Version: "50"}, nil
				}}
				g := newRig(t, s, Options[object]{Streaming: StreamingNever, WatchTimeout: time.Hour})
				g.sink.loose = true
				g.during(test.after, func() {
					wantLines(t, "asked", s.asked(), test.asked...)
					if pushed := g.sink.took(); pushed[len(pushed)-1] != "Replaced@50[Deleted c/u3@50? Updated a/u1@20 Updated b/u2@6]" {
						t.Errorf("pushed: %q", pushed)
					}
					if st := g.Status(); st.Epoch != 1 || st.Version != "50" || st.State != Watching {
						t.Errorf("status: %+v", st)
					}
				})
			})
		})
	}
}

func TestAProofThatFailsLeavesTheWatchToGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("10"), onWatch: nth([]act{fail(io.ErrUnexpectedEOF).wait(time.Minute)}, nil),
			onProof: func(n int) (string, error) {
				if n == 0 {
					return "", errBusy
				}
				return "10", nil
			}}
		g := newRig(t, s, Options[object]{Streaming: StreamingNever, WatchTimeout: time.Hour})
		g.during(30*time.Minute, func() {
			wantLines(t, "asked", s.asked(), "LIST()", "WATCH(10)", "WATCH(10)", "PROOF()", "WATCH(10)", "PROOF()", "WATCH(10)")
		})
	})
}

func TestAnEventOfAnOldEpochIsNotMistaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: lists([]Item[object]{obj("a", "u1", "80")}), onWatch: nth(
			[]act{send(event(deltafifo.Updated, "a", "u1", "120")), fail(errExpired).wait(time.Minute)},
			[]act{send(event(deltafifo.Updated, "a", "u1", "60"))})}
		s.onList = func(n int, _ metav1.ListOptions) ([]Item[object], Page, error) {
			return []Item[object]{obj("a", "u1", []string{"80", "40"}[min(n, 1)])}, Page{Version: []string{"100", "50"}[min(n, 1)]}, nil
		}
		g := newRig(t, s, Options[object]{})
		g.sink.loose = true
		g.during(3*time.Minute, func() {
			wantLines(t, "pushed", g.sink.took(), "Replaced@100[Added a/u1@80]", "Updated a/u1@120", "Replaced@50[Updated a/u1@40]", "Updated a/u1@60")
			if st := g.Status(); st.Epoch != 1 {
				t.Errorf("status: %+v", st)
			}
		})
	})
}

func TestARoundThatSilenceEndsHasAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("10"), onWatch: nth([]act{eof().wait(5 * time.Minute)}), onProof: versions("11")}
		g := newRig(t, s, Options[object]{Streaming: StreamingNever})
		if err := g.ListAndWatch(t.Context()); !errors.Is(err, errStale) {
			t.Errorf("the round ended with %v", err)
		}
	})
}

func TestTheRenewalOfAStreamIsNoReasonForDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("10"), onStream: func(int, metav1.ListOptions) ([]act, error) {
			return []act{send(event(deltafifo.Added, "a", "u1", "5"), end("10"))}, nil
		}}
		g := newRig(t, s, Options[object]{WatchTimeout: 5 * time.Minute})
		// The stream is ended by this side after five minutes. That the next watch
		// is silent for longer than SilenceTimeout means nothing without bookmarks.
		g.during(10*time.Minute, func() { wantLines(t, "asked", s.asked(), "STREAM()", "WATCH(10)") })
	})
}

func TestWatchesThatAreSilentWhileTheServerMovesDoNotCostAListEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := 10
		s := &script{onWatch: always(eof().wait(time.Second)), onList: func(int, metav1.ListOptions) ([]Item[object], Page, error) {
			at++
			return []Item[object]{obj("a", "u1", fmt.Sprint(at))}, Page{Version: fmt.Sprint(at)}, nil
		}, onProof: func(int) (string, error) { return fmt.Sprint(at + 1), nil }}
		g := newRig(t, s, Options[object]{Streaming: StreamingNever})
		g.during(10*time.Minute, func() {
			lists := s.asked("LIST")
			if last := lists[len(lists)-1].at - lists[len(lists)-2].at; len(lists) > 30 || last < 20*time.Second {
				t.Errorf("%d lists, the last after %v", len(lists), last)
			}
		})
	})
}
