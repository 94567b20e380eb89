package storagetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"heliograph.example/apiserver/storage"
)

var watches = map[string]func(*testing.T, *fixture){
	"a watch from a version tells what came after it": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		from := f.version()
		f.create("ns/b", "red")
		f.paint("ns/a", "blue")
		w := f.watch(storage.WatchOptions{ResourceVersion: from})
		w.want("ADDED ns/b red@3", "MODIFIED ns/a blue@4")
		f.remove("ns/b")
		f.create("ns/b", "blue")
		w.want("DELETED ns/b red@5", "ADDED ns/b blue@6")
		w.wantNothing()
	},
	"a watch without a version begins with the state": func(t *testing.T, f *fixture) {
		f.create("ns/b", "red")
		f.create("ns/a", "red")
		f.bump()
		for _, opts := range []storage.WatchOptions{
			{}, {ResourceVersion: "0"}, {SendInitialEvents: yes}, {SendInitialEvents: yes, ResourceVersion: "2"},
		} {
			w := f.watch(opts)
			w.want("ADDED ns/a red@3", "ADDED ns/b red@2")
			w.wantNothing()
		}
		w := f.watch(storage.WatchOptions{Bookmarks: true})
		w.want("ADDED ns/a red@3", "ADDED ns/b red@2", "END@4")
		f.paint("ns/b", "blue")
		w.want("MODIFIED ns/b blue@5")
		w = f.watch(storage.WatchOptions{Bookmarks: true, Selection: byLabel("green")})
		w.want("END@5")
	},
	"a long initial state is told whole and in order": func(t *testing.T, f *fixture) {
		var want []string
		for i := range 500 {
			k := fmt.Sprintf("ns/%03d", i)
			f.create(k, "red")
			want = append(want, fmt.Sprintf("ADDED %s red@%d", k, i+2))
		}
		w := f.watch(storage.WatchOptions{Bookmarks: true})
		f.paint("ns/000", "blue")
		w.want(append(want, "END@501", "MODIFIED ns/000 blue@502")...)
	},
	"a watch without initial events and without a version begins now": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		for _, version := range []string{"", "0"} {
			synctest.Wait()
			w := f.watch(storage.WatchOptions{SendInitialEvents: no, ResourceVersion: version})
			w.wantNothing()
			e := f.paint("ns/a", "color"+version)
			w.want("MODIFIED ns/a color" + version + "@" + e.ResourceVersion)
		}
	},
	"a watch of the future is silent until then": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		w := f.watch(storage.WatchOptions{ResourceVersion: "4"})
		f.paint("ns/a", "blue")
		f.paint("ns/a", "green")
		f.paint("ns/a", "black")
		w.want("MODIFIED ns/a black@5")
	},
	"an initial state of the future is refused in the stream": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		w := f.watch(storage.WatchOptions{SendInitialEvents: yes, ResourceVersion: "1000"})
		wantTooLarge(t, w.end(), "1000", f.version())
	},
	"a version that is none is refused at once": func(t *testing.T, f *fixture) {
		_, err := f.Watch(ctx(t), storage.WatchOptions{ResourceVersion: "abc"})
		wantStatus(t, err, 500, "", `resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`)
	},
	"a version too old is refused in the stream": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		f.paint("ns/a", "blue")
		f.list(storage.ListOptions{})
		f.forget()
		w := f.watch(storage.WatchOptions{ResourceVersion: "2"})
		wantStatus(t, w.end(), 410, metav1.StatusReasonExpired, "too old resource version: 2 (3)")
		w = f.watch(storage.WatchOptions{ResourceVersion: "3"})
		f.paint("ns/a", "green")
		w.want("MODIFIED ns/a green@5")
	},
	"what comes under a selector is added and what leaves it deleted": func(t *testing.T, f *fixture) {
		for name, sel := range map[string]storage.Selection{"label": byLabel("red"), "field": byField("red"), "shard": byShard("red")} {
			k := "ns/" + name
			w := f.watch(storage.WatchOptions{ResourceVersion: f.version(), Selection: sel})
			v := func(cm metav1.Object) string { return "@" + cm.GetResourceVersion() }
			var want []string
			f.create(k, "blue")
			want = append(want, "ADDED "+k+" red"+v(f.paint(k, "red")))
			_, err := f.Update(ctx(t), key(k), annotated("x"))
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, "MODIFIED "+k+" red@"+f.version())
			// The content it had, at the version of what changed it.
			want = append(want, "DELETED "+k+" red"+v(f.paint(k, "green")))
			f.paint(k, "blue")
			want = append(want, "ADDED "+k+" red"+v(f.paint(k, "red")))
			want = append(want, "DELETED "+k+" red"+v(f.remove(k)))
			w.want(want...)
			w.wantNothing()
		}
	},
	"watchers with one selector are told the same of what leaves it": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		from := f.version()
		gone := f.paint("ns/a", "blue")
		for range 3 {
			w := f.watch(storage.WatchOptions{ResourceVersion: from, Selection: byLabel("red")})
			w.want("DELETED ns/a red@" + gone.ResourceVersion)
		}
		w := f.watch(storage.WatchOptions{ResourceVersion: from})
		w.want("MODIFIED ns/a blue@" + gone.ResourceVersion)
	},
	"a watch of a namespace or a name tells of nothing else": func(t *testing.T, f *fixture) {
		start := f.version()
		f.create("ns/a", "red")
		f.create("ns/ab", "red")
		f.create("ms/a", "red")
		f.remove("ns/ab")
		for _, c := range []struct {
			sel  storage.Selection
			want []string
		}{
			{storage.Selection{Namespace: "ns"}, []string{"ADDED ns/a red@2", "ADDED ns/ab red@3", "DELETED ns/ab red@5"}},
			{storage.Selection{Namespace: "ns", Name: "a"}, []string{"ADDED ns/a red@2"}},
			{storage.Selection{Name: "a"}, []string{"ADDED ns/a red@2", "ADDED ms/a red@4"}},
		} {
			w := f.watch(storage.WatchOptions{ResourceVersion: start, Selection: c.sel})
			w.want(c.want...)
			w.wantNothing()
		}
		w := f.watch(storage.WatchOptions{Selection: storage.Selection{Name: "a"}})
		w.want("ADDED ms/a red@4", "ADDED ns/a red@2")
	},
	"writes to other resources and equal ones are not told": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		w := f.watch(storage.WatchOptions{ResourceVersion: f.version()})
		f.bump()
		f.paint("ns/a", "red")
		w.wantNothing()
	},
	"bookmarks come about every minute while the version moves": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		w := f.watch(storage.WatchOptions{ResourceVersion: f.version(), Bookmarks: true})
		quiet := f.watch(storage.WatchOptions{ResourceVersion: f.version()})
		time.Sleep(5 * time.Minute)
		w.wantNothing()
		last := f.version()
		for range 3 {
			version := f.bump()
			w.wantNothing()
			time.Sleep(62 * time.Second)
			w.wantBookmark(last, version)
			last = version
		}
		w.wantNothing()
		quiet.wantNothing()
	},
	"a bookmark comes shortly before the deadline": func(t *testing.T, f *fixture) {
		f.create("ns/a", "red")
		short, cancel := context.WithTimeout(ctx(t), 30*time.Second)
		defer cancel()
		w, err := f.Watch(short, storage.WatchOptions{ResourceVersion: f.version(), Bookmarks: true})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		version := f.bump()
		events, err := w.Next()
		if err != nil || len(events) != 1 || told(events[0]) != "BOOKMARK@"+version {
			t.Fatalf("before the end: %v, %v", events, err)
		}
		if deadline, _ := short.Deadline(); time.Until(deadline) > 2*time.Second {
			t.Errorf("the bookmark came %v before the deadline", time.Until(deadline))
		}
		if _, err := w.Next(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the deadline: %v", err)
		}
	},
	"a watch ends by Stop and by its context": func(t *testing.T, f *fixture) {
		w, err := f.Watch(ctx(t), storage.WatchOptions{ResourceVersion: f.version(), Bookmarks: true})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(time.Second)
			w.Stop()
			w.Stop()
		}()
		for range 2 {
			if events, err := w.Next(); !errors.Is(err, io.EOF) || events != nil {
				t.Errorf("after Stop: %v, %v", events, err)
			}
		}
		inner, cancel := context.WithCancel(ctx(t))
		second, err := f.Watch(inner, storage.WatchOptions{ResourceVersion: f.version(), Bookmarks: true})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		if _, err := second.Next(); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of the context: %v", err)
		}
	},
	"an object without attributes ends only watches that select by them": func(t *testing.T, f *fixture) {
		from := f.version()
		f.create("ns/a", "none")
		w := f.watch(storage.WatchOptions{ResourceVersion: from})
		w.want("ADDED ns/a none@2")
		w = f.watch(storage.WatchOptions{ResourceVersion: from, Selection: byField("red")})
		if err := w.end(); !apierrors.IsInternalError(err) {
			t.Errorf("the watch ended with %v", err)
		}
	},
	"watchers survive writes without a pause": func(t *testing.T, f *fixture) {
		from := f.version()
		var all sync.WaitGroup
		for range 30 {
			w, err := f.Watch(ctx(t), storage.WatchOptions{ResourceVersion: from})
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				defer w.Stop()
				for seen := 0; seen < 200; {
					events, err := w.Next()
					if err != nil {
						t.Errorf("a watcher was ended after %d events: %v", seen, err)
						return
					}
					seen += len(events)
				}
			})
		}
		for i := range 200 {
			f.create(fmt.Sprintf("ns/%d", i), "red")
		}
		all.Wait()
	},
}

