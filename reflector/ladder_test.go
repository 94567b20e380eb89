package reflector

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/deltafifo"
)

// growing answers each list with the next version, and expires each watch after
// a period in which it brings one event.
func growing(s *script, period time.Duration) *script {
	s.onList = func(n int, _ metav1.ListOptions) ([]Item[object], Page, error) {
		return []Item[object]{obj("a", "u1", "5")}, Page{Version: fmt.Sprint(1000 * (n + 1))}, nil
	}
	s.onWatch = func(_ int, opts metav1.ListOptions) ([]act, error) {
		return []act{send(bookmark(strings.Replace(opts.ResourceVersion, "000", "001", 1))), fail(errExpired).wait(period)}, nil
	}
	return s
}

func TestStreamingIsProbedAgainAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := growing(&script{onStream: always(oneAdded, eof())}, time.Minute)
		g := newRig(t, s, Options[object]{})
		g.during(5*time.Hour, func() {
			// Three tries, then a probe of one try after 10, 20, 40 minutes and
			// so on, each at the next need of a state.
			var at []time.Duration
			for _, r := range s.asked("STREAM") {
				at = append(at, r.at.Round(time.Minute))
			}
			wantLines(t, "streams", at, "0s", "0s", "0s", "10m0s", "30m0s", "1h10m0s", "2h30m0s")
			if lists := len(s.asked("LIST")); lists < 295 || lists > 301 {
				t.Errorf("%d lists", lists)
			}
		})
	})
}

func TestAProbeThatWorksEndsTheFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := growing(&script{}, time.Minute)
		s.onStream = func(n int, _ metav1.ListOptions) ([]act, error) {
			if n < 3 {
				return []act{oneAdded, eof()}, nil
			}
			return []act{send(event(deltafifo.Added, "a", "u1", "5"), end(fmt.Sprint(1000000*n)), bookmark(fmt.Sprint(1000000*n+1))), fail(errExpired).wait(time.Hour)}, nil
		}
		g := newRig(t, s, Options[object]{})
		g.during(5*time.Hour, func() {
			if streams, lists := len(s.asked("STREAM")), len(s.asked("LIST")); streams < 10 || lists != 10 {
				t.Errorf("%d streams, %d lists", streams, lists)
			}
			if st := g.Status(); st.Fallback != "" || !st.LastList.Streamed {
				t.Errorf("status: %+v", st)
			}
		})
	})
}

func TestReflectorsOfOneResourceLearnFromEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ladder := &Ladder{}
		s := func() *script {
			return growing(&script{onStream: always(oneAdded)}, 11*time.Minute)
		}
		first := newRig(t, s(), Options[object]{Ladder: ladder})
		first.during(time.Minute, func() {})
		if ladder.Fallback() == "" {
			t.Fatal("nothing was learned")
		}
		second, third := newRig(t, s(), Options[object]{Ladder: ladder}), newRig(t, s(), Options[object]{Ladder: ladder})
		second.during(time.Minute, func() {
			if st := second.Status(); st.Streams != 0 || st.Fallback != ladder.Fallback() || st.State != Watching {
				t.Errorf("status: %+v", st)
			}
		})
		// Of several that need a state when a probe is due, one makes it.
		time.Sleep(20 * time.Minute)
		go func() { _ = third.ListAndWatch(t.Context()) }()
		second.mustList = true
		second.during(30*time.Second, func() {})
		if n := len(second.script.asked("STREAM")) + len(third.script.asked("STREAM")); n != 1 {
			t.Errorf("%d probes", n)
		}
		synctest.Wait()
		time.Sleep(20 * time.Minute)
	})
}

func TestAVersionThatExpiresAtOnceTwiceIsReadInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := func(int, metav1.ListOptions) ([]act, error) {
			return []act{send(event(deltafifo.Added, "a", "u1", "5"), end("10")), fail(errExpired)}, nil
		}
		s := &script{onStream: old, onList: listed("50", obj("a", "u1", "20"))}
		g := newRig(t, s, Options[object]{})
		g.during(time.Minute, func() {
			wantLines(t, "asked", s.asked(), "STREAM()", "STREAM()", "LIST()", "WATCH(50)")
			wantLines(t, "pushed", g.sink.took(), "Replaced@10[Added a/u1@5]", "Replaced@10[]", "Replaced@50[Updated a/u1@20]")
			if st := g.Status(); st.Fallback != "" {
				t.Errorf("remembered: %q", st.Fallback)
			}
		})
	})
}

