package cacher_test

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"heliograph.example/apiserver/cacher"
	"heliograph.example/apiserver/storage"
)

// isTooLarge reports whether an error is the 504 for a version not reached.
func isTooLarge(err error) bool {
	return apierrors.IsTimeout(err) && apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

func TestAFrozenCacheShowsWhatItHasUntilItThaws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, newStore(t, storage.NewMemory()), cacher.Options{})
		create(t, c, "a")
		if err := c.Freeze(t.Context()); err != nil {
			t.Fatal(err)
		}
		// A second freeze changes nothing.
		created := create(t, c, "b")
		if err := c.Freeze(t.Context()); err != nil {
			t.Fatal(err)
		}
		w := watchOf(t, c, storage.WatchOptions{ResourceVersion: "2"})
		time.Sleep(time.Hour)
		stale, err := c.List(t.Context(), storage.ListOptions{ResourceVersion: "0"})
		if err != nil || len(stale.Items) != 1 || stale.ResourceVersion != "2" {
			t.Errorf("any state: %+v, %v", stale, err)
		}
		start := time.Now()
		_, err = c.List(t.Context(), storage.ListOptions{ResourceVersion: created.ResourceVersion})
		if !isTooLarge(err) || time.Since(start) != 3*time.Second {
			t.Errorf("not older than what the writer saw: %v after %v", err, time.Since(start))
		}
		initial := true
		_, err = watchOf(t, c, storage.WatchOptions{SendInitialEvents: &initial}).Next()
		if !isTooLarge(err) {
			t.Errorf("a streaming list: %v", err)
		}
		if l, err := c.List(t.Context(), storage.ListOptions{}); err != nil || len(l.Items) != 2 {
			t.Errorf("the newest state, from the store: %+v, %v", l, err)
		}
		c.Thaw()
		c.Thaw()
		if e := drain(t, w, 1); e[0].Object.(metav1.Object).GetName() != "b" {
			t.Errorf("the watch tells %+v", e)
		}
		if l, err := c.List(t.Context(), storage.ListOptions{ResourceVersion: "0"}); err != nil || len(l.Items) != 2 {
			t.Errorf("any state after the thaw: %+v, %v", l, err)
		}
	})
}

func TestAFrozenCacheCanBeStoppedAndSuspended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, newStore(t, storage.NewMemory()), cacher.Options{})
		if err := c.Freeze(t.Context()); err != nil {
			t.Fatal(err)
		}
		create(t, c, "a")
		synctest.Wait()
		c.Suspend(false)
		c.Thaw()
		c.Resume()
		if l, err := c.List(t.Context(), storage.ListOptions{}); err != nil || len(l.Items) != 1 {
			t.Errorf("%+v, %v", l, err)
		}
		if err := c.Freeze(t.Context()); err != nil {
			t.Fatal(err)
		}
		create(t, c, "b")
		synctest.Wait()
		// The end of the test waits for the cache.
	})
}

func TestASuspendedCacheAsksForMoreAndMorePatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, newStore(t, storage.NewMemory()), cacher.Options{})
		create(t, c, "a")
		w := watchOf(t, c, storage.WatchOptions{ResourceVersion: "0"})
		drain(t, w, 1)
		c.Suspend(true)
		if _, err := w.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("the open watch: %v", err)
		}
		for _, want := range []struct {
			after   time.Duration
			seconds int
		}{{0, 1}, {20 * time.Second, 3}, {20 * time.Second, 11}, {20 * time.Second, 30}, {time.Hour, 30}} {
			time.Sleep(want.after)
			start := time.Now()
			_, err := c.List(t.Context(), storage.ListOptions{})
			if seconds, ok := apierrors.SuggestsClientDelay(err); !apierrors.IsTooManyRequests(err) || !ok || seconds != want.seconds {
				t.Errorf("list: %v, retry after %d, want %d", err, seconds, want.seconds)
			}
			if _, err := c.Watch(t.Context(), storage.WatchOptions{}); !apierrors.IsTooManyRequests(err) {
				t.Errorf("watch: %v", err)
			}
			if time.Since(start) != 0 {
				t.Errorf("refusing took %v", time.Since(start))
			}
		}
		if _, err := c.Get(t.Context(), storage.ParseKey("ns/a"), "0"); err != nil {
			t.Errorf("get: %v", err)
		}
		create(t, c, "b")
		page, err := c.List(t.Context(), storage.ListOptions{Limit: 1})
		if err != nil || len(page.Items) != 1 {
			t.Errorf("a page: %+v, %v", page, err)
		}
		if page, err = c.List(t.Context(), storage.ListOptions{Limit: 1, Continue: page.Continue}); err != nil || len(page.Items) != 1 {
			t.Errorf("the next page: %+v, %v", page, err)
		}
		selected := storage.Selection{Labels: labels.SelectorFromSet(labels.Set{"v": "0"})}
		if _, err := c.List(t.Context(), storage.ListOptions{Selection: selected, Limit: 1}); !apierrors.IsTooManyRequests(err) {
			t.Errorf("a page with a selector: %v", err)
		}
		c.Resume()
		if l, err := c.List(t.Context(), storage.ListOptions{}); err != nil || len(l.Items) != 2 {
			t.Errorf("once resumed: %+v, %v", l, err)
		}
	})
}

func TestACacheThatIsNotReadUntilResumedIsSuspendedFromTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, newStore(t, storage.NewMemory()), cacher.Options{})
		c.Suspend(false)
		start := time.Now()
		if _, err := c.List(t.Context(), storage.ListOptions{}); !apierrors.IsTooManyRequests(err) || time.Since(start) != 3*time.Second {
			t.Errorf("list: %v after %v", err, time.Since(start))
		}
		c.Resume()
		if _, err := c.List(t.Context(), storage.ListOptions{}); err != nil {
			t.Errorf("list: %v", err)
		}
	})
}

func TestACacheFollowsAStoreThatGoesBackInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := storage.NewMemory()
		c := open(t, newStore(t, memory), cacher.Options{})
		create(t, c, "a")
		snapshot := memory.Snapshot()
		create(t, c, "b")
		w := watchOf(t, c, storage.WatchOptions{ResourceVersion: "0"})
		drain(t, w, 2)
		c.Suspend(false)
		if err := memory.Restore(snapshot); err != nil {
			t.Fatal(err)
		}
		c.Resume()
		if _, err := w.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("the open watch: %v", err)
		}
		l, err := c.List(t.Context(), storage.ListOptions{ResourceVersion: "0"})
		if err != nil || len(l.Items) != 1 || l.ResourceVersion != "2" {
			t.Errorf("%+v, %v", l, err)
		}
		// A watch from a version that is no more waits for it to come again.
		lost := watchOf(t, c, storage.WatchOptions{ResourceVersion: "3"})
		create(t, c, "c")
		create(t, c, "d")
		if e := drain(t, lost, 1); e[0].Object.(metav1.Object).GetName() != "d" {
			t.Errorf("it tells %+v", e)
		}
	})
}
