package informer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"heliograph.example/deltafifo"
)

// at returns the version that the server has come to.
func (w *world) at() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strconv.Itoa(w.version)
}

func TestAVersionIsReachedWhenTheStoreHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("a", "1")
		i := stopped(t, w, Options[*corev1.ConfigMap]{})
		early := make(chan error, 1)
		go func() { early <- i.WaitForVersion(t.Context(), "1") }()
		synctest.Wait()
		stop := run(t, i)
		if err := <-early; err != nil {
			t.Error(err)
		}
		for n := range 100 {
			w.set("a", fmt.Sprint(n))
			if err := i.WaitForVersion(t.Context(), w.at()); err != nil {
				t.Fatal(err)
			}
			if m, ok := i.Store().Get(key("a")); !ok || m.Data["v"] != fmt.Sprint(n) {
				t.Fatalf("write %d is waited for, the store has %v", n, m)
			}
		}
		before := w.lists + w.opened
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := i.WaitForVersion(ctx, "5000")
		var explained *VersionError
		if !errors.As(err, &explained) || !errors.Is(err, context.DeadlineExceeded) || explained.Waiting != "store" ||
			!strings.HasPrefix(err.Error(), "configmaps: watching: ") ||
			!strings.HasSuffix(err.Error(), `; the store is at version "101"; store not at version "5000": context deadline exceeded`) {
			t.Error(err)
		}
		if w.lists+w.opened != before {
			t.Error("the wait asked the server")
		}
		time.AfterFunc(time.Second, stop)
		if err := i.WaitForVersion(t.Context(), "5000"); !errors.Is(err, ErrStopped) {
			t.Error(err)
		}
		if err := i.WaitForVersion(t.Context(), "101"); err != nil {
			t.Errorf("a version that was reached: %v", err)
		}
	})
}

func TestAHandlerHasComeToAVersionWhenItHasReturned(t *testing.T) {
	for _, test := range []struct {
		name   string
		budget int
	}{{"change by change", 0}, {"folded", 1}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.set("m0", "")
				i := running(t, w, Options[*corev1.ConfigMap]{})
				told := map[string]string{}
				slow := handle(t, i, HandlerFunc[*corev1.ConfigMap](func(_ context.Context, c Change[*corev1.ConfigMap]) {
					time.Sleep(time.Second)
					told[c.Key.Name] = c.Version
				}), HandlerOptions[*corev1.ConfigMap]{Budget: test.budget})
				for n := range 300 {
					w.set(fmt.Sprint("m", n%3), fmt.Sprint(n))
				}
				want := w.at()
				// Later changes come all the time and do not put the end off.
				busy := time.NewTicker(500 * time.Millisecond)
				defer busy.Stop()
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					for n := 0; ctx.Err() == nil; n++ {
						select {
						case <-busy.C:
							w.set(fmt.Sprint("m", n%3), fmt.Sprint("later ", n))
						case <-ctx.Done():
						}
					}
				}()
				began := time.Now()
				if err := slow.WaitForVersion(t.Context(), want); err != nil {
					t.Error(err)
				}
				took := time.Since(began)
				cancel()
				slow.Remove()
				<-slow.Done() // it tells of one more at most
				if len(told) != 3 {
					t.Errorf("told %v", told)
				}
				for name, version := range told {
					if n, _ := strconv.Atoi(version); n < 298 {
						t.Errorf("%s was told at version %s, the wait was for %s", name, version, want)
					}
				}
				if most := 301 * time.Second; took > most {
					t.Errorf("the wait took %v", took)
				}
			})
		})
	}
}

func TestTheRemovalOfAHandlerEndsItsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("a", "1")
		i := running(t, w, Options[*corev1.ConfigMap]{})
		reg := handle(t, i, HandlerFunc[*corev1.ConfigMap](func(ctx context.Context, _ Change[*corev1.ConfigMap]) { <-ctx.Done() }),
			HandlerOptions[*corev1.ConfigMap]{Name: "stuck"})
		time.AfterFunc(time.Second, reg.Remove)
		err := reg.WaitForVersion(t.Context(), "1")
		if !errors.Is(err, ErrRemoved) || !strings.Contains(err.Error(), `handler stuck not at version "1"`) {
			t.Error(err)
		}
	})
}

func TestManyVersionsAreWaitedForWithoutAGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.set("a", "")
		i := running(t, w, Options[*corev1.ConfigMap]{})
		synctest.Wait()
		var told []string
		for _, version := range []string{"3", "1", "2", "4", "5"} {
			if _, err := i.OnVersion(version, func(err error) { told = append(told, fmt.Sprint(version, err)) }); err != nil {
				t.Fatal(err)
			}
		}
		forgotten, err := i.OnVersion("2", func(error) { t.Error("told after its end") })
		if err != nil || !forgotten() || forgotten() {
			t.Errorf("not forgotten once: %v", err)
		}
		for range 3 {
			w.set("a", "")
			synctest.Wait()
		}
		if fmt.Sprint(told) != "[1<nil> 2<nil> 3<nil> 4<nil>]" {
			t.Errorf("told %v", told)
		}
		if _, err := i.OnVersion("x", func(error) {}); !errors.Is(err, ErrInvalid) {
			t.Error(err)
		}
		if _, err := i.OnVersion("1", nil); !errors.Is(err, ErrInvalid) {
			t.Error(err)
		}
	})
}

func TestAListThatGoesBackFailsTheWaitsOfTheStore(t *testing.T) {
	i := stopped(t, newWorld(), Options[*corev1.ConfigMap]{})
	i.apply([]delta{replaced(100)})
	var told []error
	if _, err := i.OnVersion("101", func(err error) { told = append(told, err) }); err != nil {
		t.Fatal(err)
	}
	// In one batch the store goes back and past the version waited for.
	i.apply([]delta{replaced(50), {Type: deltafifo.Bookmark, Version: "200"}})
	if len(told) != 1 || !errors.Is(told[0], ErrEpoch) {
		t.Errorf("told %v", told)
	}
	if err := i.WaitForVersion(t.Context(), "200"); err != nil {
		t.Error(err)
	}
}
