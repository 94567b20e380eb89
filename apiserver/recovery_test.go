package apiserver_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/apiserver/fault"
	"heliograph.example/informer"
)

// mirror is what a handler has been told of, by name.
type mirror struct {
	mu sync.Mutex
	at map[string]string // resource versions
}

func (m *mirror) funcs() informer.Funcs[*corev1.ConfigMap] {
	set := func(c *corev1.ConfigMap) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.at[c.Name] = c.ResourceVersion
	}
	return informer.Funcs[*corev1.ConfigMap]{
		Added:   func(_ context.Context, c *corev1.ConfigMap, _ bool) { set(c) },
		Updated: func(_ context.Context, _, c *corev1.ConfigMap) { set(c) },
		Deleted: func(_ context.Context, c *corev1.ConfigMap) {
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.at, c.Name)
		},
	}
}

// change does one write of each kind.
func change(t *testing.T, s *apiservertest.Server, round int) {
	t.Helper()
	client := s.Client().CoreV1().ConfigMaps("a")
	create(t, s, fmt.Sprint("new", round))
	m, err := client.Get(t.Context(), "m0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.Data = map[string]string{"round": fmt.Sprint(round)}
	if _, err := client.Update(t.Context(), m, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	create(t, s, "short")
	if err := client.Delete(t.Context(), "short", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestOurInformerRecoversFromEachFault(t *testing.T) {
	const agent = "our-informer"
	struck := func(f fault.Fault) fault.Fault {
		f.Client = agent
		return f
	}
	for name, c := range map[string]struct {
		// faults strike the first requests of the informer.
		faults []fault.Fault
		// strike happens between two rounds of writes, heal after the second;
		// until then the informer need not follow.
		strike, heal func(t *testing.T, s *apiservertest.Server)
	}{
		"no streaming lists":               {faults: []fault.Fault{{Streaming: true, Code: http.StatusUnprocessableEntity}}},
		"a streaming list that never ends": {faults: []fault.Fault{{Streaming: true, NoInitialEnd: true}}},
		"a streaming list that stalls":     {faults: []fault.Fault{{Streaming: true, Cut: fault.CutStall, AfterEvents: 2}}},
		"a streaming list cut in a frame":  {faults: []fault.Fault{{Streaming: true, Times: 1, Cut: fault.CutFrame, AfterEvents: 1}}},
		"a streaming list that is slow":    {faults: []fault.Fault{{Streaming: true, Times: 1, Pause: 5 * time.Second}}},
		"a page cut in the middle": {faults: []fault.Fault{
			{Streaming: true, Times: 1, Code: http.StatusUnprocessableEntity}, {Verb: "list", Times: 2, Cut: fault.CutFrame}}},
		"a page into a black hole": {faults: []fault.Fault{
			{Streaming: true, Times: 1, Code: http.StatusUnprocessableEntity}, {Verb: "list", Times: 1, Cut: fault.CutBlackHole}}},
		"no bookmarks":                   {faults: []fault.Fault{{NoBookmarks: true}}},
		"a watch that ends at once":      {faults: []fault.Fault{{Verb: "watch", Times: 5, Cut: fault.CutEnd}}},
		"watches cut in a frame":         {faults: []fault.Fault{{Verb: "watch", Times: 3, Cut: fault.CutFrame, AfterEvents: 5}}},
		"a watch that stalls":            {faults: []fault.Fault{{Verb: "watch", Times: 1, Cut: fault.CutStall, AfterEvents: 5}}},
		"a watch into a black hole":      {faults: []fault.Fault{{Verb: "watch", Times: 1, Cut: fault.CutBlackHole, AfterEvents: 5}}},
		"slow watches":                   {faults: []fault.Fault{{Verb: "watch", Pause: time.Second}}},
		"a 410 in a watch":               {faults: []fault.Fault{{Verb: "watch", Times: 1, Cut: fault.CutError, Code: 410, AfterEvents: 5}}},
		"a 500 in a watch":               {faults: []fault.Fault{{Verb: "watch", Times: 1, Cut: fault.CutError, Code: 500, AfterEvents: 5}}},
		"overload":                       {faults: []fault.Fault{{Times: 3, Code: 429, RetryAfter: 2 * time.Second}, {Times: 3, Code: 429}}},
		"an outage":                      {faults: []fault.Fault{{Times: 4, Code: 503}, {Times: 2, Code: 500}}},
		"a user without rights at first": {faults: []fault.Fault{{Times: 3, Code: 403}}},
		"a resource that comes later":    {faults: []fault.Fault{{Times: 3, Code: 404}}},
		"an illegal replay":              {faults: []fault.Fault{{Verb: "watch", Illegal: fault.IllegalReplay, AfterEvents: 6}}},
		"illegally swapped events":       {faults: []fault.Fault{{Verb: "watch", Illegal: fault.IllegalSwap, AfterEvents: 4}}},
		"illegally swapped states":       {faults: []fault.Fault{{Verb: "watch", Illegal: fault.IllegalSwap, AfterEvents: 6}}},
		"dropped watches":                {strike: func(_ *testing.T, s *apiservertest.Server) { s.DropWatches(configMaps) }},
		"a compacted history": {strike: func(t *testing.T, s *apiservertest.Server) {
			s.DropWatches(configMaps)
			if err := s.Compact(t.Context()); err != nil {
				t.Error(err)
			}
		}},
		"a network that is away for a while": {
			strike: func(_ *testing.T, s *apiservertest.Server) {
				// The writers of this test need the network.
				time.AfterFunc(time.Second, func() { s.BlackHole(true) })
				time.AfterFunc(time.Hour, func() { s.BlackHole(false) })
			},
			heal: func(*testing.T, *apiservertest.Server) { time.Sleep(2 * time.Hour) },
		},
		"a stale replica": {
			strike: func(t *testing.T, s *apiservertest.Server) {
				if err := s.Freeze(t.Context(), configMaps); err != nil {
					t.Error(err)
				}
			},
			heal: func(t *testing.T, s *apiservertest.Server) {
				if err := s.Thaw(configMaps); err != nil {
					t.Error(err)
				}
			},
		},
		"a stale replica that misses a compaction": {
			strike: func(t *testing.T, s *apiservertest.Server) {
				if err := s.Freeze(t.Context()); err != nil {
					t.Error(err)
				}
			},
			heal: func(t *testing.T, s *apiservertest.Server) {
				if err := s.Compact(t.Context()); err != nil {
					t.Error(err)
				}
				if err := s.Thaw(); err != nil {
					t.Error(err)
				}
			},
		},
		"a cache that is not ready": {
			strike: func(t *testing.T, s *apiservertest.Server) {
				if err := s.Unready(configMaps); err != nil {
					t.Error(err)
				}
			},
			heal: func(t *testing.T, s *apiservertest.Server) {
				if err := s.Thaw(configMaps); err != nil {
					t.Error(err)
				}
			},
		},
		"a restored server whose versions are too old": {
			strike: func(t *testing.T, s *apiservertest.Server) {
				snapshot := s.Snapshot()
				for i := range 20 {
					create(t, s, fmt.Sprint("lost", i))
				}
				time.Sleep(time.Second)
				s.Break(struck(fault.Fault{Verb: "watch", Times: 1, Cut: fault.CutError, Code: 410}))
				if err := s.Restore(snapshot); err != nil {
					t.Error(err)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *apiservertest.Server) {
				for _, f := range c.faults {
					s.Break(struck(f))
				}
				config := s.Config()
				config.UserAgent = agent
				factory, err := informer.NewFactory(config, informer.FactoryOptions{})
				if err != nil {
					t.Fatal(err)
				}
				i, err := informer.For(t.Context(), factory, informer.Options[*corev1.ConfigMap]{})
				if err != nil {
					t.Fatal(err)
				}
				told := &mirror{at: map[string]string{}}
				if _, err := i.Handle(told.funcs(), informer.HandlerOptions[*corev1.ConfigMap]{}); err != nil {
					t.Fatal(err)
				}
				factory.Start(t.Context())
				defer factory.Stop()
				if err := factory.Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				change(t, s, 1)
				time.Sleep(time.Second)
				if c.strike != nil {
					c.strike(t, s)
				}
				change(t, s, 2)
				if c.heal != nil {
					time.Sleep(5 * time.Minute)
					c.heal(t, s)
				}
				// No watch lives longer than ten minutes and a half.
				time.Sleep(15 * time.Minute)
				expectMirrored(t, s, i, told)
				change(t, s, 3)
				time.Sleep(15 * time.Minute)
				expectMirrored(t, s, i, told)
				if left := s.Faults.Unstruck(); len(left) > 0 {
					t.Errorf("faults that have not struck: %+v", left)
				}
			})
		})
	}
}

// expectMirrored compares the store of an informer, and what its handler was
// told, with the server.
func expectMirrored(t *testing.T, s *apiservertest.Server, i *informer.Informer[*corev1.ConfigMap], told *mirror) {
	t.Helper()
	want := map[string]string{}
	l, err := s.Client().CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range l.Items {
		want[m.Name] = m.ResourceVersion
	}
	got := map[string]string{}
	for m := range i.Store().All() {
		got[m.Name] = m.ResourceVersion
	}
	if !maps.Equal(got, want) {
		t.Errorf("the store has %v, the server %v; %s", got, want, i.Status().Reader.Explain())
	}
	told.mu.Lock()
	defer told.mu.Unlock()
	if !maps.Equal(told.at, want) {
		t.Errorf("the handler was told of %v, the server has %v", told.at, want)
	}
}
