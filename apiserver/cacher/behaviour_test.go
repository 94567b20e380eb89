package cacher_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"heliograph.example/apiserver/cacher"
	"heliograph.example/apiserver/storage"
)

func TestBadOptionsAreRefused(t *testing.T) {
	if _, err := cacher.New(nil, cacher.Options{}); !errors.Is(err, cacher.ErrInvalidOptions) {
		t.Errorf("no store: %v", err)
	}
	store := newStore(t, storage.NewMemory())
	if _, err := cacher.New(store, cacher.Options{Window: -1}); !errors.Is(err, cacher.ErrInvalidOptions) {
		t.Errorf("a negative window: %v", err)
	}
	if _, err := cacher.New(store, cacher.Options{Backlog: -1}); !errors.Is(err, cacher.ErrInvalidOptions) {
		t.Errorf("a negative backlog: %v", err)
	}
}

func TestACacheRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, newStore(t, storage.NewMemory()), cacher.Options{})
		synctest.Wait()
		if err := c.Run(t.Context()); !errors.Is(err, cacher.ErrRunning) {
			t.Errorf("a second run: %v", err)
		}
	})
}

func TestAnIdleCacheCostsFewGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 50
		backend := storage.NewMemory()
		before := runtime.NumGoroutine()
		caches := make([]*cacher.Cacher, n)
		for i := range caches {
			caches[i] = open(t, newStore(t, backend), cacher.Options{})
		}
		synctest.Wait()
		if got := runtime.NumGoroutine() - before; got > n {
			t.Errorf("%d caches that nobody reads cost %d goroutines", n, got)
		}
		for _, c := range caches {
			if _, err := c.List(t.Context(), storage.ListOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if got := runtime.NumGoroutine() - before; got > 2*n {
			t.Errorf("%d idle caches cost %d goroutines", n, got)
		}
	})
}

func TestACacheThatDoesNotGetReadyAsksForPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		store := newStore(t, g)
		create(t, store, "a")
		g.set(true, false)
		c := open(t, store, cacher.Options{})
		start := time.Now()
		_, err := c.List(t.Context(), storage.ListOptions{})
		if seconds, ok := apierrors.SuggestsClientDelay(err); !apierrors.IsTooManyRequests(err) || !ok || seconds != 1 {
			t.Errorf("list: %v, retry after %d", err, seconds)
		}
		if waited := time.Since(start); waited != 3*time.Second {
			t.Errorf("it waited for %v", waited)
		}
		if _, err := c.Watch(t.Context(), storage.WatchOptions{}); !apierrors.IsTooManyRequests(err) {
			t.Errorf("watch: %v", err)
		}
		for _, version := range []string{"", "0", "2"} {
			if obj, err := c.Get(t.Context(), storage.ParseKey("ns/a"), version); err != nil {
				t.Errorf("get at %q: %v, %v", version, obj, err)
			}
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.List(short, storage.ListOptions{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a list with little time: %v", err)
		}
		// Once it can, it gets ready.
		g.set(false, false)
		time.Sleep(time.Minute)
		if l, err := c.List(t.Context(), storage.ListOptions{}); err != nil || len(l.Items) != 1 {
			t.Errorf("list in the end: %v, %v", l.Items, err)
		}
	})
}

func TestACacheThatLagsShowsNothingOldAsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		store := newStore(t, g)
		c := open(t, store, cacher.Options{})
		create(t, c, "a")
		if _, err := c.List(t.Context(), storage.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		g.set(false, true)
		b := create(t, c, "b")

		start := time.Now()
		if _, err := c.Get(t.Context(), storage.ParseKey("ns/b"), ""); err != nil || time.Since(start) > 0 {
			t.Errorf("a get of the newest state: %v after %v", err, time.Since(start))
		}
		if _, err := c.Get(t.Context(), storage.ParseKey("ns/b"), "0"); !apierrors.IsNotFound(err) {
			t.Errorf("a get of any state: %v", err)
		}
		if l, err := c.List(t.Context(), storage.ListOptions{ResourceVersion: "0"}); err != nil || len(l.Items) != 1 {
			t.Errorf("a list of any state: %v, %v", l.Items, err)
		}
		l, err := c.List(t.Context(), storage.ListOptions{})
		if err != nil || len(l.Items) != 2 || l.ResourceVersion != b.ResourceVersion {
			t.Errorf("a list of the newest state: %v at %s, %v", l.Items, l.ResourceVersion, err)
		}
		if waited := time.Since(start); waited != 3*time.Second {
			t.Errorf("it took the store after %v", waited)
		}
		wantLate := func(err error) {
			t.Helper()
			seconds, _ := apierrors.SuggestsClientDelay(err)
			if !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) || seconds != 1 {
				t.Errorf("error %v, retry after %d", err, seconds)
			}
		}
		_, err = c.Get(t.Context(), storage.ParseKey("ns/b"), b.ResourceVersion)
		wantLate(err)
		_, err = c.List(t.Context(), storage.ListOptions{ResourceVersion: b.ResourceVersion})
		wantLate(err)
		_, err = watchOf(t, c, storage.WatchOptions{}).Next()
		wantLate(err)

		exact, err := c.List(t.Context(), storage.ListOptions{ResourceVersion: b.ResourceVersion, Match: metav1.ResourceVersionMatchExact})
		if err != nil || len(exact.Items) != 2 {
			t.Errorf("an exact list of what only the store knows: %v, %v", exact.Items, err)
		}

		// A reader that waits is served when the cache has caught up.
		time.AfterFunc(time.Second, func() { g.set(false, false) })
		if l, err := c.List(t.Context(), storage.ListOptions{ResourceVersion: b.ResourceVersion}); err != nil || len(l.Items) != 2 {
			t.Errorf("a list while the cache catches up: %v, %v", l.Items, err)
		}
	})
}

func TestALostConnectionEndsNoWatcherAndAGapEndsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		store := newStore(t, g)
		c := open(t, store, cacher.Options{})
		a := create(t, c, "a")
		w := watchOf(t, c, storage.WatchOptions{})
		drain(t, w, 1)

		g.cut()
		label(t, c, "a", "1")
		if events := drain(t, w, 1); events[0].Object.(*corev1.ConfigMap).Labels["v"] != "1" {
			t.Errorf("after the connection was lost: %v", events)
		}

		// While the cache is cut off, its place is compacted away.
		g.set(true, false)
		g.cut()
		create(t, store, "b")
		last := label(t, store, "a", "2")
		now, _ := g.CurrentRevision(t.Context())
		if err := g.Compact(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		g.set(false, false)
		if events, err := w.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("after the gap: %v, %v", events, err)
		}
		if _, err := watchOf(t, c, storage.WatchOptions{ResourceVersion: a.ResourceVersion}).Next(); !apierrors.IsResourceExpired(err) {
			t.Errorf("a watch from before the gap: %v", err)
		}
		l, err := c.List(t.Context(), storage.ListOptions{})
		if err != nil || len(l.Items) != 2 || l.Items[0].(*corev1.ConfigMap).ResourceVersion != last.ResourceVersion {
			t.Errorf("the state after the gap: %v, %v", l.Items, err)
		}
		again := watchOf(t, c, storage.WatchOptions{ResourceVersion: l.ResourceVersion})
		label(t, c, "a", "3")
		drain(t, again, 1)
	})
}

func TestDroppedHistoryIsTooOldAndHarmsNoOneWhoHasReadIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, newStore(t, storage.NewMemory()), cacher.Options{})
		first := watchOf(t, c, storage.WatchOptions{})
		a := create(t, c, "a")
		drain(t, first, 1)
		behind := watchOf(t, c, storage.WatchOptions{ResourceVersion: a.ResourceVersion})
		b := label(t, c, "a", "1")
		drain(t, first, 1)

		c.DropHistory()
		_, err := watchOf(t, c, storage.WatchOptions{ResourceVersion: a.ResourceVersion}).Next()
		if want := fmt.Sprintf("too old resource version: %s (%s)", a.ResourceVersion, b.ResourceVersion); !apierrors.IsResourceExpired(err) || err.Error() != want {
			t.Errorf("a watch from what was dropped: %v, want %s", err, want)
		}
		if _, err := behind.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("a watcher that was behind: %v", err)
		}
		label(t, c, "a", "2")
		drain(t, first, 1)
		drain(t, watchOf(t, c, storage.WatchOptions{ResourceVersion: b.ResourceVersion}), 1)
	})
}

