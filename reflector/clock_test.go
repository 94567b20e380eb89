package reflector

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/deltafifo"
)

// waited is a wait for a version in a goroutine of its own.
type waited struct {
	err  error
	at   time.Duration
	done bool
}

func (g *rig) waitFor(ctx context.Context, version string) *waited {
	w := &waited{}
	began := time.Now()
	go func() {
		w.err = g.WaitForVersion(ctx, version)
		w.at, w.done = time.Since(began), true
	}()
	return w
}

func TestAVersionIsReachedByAListAnEventOrABookmark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		poison := event(deltafifo.Updated, "a", "u1", "30")
		poison.Object, poison.Err = nil, errors.New("garbage")
		s := &script{onList: listed("10", obj("a", "u1", "5")), onWatch: always(
			send(event(deltafifo.Updated, "a", "u1", "20")).wait(time.Minute),
			send(poison).wait(time.Minute),
			send(bookmark("40")).wait(time.Minute),
			send(event(deltafifo.Deleted, "a", "u1", "50")).wait(time.Minute))}
		g := newRig(t, s, Options[object]{})
		var waits []*waited
		for _, version := range []string{"1", "10", "11", "20", "30", "33", "40", "50", "51"} {
			waits = append(waits, g.waitFor(t.Context(), version))
		}
		synctest.Wait()
		for _, w := range waits {
			if w.done {
				t.Errorf("a wait ended before the run: %v", w.err)
			}
		}
		g.during(270*time.Second, func() {
			var got []string
			for _, w := range waits {
				got = append(got, fmt.Sprint(w.at, w.done, w.err))
			}
			wantLines(t, "waits", got, "0s true <nil>", "0s true <nil>", "1m0s true <nil>", "1m0s true <nil>",
				"2m0s true <nil>", "3m0s true <nil>", "3m0s true <nil>", "4m0s true <nil>", "0s false <nil>")
		})
		last := waits[len(waits)-1]
		var explained *VersionError
		if !errors.Is(last.err, ErrRunEnded) || !errors.As(last.err, &explained) || explained.Version != "51" {
			t.Errorf("after the run: %v", last.err)
		}
		// What was reached stays reached, what was not will not be.
		if err := g.WaitForVersion(t.Context(), "50"); err != nil {
			t.Error(err)
		}
		if err := g.WaitForVersion(t.Context(), "51"); !errors.Is(err, ErrRunEnded) {
			t.Error(err)
		}
		wantLines(t, "requests", s.asked(), "STREAM()", "LIST()", "WATCH(10)")
	})
}

func TestAWaitForAVersionEndsWithItsContextAndExplains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onStream: refusing(errForbidden)}
		g := newRig(t, s, Options[object]{})
		g.during(time.Second, func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			began := time.Now()
			err := g.WaitForVersion(ctx, "50")
			if time.Since(began) != time.Minute || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errForbidden) {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
			if text := err.Error(); !strings.HasPrefix(text, "pods: forbidden: ") ||
				!strings.HasSuffix(text, `; version "50" not reached, but "": context deadline exceeded`) {
				t.Error(text)
			}
			cancel()
			if err := g.WaitForVersion(ctx, "50"); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
	})
}

func TestAVersionWithoutOrderIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, &script{onList: listed("ten")}, Options[object]{})
		early := g.waitFor(t.Context(), "5")
		g.during(time.Minute, func() {
			if !errors.Is(early.err, ErrIncomparable) {
				t.Errorf("before the list: %v", early.err)
			}
			if err := g.WaitForVersion(t.Context(), "5"); !errors.Is(err, ErrIncomparable) {
				t.Errorf("after the list: %v", err)
			}
			for _, version := range []string{"", "0", "x"} {
				if err := g.WaitForVersion(t.Context(), version); !errors.Is(err, ErrInvalid) {
					t.Errorf("%q: %v", version, err)
				}
			}
		})
	})
}

func TestAServerThatGoesBackInTimeFailsTheWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{onList: func(n int, _ metav1.ListOptions) ([]Item[object], Page, error) {
			if n == 0 {
				return nil, Page{Version: "100"}, nil
			}
			return nil, Page{Version: "50"}, nil
		}, onWatch: func(n int, _ metav1.ListOptions) ([]act, error) {
			if n == 0 {
				return []act{fail(errExpired).wait(time.Minute)}, nil
			}
			return []act{send(bookmark("60")).wait(4 * time.Minute)}, nil
		}}
		g := newRig(t, s, Options[object]{})
		g.during(time.Second, func() {
			old := g.waitFor(t.Context(), "101")
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			if !errors.Is(old.err, ErrEpoch) {
				t.Errorf("the wait from before: %v", old.err)
			}
			fresh := g.waitFor(t.Context(), "60")
			time.Sleep(time.Hour)
			synctest.Wait()
			if !fresh.done || fresh.err != nil {
				t.Errorf("the wait in the new epoch: %+v", fresh)
			}
		})
	})
}
