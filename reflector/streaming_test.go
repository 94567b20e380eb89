package reflector

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/deltafifo"
)

func TestFramesOfAStreamingListThatAreMixedUp(t *testing.T) {
	a, b := event(deltafifo.Added, "a", "u1", "5"), event(deltafifo.Added, "b", "u2", "6")
	gone := event(deltafifo.Deleted, "a", "u1", "8")
	for _, test := range []struct {
		name   string
		events []Event[object] // of the first list
		pushed []string
		lists  int // in all: the others have b only, at version 20
	}{
		{
			"a change of behind the end comes before it",
			[]Event[object]{a, b, event(deltafifo.Updated, "a", "u1", "11"), end("10"), bookmark("11"), event(deltafifo.Added, "c", "u3", "12")},
			[]string{"Replaced@11[Added a/u1@11 Added b/u2@6]", "Added c/u3@12"}, 1,
		},
		{
			"a delete of behind the end comes before it",
			[]Event[object]{a, b, event(deltafifo.Deleted, "a", "u1", "11"), end("10"), event(deltafifo.Added, "c", "u3", "12")},
			[]string{"Replaced@11[Added b/u2@6]", "Added c/u3@12"}, 1,
		},
		{
			"two changes of behind the end, one before it and the older one after it",
			[]Event[object]{a, b, event(deltafifo.Updated, "b", "u2", "12"), end("10"), event(deltafifo.Deleted, "a", "u1", "11")},
			[]string{"Replaced@12[Added a/u1@5 Added b/u2@12]", "Replaced@20[Deleted a/u1@20?]"}, 2,
		},
		{
			"a delete comes after the end",
			[]Event[object]{a, b, end("10"), gone},
			[]string{"Replaced@10[Added a/u1@5 Added b/u2@6]", "Replaced@20[Deleted a/u1@20? Updated b/u2@12]"}, 2,
		},
		{
			"a delete that has come before the end comes once more",
			[]Event[object]{a, gone, b, end("10"), gone},
			[]string{"Replaced@10[Added b/u2@6]"}, 1,
		},
		{
			"a delete comes before its object",
			[]Event[object]{gone, a, b, end("10")},
			[]string{"Replaced@10[Added b/u2@6]"}, 1,
		},
		{
			"a delete comes after the object that took the place",
			[]Event[object]{a, event(deltafifo.Added, "a", "u9", "9"), gone, b, end("10")},
			[]string{"Replaced@10[Added a/u9@9 Added b/u2@6]"}, 1,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{onStream: func(n int, _ metav1.ListOptions) ([]act, error) {
					if n == 0 {
						return []act{send(test.events...)}, nil
					}
					return []act{send(event(deltafifo.Added, "b", "u2", "12"), end("20"))}, nil
				}}
				g := newRig(t, s, Options[object]{})
				g.during(time.Minute, func() {
					wantLines(t, "pushed", g.sink.took(), test.pushed...)
					if n := len(s.asked("STREAM")); n != test.lists {
						t.Errorf("%d lists, want %d", n, test.lists)
					}
				})
			})
		})
	}
}

func TestADeleteOfWhatIsHeldCountsWhereItBelongs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := event(deltafifo.Added, "a", "u1", "5")
		s := &script{onStream: func(n int, _ metav1.ListOptions) ([]act, error) {
			if n == 0 {
				return []act{send(held, end("6")), fail(errExpired).wait(time.Minute)}, nil
			}
			return []act{send(event(deltafifo.Deleted, "a", "u1", "8"), held, end("10"))}, nil
		}}
		g := newRig(t, s, Options[object]{})
		g.during(2*time.Minute, func() {
			wantLines(t, "pushed", g.sink.took(), "Replaced@6[Added a/u1@5]", "Replaced@10[Deleted a/u1@10?]")
		})
	})
}

func TestWhatCameBeforeTheEndIsNotTakenForTheFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onStream: func(n int, _ metav1.ListOptions) ([]act, error) {
			return []act{send(event(deltafifo.Added, "a", "u1", "101"), end([]string{"99", "103"}[min(n, 1)]))}, nil
		}}
		g := newRig(t, s, Options[object]{MinimumResourceVersion: "100"})
		g.during(time.Minute, func() {
			wantLines(t, "pushed", g.sink.took(), "Replaced@103[Added a/u1@101]")
		})
	})
}

func TestPartsOfWhatBelongsBehindTheEndAreNoOtherEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onStream: func(n int, _ metav1.ListOptions) ([]act, error) {
			if n == 0 {
				return []act{send(event(deltafifo.Added, "a", "u1", "5"), end("10")), fail(errExpired).wait(time.Minute)}, nil
			}
			return []act{
				send(event(deltafifo.Added, "a", "u1", "11"), event(deltafifo.Added, "b", "u2", "12"), event(deltafifo.Updated, "a", "u1", "21")),
				send(end("20")),
			}, nil
		}}
		g := newRig(t, s, Options[object]{RelistBudget: 1})
		g.during(2*time.Minute, func() {
			wantLines(t, "pushed", g.sink.took(), "Replaced@10[Added a/u1@5]", "Replaced@10[Updated a/u1@21 Added b/u2@12]", "Replaced@21[]")
			if st := g.Status(); st.Epoch != 0 || st.Streams != 2 || st.Mixed {
				t.Errorf("status: %+v", st)
			}
		})
	})
}