var (
	yes = new(true)
	no  = new(false)
)

// watcher collects what a watch tells until it ends.
type watcher struct {
	t *testing.T

	mu   sync.Mutex
	told []string
	err  error
}

func (f *fixture) watch(opts storage.WatchOptions) *watcher {
	f.t.Helper()
	watch, err := f.Watch(ctx(f.t), opts)
	if err != nil {
		f.t.Fatal(err)
	}
	w := &watcher{t: f.t}
	var reading sync.WaitGroup
	reading.Go(func() { w.read(watch) })
	f.t.Cleanup(func() {
		watch.Stop()
		reading.Wait()
	})
	return w
}

func (w *watcher) read(from storage.Watch) {
	for {
		events, err := from.Next()
		w.mu.Lock()
		for _, e := range events {
			w.told = append(w.told, told(e))
			if e.Type == watch.Bookmark && e.Encoded != nil {
				w.t.Error("a bookmark is one watcher's own")
			}
		}
		w.err = err
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// want checks that exactly these events are told, when everything has come to
// rest.
func (w *watcher) want(want ...string) {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		w.t.Fatalf("the watch has ended: %v", w.err)
	}
	if !slices.Equal(w.told, want) {
		w.t.Fatalf("told:\n%v\nwant:\n%v", w.told, want)
	}
	w.told = nil
}

// wantBookmark checks that a bookmark at version is told, when everything has come
// to rest. One more may precede it, at that version or the last: a minute may hold
// two, and where nothing newer is known the last is told again.
func (w *watcher) wantBookmark(last, version string) {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		w.t.Fatalf("the watch has ended: %v", w.err)
	}
	last, version = "BOOKMARK@"+last, "BOOKMARK@"+version
	for _, want := range [][]string{{version}, {last, version}, {version, version}} {
		if slices.Equal(w.told, want) {
			w.told = nil
			return
		}
	}
	w.t.Fatalf("told:\n%v\nwant %s, perhaps after it or %s", w.told, version, last)
}

// wantNothing checks that nothing is told, when everything has come to rest.
func (w *watcher) wantNothing() {
	w.t.Helper()
	w.want()
}

// end is the error that has ended the watch.
func (w *watcher) end() error {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.told) > 0 {
		w.t.Errorf("told before the end: %v", w.told)
	}
	return w.err
}
