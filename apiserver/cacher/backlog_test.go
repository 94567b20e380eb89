package cacher_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/labels"

	"heliograph.example/apiserver/cacher"
	"heliograph.example/apiserver/storage"
)

func TestAStrictCacheEndsWatchersWithTooMuchYetToBeTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, newStore(t, storage.NewMemory()), cacher.Options{Backlog: 20})
		create(t, c, "a")
		watch := func(sel storage.Selection) storage.Watch {
			return watchOf(t, c, storage.WatchOptions{ResourceVersion: "2", Selection: sel})
		}
		write := func(n int) {
			for i := range n {
				label(t, c, "a", fmt.Sprint(n, i))
			}
			synctest.Wait()
		}
		slow, good := watch(storage.Selection{}), watch(storage.Selection{})
		selective := watch(storage.Selection{Labels: labels.SelectorFromSet(labels.Set{"v": "none"})})
		elsewhere := watch(storage.Selection{Namespace: "elsewhere"})
		write(20)
		drain(t, good, 20)
		write(1)
		for name, w := range map[string]storage.Watch{"slow": slow, "selective": selective} {
			if events, err := w.Next(); !errors.Is(err, io.EOF) {
				t.Errorf("%s: %d events, %v, want the end", name, len(events), err)
			}
		}
		drain(t, good, 1)

		// A client that comes back can catch up, whatever it has missed.
		resumed := watch(storage.Selection{})
		write(20)
		drain(t, resumed, 41)
		write(21)
		if _, err := resumed.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("a watcher that has become slow: %v", err)
		}

		// What is not in its scope is never told to a watcher, so it does not
		// count.
		obj := create(t, c, "b").DeepCopy()
		obj.Namespace, obj.ResourceVersion = "elsewhere", ""
		if _, err := c.Create(t.Context(), storage.ParseKey("elsewhere/b"), obj); err != nil {
			t.Fatal(err)
		}
		drain(t, elsewhere, 1)
	})
}
