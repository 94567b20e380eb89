package reflector

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
)

// garbage is an object that cannot be used.
func garbage(name, uid, version string) Item[object] {
	it := obj(name, uid, version)
	it.Object, it.Err = nil, errors.New("garbage")
	return it
}

func garbled(name, uid, version string) Event[object] {
	return Event[object]{Type: deltafifo.Updated, Item: garbage(name, uid, version)}
}

func TestABrokenObjectIsReadAgainUntilItIsGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var good atomic.Bool
		s := &script{
			onList:  listed("10", obj("a", "u1", "5"), obj("b", "u2", "6")),
			onWatch: always(send(garbled("a", "u1", "20"), event(deltafifo.Updated, "b", "u2", "21"))),
			onGet: func(_ int, key types.NamespacedName) (Item[object], error) {
				if good.Load() {
					return obj(key.Name, "u1", "20"), nil
				}
				return garbage(key.Name, "u1", "20"), nil
			},
		}
		g := newRig(t, s, Options[object]{WatchTimeout: 24 * time.Hour})
		g.during(time.Hour, func() {
			// Half a minute, doubled up to ten, with half as much again at most.
			if n := len(s.asked("GET")); n < 7 || n > 12 {
				t.Errorf("read %d times in an hour", n)
			}
			known, broken := g.IsBroken(key("a"))
			if !broken || known.Err.Version != "20" || known.Tries != len(s.asked("GET")) || time.Since(known.Since) != time.Hour ||
				!known.NextTry.After(time.Now()) || len(g.Broken()) != 1 || g.Status().Broken != 1 {
				t.Errorf("broken: %+v, %v", known, broken)
			}
			wantLines(t, "errors", g.errs, "pods: ns/a at version 20: decode: garbage")
			wantLines(t, "held", g.sink.holds(), "a@5", "b@21")
			good.Store(true)
			time.Sleep(16 * time.Minute)
			synctest.Wait()
			wantLines(t, "held", g.sink.holds(), "a@20", "b@21")
			if _, broken := g.IsBroken(key("a")); broken || len(g.Broken()) != 0 || g.Status().Broken != 0 {
				t.Error("still broken")
			}
			reads := len(s.asked("GET"))
			time.Sleep(time.Hour)
			if n := len(s.asked("GET")); n != reads {
				t.Errorf("read %d times more", n-reads)
			}
			wantLines(t, "requests", s.asked("LIST", "WATCH"), "LIST()", "WATCH(10)")
		})
	})
}

func TestABrokenObjectIsGoodAgainAtItsNextVersion(t *testing.T) {
	for name, next := range map[string]Event[object]{
		"a good state": event(deltafifo.Updated, "a", "u1", "30"),
		"a delete":     event(deltafifo.Deleted, "a", "u1", "30"),
		"a bad delete": {Type: deltafifo.Deleted, Item: garbage("a", "u1", "30")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{
					onList:  listed("10", garbage("a", "u1", "5")),
					onWatch: always(send(next).wait(10 * time.Second)),
					onGet:   func(int, types.NamespacedName) (Item[object], error) { return garbage("a", "u1", "5"), nil },
				}
				g := newRig(t, s, Options[object]{})
				g.during(5*time.Second, func() {
					if !g.Status().Synced || g.Status().Broken != 1 {
						t.Errorf("status: %+v", g.Status())
					}
					time.Sleep(time.Minute)
					if g.Status().Broken != 0 || len(s.asked("GET")) != 0 {
						t.Errorf("%d broken, requests %v", g.Status().Broken, s.asked())
					}
				})
			})
		})
	}
}

func TestAStateReadAheadOfTheWatchIsLeftToIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{
			onList:  listed("10", obj("a", "u1", "5")),
			onWatch: always(send(garbled("a", "u1", "20")), send(event(deltafifo.Updated, "b", "u2", "25"), event(deltafifo.Updated, "a", "u1", "30")).wait(3*time.Minute)),
			onGet:   func(int, types.NamespacedName) (Item[object], error) { return obj("a", "u1", "30"), nil },
		}
		g := newRig(t, s, Options[object]{})
		g.during(2*time.Minute, func() {
			wantLines(t, "held", g.sink.holds(), "a@5")
			if len(s.asked("GET")) == 0 {
				t.Error("not read again")
			}
			time.Sleep(2 * time.Minute)
			wantLines(t, "pushed", g.sink.took(), "Replaced@10[Added a/u1@5]", "Bookmark@20", "Updated b/u2@25", "Updated a/u1@30")
		})
	})
}

