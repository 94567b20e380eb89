package reflector

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/deltafifo"
)

// nameless is an object of which nothing could be read but perhaps its version.
func nameless(version string) Item[object] {
	return Item[object]{Version: version, Err: &ObjectError{Resource: "the source", Version: version, Stage: StageDecode, Err: errNoName}}
}

// nowhere is an object whose name could be read and whose namespace could not.
func nowhere(name, version string) Item[object] {
	it := garbage(name, "u1", version)
	it.Key.Namespace = ""
	it.Err = objectError("the source", it, StageDecode, it.Err)
	return it
}

func TestAListWithNamelessObjectsDeletesNothing(t *testing.T) {
	for name, bad := range map[string]Item[object]{"no name": nameless("50"), "no namespace": nowhere("a", "50")} {
		for _, streamed := range []bool{true, false} {
			t.Run(fmt.Sprint(name, ", streamed ", streamed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					states := [][]Item[object]{{obj("a", "u1", "5"), obj("b", "u2", "6")}, {bad, obj("b", "u2", "60")}, {obj("b", "u2", "60")}}
					s := &script{onList: lists(states...), onWatch: expiring(2)}
					if streamed {
						s.onStream = func(n int, _ metav1.ListOptions) ([]act, error) {
							acts := []act{}
							for _, it := range states[n] {
								acts = append(acts, send(Event[object]{Type: deltafifo.Added, Item: it}))
							}
							return append(acts, send(end(fmt.Sprint(100+900*n)), bookmark(fmt.Sprint(101+900*n))), fail(errExpired).wait(time.Minute)), nil
						}
					}
					g := newRig(t, s, Options[object]{})
					g.during(90*time.Second, func() {
						wantLines(t, "held", g.sink.holds(), "a@5", "b@60")
						st := g.Status()
						if st.Unaccounted != 1 || st.Broken != 1 || st.ObjectErrors != 1 || len(g.errs) != 1 || g.errs[0].Key != (types.NamespacedName{}) {
							t.Errorf("status: %+v, errors %v", st, g.errs)
						}
						if known, broken := g.IsBroken(key("a")); !broken || !errors.Is(known.Err, errUnaccounted) || known.Err.UID != "u1" || known.Err.Version != "5" {
							t.Errorf("a is broken %v: %+v", broken, known)
						}
						time.Sleep(time.Minute)
						synctest.Wait()
						wantLines(t, "held", g.sink.holds(), "b@60")
						if st := g.Status(); st.Unaccounted != 0 || st.Broken != 0 {
							t.Errorf("after a list that is complete: %+v", st)
						}
					})
				})
			})
		}
	}
}

func TestWhatAListCannotAccountForIsReadByItsName(t *testing.T) {
	for _, test := range []struct {
		name   string
		item   Item[object]
		err    error
		pushed []string
		left   []string
	}{
		{"and is as it is held", obj("a", "u1", "5"), nil, nil, []string{"a@5", "b@6"}},
		{"and is newer", obj("a", "u1", "500"), nil, []string{"Updated a/u1@500"}, []string{"a@500", "b@6"}},
		{"and is gone", Item[object]{Key: key("a"), Version: "1001"}, fmt.Errorf("a: %w", ErrNoObject), []string{"Deleted a/u1@1001?"}, []string{"b@6"}},
		{"and cannot be read", Item[object]{}, errForbidden, nil, []string{"a@5", "b@6"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{
					onList:  lists([]Item[object]{obj("a", "u1", "5"), obj("b", "u2", "6")}, []Item[object]{nameless(""), obj("b", "u2", "6")}),
					onWatch: nth([]act{fail(errExpired).wait(time.Minute)}, []act{send(bookmark("1002")).wait(20 * time.Second)}),
					onGet:   func(int, types.NamespacedName) (Item[object], error) { return test.item, test.err },
				}
				g := newRig(t, s, Options[object]{WatchTimeout: time.Hour})
				g.during(5*time.Minute, func() {
					var pushed []string
					for _, line := range g.sink.took() {
						if line[0] != 'R' && line[0] != 'B' {
							pushed = append(pushed, line)
						}
					}
					wantLines(t, "pushed", pushed, test.pushed...)
					wantLines(t, "held", g.sink.holds(), test.left...)
					known, broken := g.IsBroken(key("a"))
					if broken != (test.err == errForbidden) || broken && (!errors.Is(known.TryErr, errForbidden) || known.Tries == 0) {
						t.Errorf("broken %v: %+v", broken, known)
					}
				})
			})
		})
	}
}

func TestANamelessEventIsCountedUntilTheNextList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{
			onList: lists([]Item[object]{obj("a", "u1", "5")}),
			onWatch: nth([]act{send(Event[object]{Type: deltafifo.Updated, Item: nameless("150")}, Event[object]{Type: deltafifo.Deleted, Item: nowhere("a", "160")}),
				fail(errExpired).wait(time.Minute)}, nil),
		}
		g := newRig(t, s, Options[object]{})
		g.during(30*time.Second, func() {
			wantLines(t, "pushed", g.sink.took(), "Replaced@100[Added a/u1@5]", "Bookmark@150", "Bookmark@160")
			if st := g.Status(); st.Unaccounted != 2 || st.ObjectErrors != 2 || st.Broken != 0 || st.Version != "160" {
				t.Errorf("status: %+v", st)
			}
			time.Sleep(time.Minute)
			if st := g.Status(); st.Unaccounted != 0 {
				t.Errorf("after a list: %+v", st)
			}
		})
	})
}
