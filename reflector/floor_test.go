package reflector

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/deltafifo"
)

func TestNothingOlderThanTheMinimumIsPublished(t *testing.T) { // report 7
	answers := []string{"50", "99", "x", "100"}
	for name, opts := range map[string]Options[object]{
		"streamed":                {MinimumResourceVersion: "100"},
		"listed":                  {MinimumResourceVersion: "100", Streaming: StreamingNever},
		"streamed, stale is fine": {MinimumResourceVersion: "100", StaleStart: true},
		"listed, stale is fine":   {MinimumResourceVersion: "100", StaleStart: true, Streaming: StreamingNever},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{
					onList: func(n int, _ metav1.ListOptions) ([]Item[object], Page, error) {
						return []Item[object]{obj("a", "u1", fmt.Sprint(n))}, Page{Version: answers[min(n, 3)]}, nil
					},
					onStream: func(n int, _ metav1.ListOptions) ([]act, error) {
						return []act{send(event(deltafifo.Added, "a", "u1", fmt.Sprint(n)), end(answers[min(n, 3)]))}, nil
					},
				}
				g := newRig(t, s, opts)
				var told []Status
				g.Subscribe(func(st Status) {
					if st.State == BackingOff {
						told = append(told, st)
					}
				})
				g.during(time.Minute, func() {
					wantLines(t, "pushed", g.sink.took(), "Replaced@100[Added a/u1@3]")
					if len(s.asked("LIST", "STREAM")) != 4 || len(told) != 3 {
						t.Fatalf("asked %v, told %v", s.asked(), told)
					}
					pausing(t, s.asked("LIST", "STREAM"))
					for i, st := range told {
						var below *MinimumError
						if !errors.As(st.LastError, &below) || below.Minimum != "100" || below.Version != answers[i] || st.Synced {
							t.Errorf("told %+v", st)
						}
					}
					if told[0].Class != ClassTooLarge || told[2].Class != ClassOther {
						t.Errorf("classes %q, %q", told[0].Class, told[2].Class)
					}
					if got := told[0].Explain(); !strings.HasPrefix(got, "pods: version too large: pods: the server is at version 50, before the minimum 100 (for ") {
						t.Error(got)
					}
				})
			})
		})
	}
}

func TestAServerThatIsBehindTheMinimumIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: func(n int, opts metav1.ListOptions) ([]Item[object], Page, error) {
			if opts.Limit == 0 || opts.ResourceVersion != "100" || opts.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan {
				t.Errorf("asked with %+v", opts)
			}
			if n < 8 {
				return nil, Page{}, tooLarge(true)
			}
			return nil, Page{Version: "100"}, nil
		}}
		g := newRig(t, s, Options[object]{MinimumResourceVersion: "100", StaleStart: true, Streaming: StreamingNever})
		g.during(5*time.Minute, func() {
			if st := g.Status(); len(s.asked("LIST")) != 9 || !st.Synced {
				t.Errorf("status: %+v", st)
			}
		})
	})
}

func TestOnlyTheFirstStateMayBeStale(t *testing.T) { // report 3
	for name, streaming := range map[string]StreamingPolicy{"listed": StreamingNever, "streamed": StreamingAuto} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{
					onList: func(n int, opts metav1.ListOptions) ([]Item[object], Page, error) {
						if opts.Continue == "" {
							return []Item[object]{obj("a", "u1", "5")}, Page{Version: fmt.Sprint(10 + n), Continue: "c"}, nil
						}
						if opts.ResourceVersion != "" || opts.ResourceVersionMatch != "" {
							t.Errorf("a later page was asked for with %+v", opts)
						}
						return nil, Page{Version: "10"}, nil
					},
					onStream: func(n int, opts metav1.ListOptions) ([]act, error) {
						if opts.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan {
							t.Errorf("a streaming list was asked for with %+v", opts)
						}
						return []act{send(event(deltafifo.Added, "a", "u1", "5"), end(fmt.Sprint(10+n))), fail(errExpired).wait(time.Minute)}, nil
					},
					onWatch: expiring(1),
				}
				g := newRig(t, s, Options[object]{StaleStart: true, Streaming: streaming})
				g.during(90*time.Second, func() {
					if streaming == StreamingAuto {
						wantLines(t, "asked", s.asked(), "STREAM(0)", "STREAM()")
					} else {
						wantLines(t, "asked", s.asked(), "LIST(0)", "LIST(continue c)", "WATCH(10)", "LIST()", "LIST(continue c)", "WATCH(12)")
					}
				})
			})
		})
	}
}

func TestTheMinimumIsVoidOnceTheServerHasGoneBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onWatch: expiring(1), onList: func(n int, _ metav1.ListOptions) ([]Item[object], Page, error) {
			return []Item[object]{obj("a", "u1", "20")}, Page{Version: []string{"120", "50"}[min(n, 1)]}, nil
		}}
		g := newRig(t, s, Options[object]{MinimumResourceVersion: "100"})
		g.during(2*time.Minute, func() {
			if st := g.Status(); st.Version != "50" || st.Epoch != 1 {
				t.Errorf("status: %+v", st)
			}
		})
	})
}
