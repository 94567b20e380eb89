package cacher_test

import (
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"heliograph.example/apiserver/cacher"
	"heliograph.example/apiserver/storage"
)

func TestAnEventIsEncodedOnceForAllItsWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, newStore(t, storage.NewMemory()), cacher.Options{})
		create(t, c, "a")
		sel := storage.Selection{Labels: labels.SelectorFromSet(labels.Set{"v": "0"})}
		watches := []storage.Watch{
			watchOf(t, c, storage.WatchOptions{}), watchOf(t, c, storage.WatchOptions{}),
			watchOf(t, c, storage.WatchOptions{Selection: sel}), watchOf(t, c, storage.WatchOptions{Selection: sel}),
		}
		calls := 0
		encode := func(e storage.Event) string {
			b, err := e.Encoded.Get(string(e.Type), func() ([]byte, error) {
				calls++
				cm := e.Object.(*corev1.ConfigMap)
				return []byte(cm.Labels["v"] + "@" + cm.ResourceVersion), nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return string(e.Type) + " " + string(b)
		}
		step := func(wantCalls int, want ...string) {
			t.Helper()
			calls = 0
			for i, w := range watches {
				if got := encode(drain(t, w, 1)[0]); got != want[i] {
					t.Errorf("watcher %d got %s, want %s", i, got, want[i])
				}
			}
			if calls != wantCalls {
				t.Errorf("encoded %d times, want %d", calls, wantCalls)
			}
		}
		// The cache was not there when the object was created.
		step(4, "ADDED 0@2", "ADDED 0@2", "ADDED 0@2", "ADDED 0@2")
		label(t, c, "a", "1")
		step(2, "MODIFIED 1@3", "MODIFIED 1@3", "DELETED 0@3", "DELETED 0@3")
		label(t, c, "a", "0")
		step(2, "MODIFIED 0@4", "MODIFIED 0@4", "ADDED 0@4", "ADDED 0@4")
		if _, err := c.Delete(t.Context(), storage.ParseKey("ns/a"), nil); err != nil {
			t.Fatal(err)
		}
		step(1, "DELETED 0@5", "DELETED 0@5", "DELETED 0@5", "DELETED 0@5")
	})
}

func TestEncodingsGoWithTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := open(t, newStore(t, storage.NewMemory()), cacher.Options{})
		changes := watchOf(t, c, storage.WatchOptions{})
		calls := 0
		encode := func(w storage.Watch) {
			e := drain(t, w, 1)[0]
			if _, err := e.Encoded.Get("form", func() ([]byte, error) { calls++; return []byte("x"), nil }); err != nil {
				t.Fatal(err)
			}
		}
		create(t, c, "a")
		encode(changes)
		encode(watchOf(t, c, storage.WatchOptions{}))
		if calls != 1 {
			t.Errorf("what the window holds was encoded %d times, want once", calls)
		}
		c.DropHistory()
		for range 2 {
			encode(watchOf(t, c, storage.WatchOptions{}))
		}
		if calls != 3 {
			t.Errorf("what the window does not hold was encoded %d times, want once for each of 2 watches", calls-1)
		}
	})
}
