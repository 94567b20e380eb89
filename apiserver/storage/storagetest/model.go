package storagetest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"

	"heliograph.example/apiserver/storage"
)

// model lets writers write at random while watchers with all kinds of selections
// read, drop their watches, resume, and begin again when they are too old. In
// the end, and whenever a watcher drops its watch at a version that it knows to
// be complete, the state it has put together must be that of an exact list.
func model(t *testing.T, f *fixture, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 7))
	colors := []string{"red", "blue", "green"}
	selections := []storage.Selection{
		{}, {Namespace: "a"}, {Name: "1"}, {Namespace: "b", Name: "2"}, byLabel("red"), byField("blue"), byShard("green"),
		{Namespace: "a", Labels: byLabel("blue").Labels},
	}
	var watching, writing sync.WaitGroup
	stop := make(chan struct{})
	for i := range 2 * len(selections) {
		m := &mirror{
			fixture: f, t: t, selection: selections[i%len(selections)],
			rnd: rand.New(rand.NewPCG(seed, uint64(100+i))), stop: stop,
		}
		watching.Go(m.run)
	}
	for i := range 3 {
		rnd := rand.New(rand.NewPCG(seed, uint64(200+i)))
		writing.Go(func() {
			for range 150 {
				k := fmt.Sprintf("%s/%d", []string{"a", "b"}[rnd.IntN(2)], rnd.IntN(5))
				f.writeAtRandom(k, colors[rnd.IntN(len(colors))], rnd)
				time.Sleep(upTo(rnd, 20*time.Millisecond))
			}
		})
	}
	for range 3 {
		time.Sleep(upTo(rnd, time.Second))
		f.forget()
	}
	writing.Wait()
	synctest.Wait()
	close(stop)
	watching.Wait()
}

// upTo returns a random duration below d.
func upTo(rnd *rand.Rand, d time.Duration) time.Duration { return time.Duration(rnd.Int64N(int64(d))) }

// writeAtRandom does something to one key, or to another resource.
func (f *fixture) writeAtRandom(k, color string, rnd *rand.Rand) {
	var err error
	switch rnd.IntN(6) {
	case 0, 1:
		_, err = f.Create(ctx(f.t), key(k), configMap(k, color))
	case 2, 3:
		_, err = f.Update(ctx(f.t), key(k), painted(color))
	case 4:
		_, err = f.Delete(ctx(f.t), key(k), nil)
	case 5:
		name := fmt.Sprintf("x/%s%d", color, rnd.Uint64())
		_, err = f.other.Create(ctx(f.t), key(name), configMap(name, color))
	}
	if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) {
		f.t.Errorf("write %s: %v", k, err)
	}
}

// mirror is a client that keeps the state of a selection by watching.
type mirror struct {
	*fixture
	t         *testing.T
	selection storage.Selection
	rnd       *rand.Rand
	stop      chan struct{}

	// state maps keys to versions. The mirror has been told everything up to
	// version; empty means that it must begin anew.
	state   map[string]string
	version string
}

func (m *mirror) run() {
	for {
		w := m.open()
		if w == nil {
			return
		}
		done := make(chan struct{})
		var stopping sync.WaitGroup
		life := upTo(m.rnd, 300*time.Millisecond)
		stopping.Go(func() {
			select {
			case <-time.After(life):
			case <-m.stop:
			case <-done:
			}
			w.Stop()
		})
		m.follow(w)
		close(done)
		stopping.Wait()
		m.compare()
		select {
		case <-m.stop:
			m.finish()
			return
		default:
		}
	}
}

// open begins with a list and a watch, or with initial events, or resumes.
func (m *mirror) open() storage.Watch {
	opts := storage.WatchOptions{Selection: m.selection, Bookmarks: true, ResourceVersion: m.version}
	if m.version == "" {
		m.state = map[string]string{}
		if m.rnd.IntN(2) == 0 {
			opts.SendInitialEvents = yes
		} else {
			m.begin()
			opts.ResourceVersion = m.version
		}
	}
	w, err := m.Watch(ctx(m.t), opts)
	if err != nil {
		m.t.Errorf("watch: %v", err)
		return nil
	}
	return w
}

// begin lists the state in pages.
func (m *mirror) begin() {
	opts := storage.ListOptions{Selection: m.selection, Limit: 2}
	for {
		l, err := m.List(ctx(m.t), opts)
		if apierrors.IsResourceExpired(err) {
			opts.Continue = ""
			clear(m.state)
			continue
		}
		if err != nil {
			m.t.Errorf("list: %v", err)
			return
		}
		for _, obj := range l.Items {
			cm := obj.(*corev1.ConfigMap)
			m.state[cm.Namespace+"/"+cm.Name] = cm.ResourceVersion
		}
		m.version = l.ResourceVersion
		if opts.Continue = l.Continue; opts.Continue == "" {
			return
		}
	}
}

// follow applies the events of a watch until it ends.
func (m *mirror) follow(w storage.Watch) {
	for {
		events, err := w.Next()
		for _, e := range events {
			m.apply(e)
		}
		switch {
		case err == nil:
			continue
		case apierrors.IsResourceExpired(err):
			m.version = ""
		case !errors.Is(err, io.EOF):
			m.t.Errorf("next: %v", err)
		}
		return
	}
}

func (m *mirror) apply(e storage.Event) {
	cm := e.Object.(*corev1.ConfigMap)
	k, version := cm.Namespace+"/"+cm.Name, cm.ResourceVersion
	// Before the bookmark that ends it, the state has no version yet.
	if m.version != "" {
		order, err := resourceversion.CompareResourceVersion(version, m.version)
		if err != nil || order <= 0 {
			m.t.Errorf("%s of %s at %s after %s: %v", e.Type, k, version, m.version, err)
		}
		m.version = version
	}
	_, known := m.state[k]
	switch e.Type {
	case watch.Bookmark:
		m.version = version
		return
	case watch.Added:
		if known {
			m.t.Errorf("%s was added twice", k)
		}
	case watch.Modified, watch.Deleted:
		if !known {
			m.t.Errorf("%s of %s, which was not there", e.Type, k)
		}
	}
	if e.Type == watch.Deleted {
		delete(m.state, k)
	} else {
		m.state[k] = version
	}
}

// compare checks the state against an exact list at its version.
func (m *mirror) compare() {
	if m.version == "" {
		return
	}
	l, err := m.List(ctx(m.t), storage.ListOptions{
		Selection: m.selection, ResourceVersion: m.version, Match: metav1.ResourceVersionMatchExact,
	})
	if apierrors.IsResourceExpired(err) {
		return
	}
	if err != nil {
		m.t.Errorf("exact list: %v", err)
		return
	}
	m.equal(l.Items)
}

// finish checks the last state against the newest, which it must have reached.
func (m *mirror) finish() {
	if m.version == "" {
		return
	}
	l, err := m.List(ctx(m.t), storage.ListOptions{Selection: m.selection})
	if err != nil {
		m.t.Errorf("last list: %v", err)
		return
	}
	m.equal(l.Items)
}

func (m *mirror) equal(items []runtime.Object) {
	got := make([]string, 0, len(m.state))
	for _, k := range slices.Sorted(maps.Keys(m.state)) {
		got = append(got, k+"@"+m.state[k])
	}
	if want := names(items); !slices.Equal(got, want) {
		m.t.Errorf("%+v at %s: the watcher has\n%v\nthe server\n%v", m.selection, m.version, got, want)
	}
}
