package cacher

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/apiserver/storage"
	"heliograph.example/apiserver/storage/storagetest"
	"heliograph.example/deltafifo"
	"heliograph.example/reflector"
)

// idle makes a cache that nobody feeds but the test.
func idle(t *testing.T) *Cacher {
	t.Helper()
	store, err := storage.NewStore(storage.NewMemory(), storagetest.Options())
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(store, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func delta(typ deltafifo.Type, name, version string) deltafifo.Delta[runtime.Object] {
	return deltafifo.Delta[runtime.Object]{
		Type: typ, Key: types.NamespacedName{Namespace: "ns", Name: name}, UID: types.UID(name), Version: version,
		Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: version}},
	}
}

func replaced(version string, items ...deltafifo.Delta[runtime.Object]) deltafifo.Delta[runtime.Object] {
	return deltafifo.Delta[runtime.Object]{Type: deltafifo.Replaced, Version: version, Items: items}
}

func push(t *testing.T, c *Cacher, deltas ...deltafifo.Delta[runtime.Object]) {
	t.Helper()
	if err := (sink{c}).Push(deltas); err != nil {
		t.Fatal(err)
	}
}

// state lists what is cached.
func state(c *Cacher) []string {
	var out []string
	for key, e := range c.window.Now().Prefix("", "") {
		out = append(out, key+"@"+e.version)
	}
	return out
}

func TestPushRefusesWhatItCannotUnderstand(t *testing.T) {
	c := idle(t)
	push(t, c, replaced("5"))
	headless := delta(deltafifo.Added, "a", "6")
	headless.Object = nil
	for name, d := range map[string]deltafifo.Delta[runtime.Object]{
		"no version":           delta(deltafifo.Added, "a", ""),
		"no number":            delta(deltafifo.Added, "a", "x"),
		"no object":            headless,
		"no known type":        delta(deltafifo.Type(99), "a", "6"),
		"no object in a list":  replaced("6", headless),
		"no version of a list": replaced(""),
	} {
		if err := (sink{c}).Push([]deltafifo.Delta[runtime.Object]{d}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if got := state(c); len(got) != 0 {
		t.Errorf("the cache holds %v", got)
	}
}

func TestKnownIsWhatWasPushed(t *testing.T) {
	c := idle(t)
	push(t, c, replaced("5", delta(deltafifo.Added, "a", "3"), delta(deltafifo.Added, "b", "4")),
		delta(deltafifo.Updated, "a", "6"), delta(deltafifo.Deleted, "b", "7"), delta(deltafifo.Added, "c", "8"))
	k, err := (sink{c}).Known(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	uid, version, ok := k.Lookup(types.NamespacedName{Namespace: "ns", Name: "a"})
	if uid != "a" || version != "6" || !ok {
		t.Errorf("a: %s, %s, %v", uid, version, ok)
	}
	if _, _, ok := k.Lookup(types.NamespacedName{Namespace: "ns", Name: "b"}); ok {
		t.Error("b was deleted")
	}
	var keys []string
	for key := range k.Keys() {
		keys = append(keys, key.Name)
	}
	if k.Len() != 2 || !slices.Equal(keys, []string{"a", "c"}) {
		t.Errorf("%d keys: %v", k.Len(), keys)
	}
}

func TestAReplayedChangeDoesNotTakeTheCacheBack(t *testing.T) {
	c := idle(t)
	push(t, c, replaced("5", delta(deltafifo.Added, "a", "3")), delta(deltafifo.Updated, "a", "6"))
	next := c.window.Next()
	push(t, c, delta(deltafifo.Updated, "a", "6"), delta(deltafifo.Deleted, "a", "4"), delta(deltafifo.Deleted, "none", "7"))
	if got := state(c); !slices.Equal(got, []string{"ns/a@6"}) || c.window.Next() != next {
		t.Errorf("the cache holds %v after %d changes", got, c.window.Next()-next)
	}
	if c.window.Revision() != 7 {
		t.Errorf("version %d", c.window.Revision())
	}
}

func TestAListEndsWatchersUnlessNothingCanHaveBeenMissed(t *testing.T) {
	for name, tc := range map[string]struct {
		list deltafifo.Delta[runtime.Object]
		ends bool
		want []string
	}{
		"the same state": {replaced("6"), false, []string{"ns/a@3", "ns/b@4"}},
		"the same version with news": {
			replaced("6", delta(deltafifo.Added, "c", "2")), true, []string{"ns/a@3", "ns/b@4", "ns/c@2"},
		},
		"a later state, none moved": {replaced("9"), true, []string{"ns/a@3", "ns/b@4"}},
		"a later state": {
			replaced("9", delta(deltafifo.Deleted, "a", "9"), delta(deltafifo.Updated, "b", "8"), delta(deltafifo.Added, "c", "7")),
			true, []string{"ns/b@8", "ns/c@7"},
		},
		"an earlier state, as after a restore": {
			replaced("2", delta(deltafifo.Deleted, "b", "2"), delta(deltafifo.Updated, "a", "1")), true, []string{"ns/a@1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := idle(t)
				push(t, c, replaced("5", delta(deltafifo.Added, "a", "3"), delta(deltafifo.Added, "b", "4")),
					deltafifo.Delta[runtime.Object]{Type: deltafifo.Bookmark, Version: "6"})
				w, err := c.Watch(t.Context(), storage.WatchOptions{ResourceVersion: "6"})
				if err != nil {
					t.Fatal(err)
				}
				push(t, c, tc.list)
				if got := state(c); !slices.Equal(got, tc.want) {
					t.Errorf("the cache holds %v, want %v", got, tc.want)
				}
				time.AfterFunc(time.Second, w.Stop)
				start := time.Now()
				if _, err := w.Next(); !errors.Is(err, io.EOF) {
					t.Errorf("the watch: %v", err)
				}
				if ended := time.Since(start) == 0; ended != tc.ends {
					t.Errorf("the watcher was ended by the list: %v, want %v", ended, tc.ends)
				}
			})
		})
	}
}

func TestFromNowOnIsNeverTooOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := idle(t)
		// The cache has forgotten more than the store's version was when the
		// watch asked for it.
		push(t, c, replaced("100"))
		w, err := c.Watch(t.Context(), storage.WatchOptions{SendInitialEvents: new(false)})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, w.Stop)
		push(t, c, delta(deltafifo.Added, "a", "101"))
		if events, err := w.Next(); err != nil || len(events) != 1 {
			t.Errorf("told %v, %v", events, err)
		}
	})
}

func TestTheSourceReadsTheStoreAsAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := idle(t).store
		for _, name := range []string{"a", "b", "c"} {
			obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("u" + name)}}
			if _, err := store.Create(t.Context(), types.NamespacedName{Namespace: "ns", Name: name}, obj); err != nil {
				t.Fatal(err)
			}
		}
		src := source{store}
		var got []string
		page, err := src.List(t.Context(), metav1.ListOptions{Limit: 2}, func(it reflector.Item[runtime.Object]) error {
			got = append(got, it.Key.Name+string(it.UID)+it.Version)
			return nil
		})
		if err != nil || !slices.Equal(got, []string{"aua2", "bub3"}) || page.Version != "4" || page.Continue == "" || *page.Remaining != 1 {
			t.Errorf("page %+v of %v, %v", page, got, err)
		}
		enough := errors.New("enough")
		_, err = src.List(t.Context(), metav1.ListOptions{}, func(reflector.Item[runtime.Object]) error { return enough })
		if !errors.Is(err, enough) {
			t.Errorf("the error of each was lost: %v", err)
		}

		seconds := int64(30)
		s, err := src.Watch(t.Context(), metav1.ListOptions{
			SendInitialEvents: new(true), AllowWatchBookmarks: true, TimeoutSeconds: &seconds,
			ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Stop()
		start := time.Now()
		var events []reflector.Event[runtime.Object]
		for {
			more, err := s.Next()
			if err != nil {
				if !errors.Is(err, io.EOF) || time.Since(start) != 30*time.Second {
					t.Errorf("after %v: %v", time.Since(start), err)
				}
				break
			}
			events = append(events, more...)
		}
		if len(events) != 4 || events[0].Type != deltafifo.Added || !events[3].InitialEventsEnd || events[3].Type != deltafifo.Bookmark || events[3].Version != "4" {
			t.Errorf("events %+v", events)
		}
		ctx, cancel := context.WithCancel(t.Context())
		s, err = src.Watch(ctx, metav1.ListOptions{ResourceVersion: "4", TimeoutSeconds: &seconds})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if _, err := s.Next(); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of the context: %v", err)
		}
		s.Stop()
	})
}