func TestABookmarkTellsTheLastVersionAgainUnlessTheWatchBeganWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, newStore(t, storage.NewMemory()), cacher.Options{})
		a := create(t, c, "a")
		w := watchOf(t, c, storage.WatchOptions{ResourceVersion: a.ResourceVersion, Bookmarks: true})
		start := time.Now()
		time.AfterFunc(5*time.Minute, func() { label(t, c, "a", "1") })
		told := drain(t, w, 3)
		if told[0].Type != watch.Modified || time.Since(start) < 5*time.Minute {
			t.Errorf("%s was told after %v though nothing had happened", told[0].Type, time.Since(start))
		}
		version := told[0].Object.(*corev1.ConfigMap).ResourceVersion
		for _, e := range told[1:] {
			if got := e.Object.(*corev1.ConfigMap).ResourceVersion; e.Type != watch.Bookmark || got != version {
				t.Errorf("%s at %s, want a bookmark at %s", e.Type, got, version)
			}
		}
	})
}

func TestAWatcherEndsOnlyWhenItFallsOffTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, newStore(t, storage.NewMemory()), cacher.Options{Window: 100})
		create(t, c, "a")
		slow := watchOf(t, c, storage.WatchOptions{ResourceVersion: "2"})
		patient := watchOf(t, c, storage.WatchOptions{ResourceVersion: "2"})
		write := func(n int) {
			for i := range n {
				label(t, c, "a", fmt.Sprint(time.Now().UnixNano(), i))
			}
			synctest.Wait()
		}
		// More than the minimum is kept while it is young.
		write(2000)
		if n := len(drain(t, patient, 2000)); n != 2000 {
			t.Errorf("%d events", n)
		}
		time.Sleep(2 * time.Minute)
		write(200)
		if _, err := slow.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("a watcher that has fallen off: %v", err)
		}
		if _, err := watchOf(t, c, storage.WatchOptions{ResourceVersion: "2"}).Next(); !apierrors.IsResourceExpired(err) {
			t.Errorf("a watch from what has left the window: %v", err)
		}
		drain(t, patient, 200)
		// The state that was is still to be had, from the store.
		l, err := c.List(t.Context(), storage.ListOptions{ResourceVersion: "3", Match: metav1.ResourceVersionMatchExact})
		if err != nil || l.ResourceVersion != "3" || len(l.Items) != 1 {
			t.Errorf("an exact list from before the window: %v, %v", l, err)
		}
	})
}
func TestAWatchMayBeginBeforeTheCacheDid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, newStore(t, storage.NewMemory()), cacher.Options{})
		a := create(t, c, "a")
		label(t, c, "a", "1")
		w := watchOf(t, c, storage.WatchOptions{ResourceVersion: a.ResourceVersion})
		label(t, c, "a", "2")
		if events := drain(t, w, 2); events[1].Object.(*corev1.ConfigMap).Labels["v"] != "2" {
			t.Errorf("told %v", events)
		}
	})
}

func TestTheEndOfTheCacheEndsItsWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := cacher.New(newStore(t, storage.NewMemory()), cacher.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := c.Run(ctx); err != nil {
				t.Errorf("run: %v", err)
			}
		})
		w := watchOf(t, c, storage.WatchOptions{SendInitialEvents: new(false)})
		create(t, c, "a")
		synctest.Wait()
		cancel()
		running.Wait()
		// What was there is still told.
		drain(t, w, 1)
		if _, err := w.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("the watch: %v", err)
		}
		if _, err := c.List(t.Context(), storage.ListOptions{}); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("a list: %v", err)
		}
		if _, err := c.Watch(t.Context(), storage.WatchOptions{}); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("a watch: %v", err)
		}
		if _, err := c.Get(t.Context(), storage.ParseKey("ns/a"), ""); err != nil {
			t.Errorf("a get of the newest state: %v", err)
		}
	})
}

func TestThousandsOfWatchersSurviveABurst(t *testing.T) {
	const writes = 200
	watchers := 5000
	if testing.Short() {
		watchers = 1000
	}
	c := open(t, newStore(t, storage.NewMemory()), cacher.Options{})
	var all sync.WaitGroup
	for range watchers {
		w := watchOf(t, c, storage.WatchOptions{})
		all.Go(func() {
			for seen := 0; seen < writes; {
				events, err := w.Next()
				if err != nil {
					t.Errorf("a watcher was ended after %d events: %v", seen, err)
					return
				}
				seen += len(events)
			}
		})
	}
	for i := range writes {
		create(t, c, fmt.Sprint(i))
	}
	all.Wait()
}