func TestABrokenObjectWhoseEndWasNotSeenEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		absent := Item[object]{Key: key("a"), Version: "25"}
		s := &script{
			onList:  listed("10", obj("a", "u1", "5")),
			onWatch: always(send(garbled("a", "u1", "20")), send(bookmark("30")).wait(2*time.Minute)),
			onGet:   func(int, types.NamespacedName) (Item[object], error) { return absent, fmt.Errorf("a: %w", ErrNoObject) },
		}
		g := newRig(t, s, Options[object]{})
		g.during(119*time.Second, func() {
			wantLines(t, "held", g.sink.holds(), "a@5")
			time.Sleep(3 * time.Minute)
			wantLines(t, "held", g.sink.holds())
			if g.Status().Broken != 0 {
				t.Error("still broken")
			}
		})
	})
}

func TestManyBrokenObjectsAreReadAtABoundedPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var items []Item[object]
		for n := range 500 {
			items = append(items, garbage(fmt.Sprint("bad", n), fmt.Sprint("u", n), fmt.Sprint(n+1)))
		}
		s := &script{
			onList:  listed("1000", append(items, obj("good", "u", "999"))...),
			onWatch: always(send(bookmark("1001")).wait(time.Second)),
			onGet:   func(_ int, key types.NamespacedName) (Item[object], error) { return garbage(key.Name, "u", "600"), nil },
		}
		g := newRig(t, s, Options[object]{WatchTimeout: 24 * time.Hour})
		g.during(10*time.Minute, func() {
			if n := len(s.asked("GET")); n < 300 || n > 600 {
				t.Errorf("%d reads in ten minutes", n)
			}
			if st := g.Status(); !st.Synced || st.Broken != 500 || len(g.Broken()) != MaxBroken || st.Version != "1001" {
				t.Errorf("status: %+v", st)
			}
		})
	})
}

func TestAReadThatHangsEndsWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: listed("10", garbage("a", "u1", "5")), hang: map[string]bool{"GET": true},
			onGet: func(int, types.NamespacedName) (Item[object], error) { return Item[object]{}, nil }}
		g := newRig(t, s, Options[object]{})
		g.during(46*time.Second, func() {
			if len(s.asked("GET")) != 1 {
				t.Errorf("requests %v", s.asked())
			}
		})
	})
}

func TestAListForgetsBrokenObjectsThatAreNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: lists([]Item[object]{garbage("a", "u1", "5"), garbage("b", "u2", "6")}, []Item[object]{garbage("b", "u2", "6")}), onWatch: expiring(1)}
		g := newRig(t, s, Options[object]{})
		g.during(2*time.Minute, func() {
			broken := g.Broken()
			if len(broken) != 1 || broken[0].Err.Key != key("b") || !broken[0].NextTry.IsZero() {
				t.Errorf("broken: %+v", broken)
			}
			wantLines(t, "errors", g.errs, "pods: ns/a at version 5: decode: garbage", "pods: ns/b at version 6: decode: garbage")
		})
	})
}

func TestAListedObjectIsNotBrokenIfThatStateOrANewerOneIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{
			onList: lists(
				[]Item[object]{obj("a", "u1", "5"), obj("b", "u2", "6")},
				[]Item[object]{garbage("a", "u1", "5"), garbage("b", "u2", "4")},
			),
			onWatch: expiring(1),
		}
		g := newRig(t, s, Options[object]{Streaming: StreamingNever})
		g.during(2*time.Minute, func() {
			if broken := g.Broken(); len(broken) != 0 {
				t.Errorf("broken: %+v", broken)
			}
			wantLines(t, "held", g.sink.holds(), "a@5", "b@6")
		})
	})
}

func TestWhatAStreamingListMendsOrEndsIsNotBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onStream: always(send(
			garbled("a", "u1", "5"), garbled("b", "u2", "6"), garbled("c", "u3", "7"),
			event(deltafifo.Updated, "a", "u1", "8"), event(deltafifo.Deleted, "b", "u2", "9"), end("9"),
		))}
		g := newRig(t, s, Options[object]{})
		g.during(time.Second, func() {
			if broken := g.Broken(); len(broken) != 1 || broken[0].Err.Key != key("c") {
				t.Errorf("broken: %+v", broken)
			}
			wantLines(t, "held", g.sink.holds(), "a@8")
		})
	})
}

