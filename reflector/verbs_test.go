package reflector

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/deltafifo"
)

// bareForbidden is a 403 of an authorizer that does not say which verb it denies.
var bareForbidden = status(http.StatusForbidden, metav1.StatusReasonForbidden)

// halfAllowed is a server that allows one verb alone, until both are granted.
type halfAllowed struct {
	script
	granted atomic.Bool
}

func (h *halfAllowed) denying(on func(int, metav1.ListOptions) ([]act, error)) func(int, metav1.ListOptions) ([]act, error) {
	return func(n int, opts metav1.ListOptions) ([]act, error) {
		if !h.granted.Load() {
			return nil, bareForbidden
		}
		return on(n, opts)
	}
}

// mayList allows to list and not to watch.
func mayList() *halfAllowed {
	h := &halfAllowed{}
	h.onList = listed("10", obj("a", "u1", "5"))
	h.onStream = h.denying(always(oneAdded, send(end("10"))))
	h.onWatch = h.denying(always(send(event(deltafifo.Updated, "a", "u1", "11"))))
	return h
}

// forbiddenTo checks that the verb is named wherever somebody may look.
func forbiddenTo(t *testing.T, g *rig, verb string) {
	t.Helper()
	st := g.Status()
	if st.State != Forbidden || st.Class != ClassForbidden || st.Tries < 5 ||
		!strings.HasPrefix(st.Explain(), "pods: forbidden: may not "+verb+": ") {
		t.Errorf("%s: %+v", st, st)
	}
}

func TestWithoutTheVerbWatchWhatWasListedStaysAndTheVerbIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := mayList()
		g := newRig(t, &h.script, Options[object]{Streaming: StreamingNever})
		g.during(2*time.Minute, func() {
			forbiddenTo(t, g, "watch")
			if st := g.Status(); !st.Synced || st.Age() > time.Minute {
				t.Errorf("status: %+v", st)
			}
			wantLines(t, "held", g.sink.holds(), "a@5")
			h.granted.Store(true)
			time.Sleep(46 * time.Second)
			synctest.Wait()
			wantLines(t, "pushed", g.sink.took(), "Replaced@10[Added a/u1@5]", "Updated a/u1@11")
			if lists, watches := len(h.asked("LIST")), h.asked("WATCH"); lists != 1 || len(watches) > 10 {
				t.Errorf("%d lists, %d watches", lists, len(watches))
			}
		})
	})
}

func TestWithoutTheVerbWatchNothingIsPublishedThatWouldStayAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := mayList()
		g := newRig(t, &h.script, Options[object]{})
		g.during(2*time.Minute, func() {
			forbiddenTo(t, g, "watch")
			if st := g.Status(); st.Synced || len(h.asked("LIST", "WATCH")) != 0 {
				t.Errorf("asked %v, status: %+v", h.asked(), st)
			}
			h.granted.Store(true)
			time.Sleep(46 * time.Second)
			synctest.Wait()
			wantLines(t, "pushed", g.sink.took(), "Replaced@10[Added a/u1@5]")
		})
	})
}

func TestWithoutTheVerbListAStateIsStreamed(t *testing.T) {
	for _, test := range []struct {
		name   string
		ladder *Ladder
		broken int
	}{
		{"at once", nil, 0},
		{"again after it broke off for a while", nil, 4},
		{"also where others read in pages", &Ladder{pages: "it broke off for others", probe: time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{
					onList:  func(int, metav1.ListOptions) ([]Item[object], Page, error) { return nil, Page{}, bareForbidden },
					onProof: func(int) (string, error) { return "", bareForbidden },
					onStream: func(n int, _ metav1.ListOptions) ([]act, error) {
						if n < test.broken {
							return []act{oneAdded, eof()}, nil
						}
						return []act{oneAdded, send(end("10")), eof().wait(time.Minute)}, nil
					},
					onWatch: always(eof().wait(5 * time.Minute)),
				}
				g := newRig(t, s, Options[object]{Ladder: test.ladder})
				g.during(30*time.Second, func() {
					if st := g.Status(); st.State != Watching || !st.Synced {
						t.Fatalf("%s: %+v", st, st)
					}
					// That the version cannot be proved after silent watches does not
					// end the watching.
					time.Sleep(20*time.Minute + 30*time.Second)
					st := g.Status()
					if st.State != Watching || st.Proofs == 0 || !strings.Contains(fmt.Sprint(st.LastError), "may not list") && !strings.Contains(fmt.Sprint(st.LastError), "EOF") {
						t.Errorf("%s: %+v", st, st)
					}
				})
			})
		})
	}
}

func TestWithoutTheVerbListAServerThatDoesNotStreamCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: func(int, metav1.ListOptions) ([]Item[object], Page, error) { return nil, Page{}, bareForbidden }}
		g := newRig(t, s, Options[object]{})
		g.during(10*time.Minute, func() {
			forbiddenTo(t, g, "list")
			if n := len(s.asked()); n > 60 {
				t.Errorf("%d requests", n)
			}
		})
	})
}