func TestAListThatIsAsOldAsWhatHasExpiredDoesNotLoop(t *testing.T) {
	for name, life := range map[string]time.Duration{"at once": 0, "after a minute": time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{onList: listed("10", obj("a", "u1", "5")), onWatch: always(fail(errExpired).wait(life))}
				g := newRig(t, s, Options[object]{Streaming: StreamingNever})
				g.during(10*time.Minute, func() {
					lists := s.asked("LIST")
					last := lists[len(lists)-1].at - lists[len(lists)-2].at - life
					if last < 20*time.Second || len(lists) > 30 {
						t.Errorf("%d lists, the last pause was %v", len(lists), last)
					}
				})
			})
		})
	}
}

func TestManyWhoFallTogetherHaveLearnedOneThing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ladder := &Ladder{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range 20 {
			g := newRig(t, &script{onStream: always(send(event(deltafifo.Added, "a", "u1", "5"))), onList: listed("10")}, Options[object]{Ladder: ladder})
			go func() { _ = g.Run(ctx) }()
		}
		time.Sleep(11 * time.Minute)
		if stream, probe := ladder.climb(); !stream || !probe {
			t.Error("no probe after ten minutes")
		}
	})
}

func TestAVersionThatExpiresAgainAndAgainSoonAfterProgressIsListedEverMoreRarely(t *testing.T) {
	for _, streaming := range []StreamingPolicy{StreamingAuto, StreamingNever} {
		t.Run(fmt.Sprint("streaming ", streaming), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := growing(&script{}, time.Second)
				s.onStream = func(n int, _ metav1.ListOptions) ([]act, error) {
					version := 1000 * (n + 1)
					return []act{send(event(deltafifo.Added, "a", "u1", "5"), end(fmt.Sprint(version)), bookmark(fmt.Sprint(version+1))),
						fail(errExpired).wait(time.Second)}, nil
				}
				g := newRig(t, s, Options[object]{Streaming: streaming})
				g.during(10*time.Minute, func() {
					states := s.asked("LIST", "STREAM")
					if first := states[1].at; first > 3*time.Second {
						t.Errorf("the second state was read after %v", first)
					}
					last := states[len(states)-1].at - states[len(states)-2].at
					if len(states) > 30 || last < 30*time.Second {
						t.Errorf("%d states were read, the last after %v", len(states), last)
					}
					if st := g.Status(); st.Tries != len(states) && st.Tries != len(states)-1 || st.Class != ClassExpired {
						t.Errorf("status: %+v", st)
					}
				})
			})
		})
	}
}

func TestStreamsThatBreakOffWhereTheyHaveWorkedAreSoonTriedAgain(t *testing.T) {
	whole := []act{send(event(deltafifo.Added, "a", "u1", "5"), end("10")), fail(errExpired).wait(time.Hour)}
	last := []act{send(event(deltafifo.Added, "a", "u1", "5"), end("1000000"))}
	for name, test := range map[string]struct {
		broken []act
		again  time.Duration
	}{
		"after they had brought something": {[]act{oneAdded, eof()}, 4 * time.Minute},
		"after they had brought nothing":   {[]act{eof()}, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// The server is restarted after an hour, and every four minutes a
				// version expires from then on.
				s := growing(&script{}, 4*time.Minute)
				s.onStream = nth(whole, test.broken, test.broken, test.broken, last)
				g := newRig(t, s, Options[object]{WatchTimeout: 2 * time.Hour})
				g.during(90*time.Minute, func() {
					streams := s.asked("STREAM")
					if again := streams[4].at - time.Hour; again < test.again || again > test.again+5*time.Minute {
						t.Errorf("streamed again after %v", again)
					}
					if st := g.Status(); st.Fallback != "" {
						t.Errorf("status: %+v", st)
					}
				})
			})
		})
	}
}