func TestTheObjectsOfAResourceThatIsGoneAreDeletedIfWanted(t *testing.T) {
	for _, policy := range []NotServedPolicy{KeepObjects, DeleteObjects} {
		for _, outage := range []time.Duration{5 * time.Second, 5 * time.Minute} {
			t.Run(fmt.Sprintf("policy %d, away for %v", policy, outage), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					notFound := status(404, metav1.StatusReasonNotFound)
					away := func() bool {
						at := time.Since(began)
						return at >= time.Minute && at < time.Minute+outage
					}
					s := &script{
						onList: func(n int, _ metav1.ListOptions) ([]Item[object], Page, error) {
							if away() {
								return nil, Page{}, notFound
							}
							if n == 0 {
								return []Item[object]{obj("a", "u1", "5"), obj("b", "u2", "6")}, Page{Version: "10"}, nil
							}
							return []Item[object]{obj("a", "u9", "50")}, Page{Version: "60"}, nil
						},
						onWatch: func(n int, _ metav1.ListOptions) ([]act, error) {
							if n == 0 {
								return []act{fail(notFound).wait(time.Minute)}, nil
							}
							return nil, nil
						},
					}
					g := newRig(t, s, Options[object]{NotServed: policy, Streaming: StreamingNever})
					g.during(time.Minute+outage-time.Second, func() {
						gone := policy == DeleteObjects && outage > time.Minute
						want := 2
						if gone {
							want = 0
						}
						if st := g.Status(); st.State != NotServed || len(g.sink.holds()) != want {
							t.Errorf("%v is held, %s", g.sink.holds(), st)
						}
						time.Sleep(time.Second)
						g.Nudge()
						time.Sleep(time.Second)
						synctest.Wait()
						wantLines(t, "held", g.sink.holds(), "a@50")
						if n := len(s.asked("WATCH")); n != 2 {
							t.Errorf("%d watches", n)
						}
					})
				})
			})
		}
	}
}

func TestNudgesMakeNoFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{} // not served
		g := newRig(t, s, Options[object]{Streaming: StreamingNever})
		go func() {
			for range 6000 {
				g.Nudge()
				time.Sleep(10 * time.Millisecond)
			}
		}()
		g.during(time.Minute, func() {
			if n := len(s.asked("LIST")); n < 50 || n > 62 {
				t.Errorf("%d lists in a minute", n)
			}
			time.Sleep(time.Second)
		})
	})
}

func TestANudgeIsNoSoonerThanTheServerAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := status(503, metav1.StatusReasonServiceUnavailable)
		busy.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 60}
		s := &script{onList: func(int, metav1.ListOptions) ([]Item[object], Page, error) { return nil, Page{}, busy }}
		g := newRig(t, s, Options[object]{Streaming: StreamingNever})
		g.during(30*time.Second, func() {
			g.Nudge()
			synctest.Wait()
			if n := len(s.asked("LIST")); n != 1 {
				t.Errorf("%d lists", n)
			}
		})
	})
}

func TestAnObjectThatWasReplacedByABrokenOneIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{
			onList: func(n int, _ metav1.ListOptions) ([]Item[object], Page, error) {
				if n == 0 {
					return []Item[object]{obj("a", "u1", "5"), obj("b", "u2", "6")}, Page{Version: "10"}, nil
				}
				return []Item[object]{garbage("a", "u9", "15"), garbage("b", "u2", "16")}, Page{Version: "20"}, nil
			},
			onWatch: expiring(1),
		}
		g := newRig(t, s, Options[object]{Streaming: StreamingNever})
		g.during(2*time.Minute, func() {
			wantLines(t, "held", g.sink.holds(), "b@6")
			if n := g.Status().Broken; n != 2 {
				t.Errorf("%d are broken", n)
			}
		})
	})
}

func TestBrokenObjectsAreNotReadWhileTheServerIsAwayOrAsksForAPause(t *testing.T) {
	asks := status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
	asks.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 600}
	for name, test := range map[string]struct {
		onWatch func(int, metav1.ListOptions) ([]act, error)
		most    int
	}{
		"away": {refusing(io.ErrUnexpectedEOF), 0},
		"busy": {nil, 7},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var items []Item[object]
				for i := range 20 {
					items = append(items, garbage(fmt.Sprint(i), "u", "5"))
				}
				s := &script{onList: listed("10", items...), onWatch: test.onWatch,
					onGet: func(int, types.NamespacedName) (Item[object], error) { return Item[object]{}, asks }}
				g := newRig(t, s, Options[object]{Streaming: StreamingNever})
				g.during(time.Hour, func() {
					if n := len(s.asked("GET")); n > test.most {
						t.Errorf("read %d times in an hour", n)
					}
				})
			})
		})
	}
}
