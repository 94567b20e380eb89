package reflector

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/deltafifo"
)

// budgeted is a server with 100 objects, all of which change while a watch is
// away, one is replaced and one deleted. It lists 10 of them on a page; cut ends
// the second list at its eighth page.
type budgeted struct {
	script
	old, renewed []Item[object]
	cut          bool
}

func newBudgeted() *budgeted {
	b := &budgeted{}
	for i := range 100 {
		name := fmt.Sprintf("%03d", i)
		b.old = append(b.old, obj(name, "u"+name, "5"))
		switch i {
		case 42:
			b.renewed = append(b.renewed, obj(name, "another", "150"))
		case 7:
		default:
			b.renewed = append(b.renewed, obj(name, "u"+name, "150"))
		}
	}
	second := 0
	b.onList = func(n int, opts metav1.ListOptions) ([]Item[object], Page, error) {
		items, version, page := b.old, "100", 0
		if n >= 10 {
			items, version = b.renewed, "200"
		}
		if opts.Continue != "" {
			if _, err := fmt.Sscan(opts.Continue, &page); err != nil {
				return nil, Page{}, err
			}
		} else if n >= 10 {
			second++
		}
		if b.cut && second == 1 && page == 7 {
			return nil, Page{}, errInternal
		}
		next := ""
		if (page+1)*10 < len(items) {
			next = fmt.Sprint(page + 1)
		}
		return items[page*10 : min(page*10+10, len(items))], Page{Version: version, Continue: next}, nil
	}
	b.onWatch = expiring(1)
	return b
}

// holdsNew checks that the sink holds the second state.
func (b *budgeted) holdsNew(t *testing.T, g *rig) {
	t.Helper()
	var want []string
	for _, it := range b.renewed {
		want = append(want, it.Key.Name+"@"+it.Version)
	}
	wantLines(t, "held", g.sink.holds(), want...)
}

func TestAListPastItsBudgetIsPushedPageByPage(t *testing.T) { // report 24
	for _, test := range []struct {
		name    string
		budget  int
		cut     bool
		lists   []int // the number of items of each Replaced after the first
		reports [2]int
	}{
		// The replaced object is two changes, the deleted one comes last.
		{name: "within the budget", budget: 100, lists: []int{101}, reports: [2]int{101, 0}},
		{name: "without a bound", budget: -1, lists: []int{101}, reports: [2]int{101, 0}},
		{name: "by default", budget: 0, lists: []int{101}, reports: [2]int{101, 0}},
		{name: "past the budget", budget: 25, lists: []int{30, 31, 30, 10}, reports: [2]int{101, 3}},
		{name: "interrupted within the budget", budget: 100, cut: true, lists: []int{101}, reports: [2]int{101, 0}},
		{name: "interrupted past the budget", budget: 25, cut: true, lists: []int{30, 31, 30, 10}, reports: [2]int{40, 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBudgeted()
				b.cut = test.cut
				g := newRig(t, &b.script, Options[object]{Streaming: StreamingNever, PageSize: 10, RelistBudget: test.budget})
				mixed := false
				g.Subscribe(func(s Status) {
					if s.State == BackingOff {
						mixed = s.Mixed
						if s.Version != "100" {
							t.Errorf("a part has moved the version: %+v", s)
						}
					}
				})
				g.during(2*time.Minute, func() {
					b.holdsNew(t, g)
					var sizes []int
					for i, d := range g.sink.deltas {
						if d.Type != deltafifo.Replaced {
							t.Errorf("pushed a %s", d.Type)
						}
						if i > 0 {
							sizes = append(sizes, len(d.Items))
						}
						want := "100"
						if i == len(g.sink.deltas)-1 {
							want = "200"
						}
						if d.Version != want {
							t.Errorf("Replaced %d has version %s", i, d.Version)
						}
					}
					var want []string
					for _, n := range test.lists {
						want = append(want, fmt.Sprint(n))
					}
					wantLines(t, "sizes", sizes, want...)
					st := g.Status()
					if got := [2]int{st.LastList.Changes, st.LastList.Parts}; got != test.reports || st.Mixed {
						t.Errorf("reported %v, mixed %v", got, st.Mixed)
					}
					if mixed != (test.cut && test.budget == 25) {
						t.Errorf("mixed after the interruption: %v", mixed)
					}
				})
			})
		})
	}
}

func TestTheFirstStateIsNeverPushedInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudgeted()
		g := newRig(t, &b.script, Options[object]{Streaming: StreamingNever, PageSize: 10, RelistBudget: 1})
		g.during(time.Second, func() {
			if len(g.sink.deltas) != 1 || len(g.sink.deltas[0].Items) != 100 {
				t.Errorf("pushed %v", g.sink.took())
			}
		})
	})
}

func TestAStreamPastItsBudgetIsPushedAsItComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onWatch: expiring(1), onStream: nth(
			[]act{send(event(deltafifo.Added, "a", "u1", "5"), event(deltafifo.Added, "b", "u2", "6"), event(deltafifo.Added, "c", "u3", "7"), end("10")),
				fail(errExpired).wait(time.Minute)},
			[]act{send(event(deltafifo.Added, "a", "u1", "15"), event(deltafifo.Added, "b", "u9", "16")),
				send(event(deltafifo.Deleted, "a", "u1", "17"), event(deltafifo.Updated, "b", "u9", "18"), end("20"))})}
		g := newRig(t, s, Options[object]{RelistBudget: 1})
		g.during(2*time.Minute, func() {
			pushed := g.sink.took()
			if len(pushed) != 3 || pushed[1] != "Replaced@10[Deleted b/u2@16? Updated a/u1@15 Added b/u9@16]" ||
				!strings.HasPrefix(pushed[2], "Replaced@20[Deleted ") || !strings.HasSuffix(pushed[2], " Updated b/u9@18]") {
				t.Errorf("pushed %q", pushed)
			}
			wantLines(t, "held", g.sink.holds(), "b@18")
		})
	})
}

