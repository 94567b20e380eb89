package informer_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/apiserver"
	"heliograph.example/informer"
)

// afterAGap are the requests of an informer that met one gap.
const afterAGap = "1 stream, 2 watch, 1 stream"

// reportsOfRelists are those of what a list does that is read after a gap.
var reportsOfRelists = []fieldReport{
	{
		number:  13,
		symptom: "After a list, every handler is told an update of every object that has not changed",
		play: func(t *testing.T, s *stage) {
			s.synced()
			before, _ := s.informer.Store().Get(types.NamespacedName{Namespace: namespace, Name: "a"})
			s.gap(func() { s.set("c", "2") })
			if after, _ := s.informer.Store().Get(types.NamespacedName{Namespace: namespace, Name: "a"}); after != before {
				t.Error("an object that has not changed was replaced")
			}
			if report := s.informer.Status().Reader.LastList; report.Objects != 3 || report.Changes != 1 {
				t.Errorf("the list: %+v", report)
			}
		},
		requests: afterAGap,
		told:     []string{"Added a=1", "Added b=1", "Added c=1", "Updated c=2"},
	},
	{
		number:  32,
		symptom: "What changed during a gap is hidden from handlers without a resync",
		play: func(t *testing.T, s *stage) {
			s.synced()
			s.gap(func() { s.set("a", "2"); s.set("a", "3") })
		},
		requests: afterAGap,
		told:     []string{"Added a=1", "Added b=1", "Added c=1", "Updated a=3"},
	},
	{
		number:  36,
		symptom: "An object that is still queued when a list lacks it is stored after that, for ever",
		play: func(t *testing.T, s *stage) {
			s.synced()
			s.hold()
			s.set("a", "2")
			s.set("o", "1")
			time.Sleep(time.Second)
			s.gap(func() { s.remove("o") })
			s.release()
		},
		requests: afterAGap,
		told:     []string{"Added a=1", "Added b=1", "Added c=1", "Updated a=2", "Added o=1", "Deleted o=1 unseen"},
	},
	{
		number:  38,
		symptom: "An object that was replaced by another of its name is told as an update",
		play: func(t *testing.T, s *stage) {
			s.synced()
			s.gap(func() { s.remove("a"); s.set("a", "1"); s.set("a", "2") })
		},
		requests: afterAGap,
		told:     []string{"Added a=1", "Added b=1", "Added c=1", "Deleted a=1 unseen", "Added a=2"},
	},
	{
		number:  41,
		symptom: "A delete that was missed is told with another type, and the handler panics",
		play: func(t *testing.T, s *stage) {
			var last *corev1.ConfigMap
			_, err := s.informer.Handle(informer.Funcs[*corev1.ConfigMap]{
				Deleted: func(_ context.Context, m *corev1.ConfigMap) { last = m },
			}, informer.HandlerOptions[*corev1.ConfigMap]{})
			if err != nil {
				t.Fatal(err)
			}
			s.synced()
			s.gap(func() { s.remove("b") })
			if last == nil || last.Name != "b" || last.Data["v"] != "1" {
				t.Errorf("the last state told is %v", last)
			}
		},
		requests: afterAGap,
		told:     []string{"Added a=1", "Added b=1", "Added c=1", "Deleted b=1 unseen"},
	},
}

// reportsOfHandlers are those of handlers that are slow, and of what they are told
// meanwhile.
var reportsOfHandlers = []fieldReport{
	{
		number:  39,
		symptom: "A resync tells of an object again whose end is queued already",
		handler: informer.HandlerOptions[*corev1.ConfigMap]{Resync: 10 * time.Second},
		play: func(t *testing.T, s *stage) {
			s.synced()
			s.hold()
			s.set("b", "2") // is where the handler is held
			time.Sleep(time.Second)
			s.remove("a")
			time.Sleep(20 * time.Second)
			n := len(s.log())
			s.release()
			time.Sleep(20 * time.Second)
			told := s.since(n)
			end := slices.Index(told, "Deleted a=1")
			if end < 0 || slices.ContainsFunc(told[end+1:], func(s string) bool { return s == "Updated a=1 resync" || s == "Added a=1" }) {
				t.Errorf("told %q", told)
			}
			if !slices.Contains(told, "Updated c=1 resync") {
				t.Errorf("no resync: %q", told)
			}
		},
		requests: "1 stream",
	},
	{
		number:  44,
		symptom: "A slow handler blocks the reader, and the server ends a watch that is not read",
		server:  apiserver.Options{WatchBacklog: 10},
		play: func(t *testing.T, s *stage) {
			s.synced()
			s.hold()
			const events = 300
			for n := range events {
				s.set("a", strconv.Itoa(n+2))
				time.Sleep(10 * time.Millisecond)
			}
			st := s.informer.Status()
			if st.Handlers[0].Pending != events || st.Queue.Length != 0 || st.Version == "" {
				t.Errorf("status: %+v", st)
			}
			if m, _ := s.informer.Store().Get(types.NamespacedName{Namespace: namespace, Name: "a"}); m.Data["v"] != strconv.Itoa(events+1) {
				t.Errorf("the store waits for the handler: %v", m.Data)
			}
			s.release()
		},
		requests: "1 stream",
	},
}