func TestASinkThatRefusesAPartEndsTheRun(t *testing.T) {
	closed := errors.New("closed")
	for name, onStream := range map[string]func(int, metav1.ListOptions) ([]act, error){
		"listed": nil,
		"streamed": nth([]act{send(event(deltafifo.Added, "a", "u1", "5"), end("10")), fail(errExpired).wait(time.Minute)},
			[]act{send(event(deltafifo.Added, "a", "u1", "15"), event(deltafifo.Added, "b", "u9", "16"), event(deltafifo.Added, "c", "u9", "16"))}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBudgeted()
				b.onStream = onStream
				g := newRig(t, &b.script, Options[object]{PageSize: 10, RelistBudget: 1})
				time.AfterFunc(time.Second, func() { g.sink.mu.Lock(); g.sink.refuse = closed; g.sink.mu.Unlock() })
				if err := g.Run(t.Context()); !errors.Is(err, closed) {
					t.Errorf("Run returned %v", err)
				}
				if st := g.Status(); st.State != Stopped || st.Class != ClassStopped {
					t.Errorf("status: %+v", st)
				}
			})
		})
	}
}

func TestAStateThatMayBeOlderIsNotPushedInParts(t *testing.T) {
	// After the watch has expired, the server has gone back to a state that had
	// objects which were deleted since.
	old := []Event[object]{event(deltafifo.Added, "x", "u7", "7"), event(deltafifo.Added, "y", "u8", "8"), event(deltafifo.Added, "z", "u9", "9")}
	items := []Item[object]{old[0].Item, old[1].Item, old[2].Item}
	s := &script{onWatch: expiring(1), onStream: nth(
		[]act{send(event(deltafifo.Added, "a", "u1", "15"), end("100")), fail(errExpired).wait(time.Minute)},
		[]act{send(old...), send(end("50"))})}
	listing := func(n int, opts metav1.ListOptions) ([]Item[object], Page, error) {
		switch {
		case n == 0:
			return []Item[object]{obj("a", "u1", "15")}, Page{Version: "100"}, nil
		case opts.Continue != "":
			return items[2:], Page{}, nil
		}
		return items[:2], Page{Version: "50", Continue: "z"}, nil
	}
	for name, source := range map[string]*script{"streamed": s, "listed": {onWatch: expiring(1), onList: listing}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, source, Options[object]{RelistBudget: 1})
				g.during(2*time.Minute, func() {
					wantLines(t, "pushed", g.sink.took(), "Replaced@100[Added a/u1@15]",
						"Replaced@50[Deleted a/u1@50? Added x/u7@7 Added y/u8@8 Added z/u9@9]")
					if st := g.Status(); st.Epoch != 1 {
						t.Errorf("status: %+v", st)
					}
				})
			})
		})
	}
}

func TestAServerThatGoesBackBehindAPartIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudgeted()
		b.cut = true
		// The list at 200 breaks off after a part of it; the next is at 120.
		whole := b.onList
		b.onList = func(n int, opts metav1.ListOptions) ([]Item[object], Page, error) {
			if n < 18 {
				return whole(n, opts)
			}
			return b.old[:50], Page{Version: "120"}, nil
		}
		g := newRig(t, &b.script, Options[object]{Streaming: StreamingNever, PageSize: 10, RelistBudget: 25})
		g.sink.loose = true
		g.during(5*time.Minute, func() {
			var want []string
			for _, it := range b.old[:50] {
				want = append(want, it.Key.Name+"@5")
			}
			wantLines(t, "held", g.sink.holds(), want...)
			if st := g.Status(); st.Epoch != 1 || st.Version != "120" || st.Mixed {
				t.Errorf("status: %+v", st)
			}
		})
	})
}

func TestAMixtureIsDeletedWhenItsResourceIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudgeted()
		whole := b.onList
		b.onList = func(n int, opts metav1.ListOptions) ([]Item[object], Page, error) {
			if n >= 17 {
				return nil, Page{}, status(http.StatusNotFound, metav1.StatusReasonNotFound)
			}
			return whole(n, opts)
		}
		g := newRig(t, &b.script, Options[object]{Streaming: StreamingNever, PageSize: 10, RelistBudget: 25, NotServed: DeleteObjects})
		g.during(5*time.Minute, func() {
			// As a state: by its version alone, a delete at 100 is older than what
			// was taken from the list at 200.
			last := g.sink.deltas[len(g.sink.deltas)-1]
			if last.Type != deltafifo.Replaced || last.Version != "100" || len(last.Items) != 100 {
				t.Errorf("the last push is %s at %s with %d items", last.Type, last.Version, len(last.Items))
			}
			if st := g.Status(); len(g.sink.holds()) != 0 || st.Mixed || st.State != NotServed {
				t.Errorf("%d are held, %+v", len(g.sink.holds()), st)
			}
		})
	})
}
