package informer_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"heliograph.example/apiserver/fault"
	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// shortWatches asks for watches of two seconds, in pages or streamed.
func shortWatches(streaming reflector.StreamingPolicy) informer.Options[*corev1.ConfigMap] {
	return informer.Options[*corev1.ConfigMap]{Reflector: reflector.Options[*corev1.ConfigMap]{
		WatchTimeout: 2 * time.Second, Streaming: streaming,
	}}
}

// from is the version that the last request of the informer began at.
func (s *stage) from() string {
	log := s.asked()
	query, err := url.ParseQuery(log[len(log)-1].Query)
	if err != nil {
		s.t.Fatal(err)
	}
	return query.Get("resourceVersion")
}

// reportsOfWatches are those of informers that had been synced, and then fell
// silent, behind, or upon the server.
var reportsOfWatches = []fieldReport{
	{
		number:  10,
		symptom: "The network loses everything without a word, and the watch is deaf for a quarter of an hour",
		options: shortWatches(reflector.StreamingAuto),
		faults:  []fault.Fault{{Verb: "watch", Times: 1, Cut: fault.CutBlackHole, AfterEvents: 5}},
		play: func(t *testing.T, s *stage) {
			s.synced()
			s.set("a", "2")
			s.set("b", "2") // is lost
			time.Sleep(3 * time.Second)
		},
		requests: "1 stream, 1 watch",
		pauses:   []span{exactly(2 * time.Second)},
		told:     []string{"Added a=1", "Added b=1", "Added c=1", "Updated a=2", "Updated b=2"},
	},
	{
		number:  10,
		symptom: "The same, where bookmarks had come each minute, and with the defaults but for the life of a watch",
		options: informer.Options[*corev1.ConfigMap]{Reflector: reflector.Options[*corev1.ConfigMap]{WatchTimeout: time.Hour}},
		// The state, its end and three bookmarks.
		faults: []fault.Fault{{Verb: "watch", Times: 1, Cut: fault.CutBlackHole, AfterEvents: 7}},
		play: func(t *testing.T, s *stage) {
			s.synced()
			s.secret("s")
			time.Sleep(3*time.Minute + 30*time.Second)
			s.set("a", "2") // is lost
			last := s.informer.Status().Reader.LastBookmark
			time.Sleep(3 * time.Minute)
			synctest.Wait()
			if st := s.informer.Status().Reader; st.Silences != 1 {
				t.Errorf("silences: %+v", st)
			}
			if log := s.asked(); log[len(log)-1].Time != last.Add(reflector.DefaultSilenceTimeout) {
				t.Errorf("the last bookmark came at %v, the new watch at %v", last, log[len(log)-1].Time)
			}
		},
		requests: "1 stream, 1 watch",
		told:     []string{"Added a=1", "Added b=1", "Added c=1", "Updated a=2"},
	},
	{
		number:  11,
		symptom: "A proxy keeps a watch alive whose server is gone, and the cache is stale for hours",
		options: shortWatches(reflector.StreamingNever),
		faults:  []fault.Fault{{Verb: "watch", Times: 1, Cut: fault.CutStall, AfterEvents: 1}},
		play: func(t *testing.T, s *stage) {
			s.synced()
			seen := s.set("a", "2")
			s.set("b", "2") // is lost
			time.Sleep(33 * time.Second)
			if from := s.from(); from != seen {
				t.Errorf("the second watch begins at %s, not at %s", from, seen)
			}
		},
		requests: "1 list, 2 watch",
		// Half a minute is left to the server to end what it should.
		pauses: []span{exactly(0), exactly(32 * time.Second)},
		told:   []string{"Added a=1", "Added b=1", "Added c=1", "Updated a=2", "Updated b=2"},
	},
	{
		number:  12,
		symptom: "Nothing tells that a cache is stale before its leases have run out",
		options: shortWatches(reflector.StreamingNever),
		faults:  []fault.Fault{{Verb: "watch", Times: 1, Cut: fault.CutStall}},
		play: func(t *testing.T, s *stage) {
			s.synced()
			time.Sleep(10 * time.Second)
			if age := s.informer.Status().Reader.Age(); age != 10*time.Second {
				t.Errorf("the last proof of life is %v old", age)
			}
			time.Sleep(22 * time.Second)
			synctest.Wait()
			if age := s.informer.Status().Reader.Age(); age != 0 {
				t.Errorf("after a new watch, the last proof of life is %v old", age)
			}
		},
		requests: "1 list, 2 watch",
		pauses:   []span{exactly(0), exactly(32 * time.Second)},
	},
	{
		number:  16,
		symptom: "Watches are throttled and lists are not, so each refused watch costs a list",
		faults:  []fault.Fault{noStreams, {Verb: "watch", Times: 6, Code: 429}},
		play: func(t *testing.T, s *stage) {
			time.Sleep(3 * time.Minute)
		},
		requests: "1 stream, 1 list, 7 watch",
		pauses:   []span{exactly(0), exactly(0), backoff(0), backoff(1), backoff(2), backoff(3), backoff(4), backoff(5)},
		told:     []string{"Added a=1", "Added b=1", "Added c=1"},
	},
	reportOfHiddenErrors(),
	{
		number:  21,
		symptom: "A watch of a deleted definition stays open in silence, and what is created anew is missed",
		options: shortWatches(reflector.StreamingNever),
		faults:  []fault.Fault{{Verb: "watch", Times: 1, Cut: fault.CutStall}},
		play: func(t *testing.T, s *stage) {
			s.synced()
			s.remove("a")
			s.set("a", "1")
			s.remove("b")
			s.compact()
			time.Sleep(33 * time.Second)
		},
		// The second watch has expired.
		requests: "1 list, 2 watch, 1 list, 1 watch",
		pauses:   []span{exactly(0), exactly(32 * time.Second), exactly(0), exactly(0)},
		told:     []string{"Added a=1", "Added b=1", "Added c=1", "Deleted a=1 unseen", "Added a=1", "Deleted b=1 unseen"},
	},
	{
		number:  31,
		symptom: "The version of a quiet resource is too old by the time that its watch ends",
		options: informer.Options[*corev1.ConfigMap]{Reflector: reflector.Options[*corev1.ConfigMap]{WatchTimeout: time.Hour}},
		play: func(t *testing.T, s *stage) {
			s.synced()
			last := ""
			for n := range 3 {
				last = s.secret(fmt.Sprint("s", n))
				time.Sleep(2 * time.Minute)
			}
			s.compact()
			s.DropWatches(configMapsResource)
			synctest.Wait()
			if from := s.from(); from != last {
				t.Errorf("the watch goes on from %s, not from the bookmark at %s", from, last)
			}
		},
		requests: "1 stream, 1 watch",
		told:     []string{"Added a=1", "Added b=1", "Added c=1"},
	},
	{
		number:  33,
		symptom: "What is deleted between the list and the watch is shown for a day",
		faults:  []fault.Fault{noStreams, {Verb: "watch", Times: 1, Delay: 5 * time.Second}},
		play: func(t *testing.T, s *stage) {
			s.synced()
			s.remove("a")
			time.Sleep(5 * time.Second)
		},
		requests: "1 stream, 1 list, 1 watch",
		told:     []string{"Added a=1", "Added b=1", "Added c=1", "Deleted a=1"},
	},
	{
		number:  34,
		symptom: "In tests, what is created between the list and the watch never arrives",
		objects: []string{},
		faults:  []fault.Fault{noStreams, {Verb: "watch", Times: 1, Delay: 5 * time.Second}},
		play: func(t *testing.T, s *stage) {
			s.synced()
			for n := range 500 {
				s.set(fmt.Sprint("m", n), "1")
			}
			time.Sleep(5 * time.Second)
			synctest.Wait()
			if n := len(s.log()); n != 500 {
				t.Errorf("told of %d changes, want 500", n)
			}
		},
		requests: "1 stream, 1 list, 1 watch",
	},
	{
		number:  35,
		symptom: "A reflector that is run again meets a server that is behind, and has nothing to read",
		before: func(t *testing.T, s *stage) {
			if err := s.Freeze(t.Context(), configMapsResource); err != nil {
				t.Fatal(err)
			}
			s.set("a", "2")
		},
		play: func(t *testing.T, s *stage) {
			s.synced()
			synctest.Wait() // the watch is open
			s.factory.Stop()
			s.factory.Start(t.Context())
			s.started = time.Now()
			s.syncedWithin(exactly(0))
			if n := s.informer.Store().Len(); n != 3 {
				t.Errorf("%d objects at once", n)
			}
			time.Sleep(10 * time.Second)
			if err := s.Thaw(); err != nil {
				t.Fatal(err)
			}
			s.set("b", "2")
			time.Sleep(time.Second)
		},
		requests: "3 stream, 1 list, 2 watch",
		told:     []string{"Added a=2", "Added b=1", "Added c=1", "Updated b=2"},
	},
	{
		number:  65,
		symptom: "A controller reads a cache that lacks its own last write, and does it again",
		faults:  []fault.Fault{{Verb: "watch", Pause: 500 * time.Millisecond}},
		play: func(t *testing.T, s *stage) {
			s.synced()
			written := s.set("a", "2")
			began := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			var late *informer.VersionError
			if err := s.informer.WaitForVersion(ctx, written); !errors.As(err, &late) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("before the event: %v", err)
			}
			if err := s.handler.WaitForVersion(t.Context(), written); err != nil {
				t.Error(err)
			}
			if d := time.Since(began); d != 500*time.Millisecond {
				t.Errorf("waited %v", d)
			}
			// A bookmark tells as much.
			other := s.secret("s")
			ctx, cancel = context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			if err := s.informer.WaitForVersion(ctx, other); err != nil {
				t.Error(err)
			}
		},
		requests: "1 stream",
		told:     []string{"Added a=1", "Added b=1", "Added c=1", "Updated a=2"},
	},
}

// reportOfHiddenErrors counts what the subscribers are told.
func reportOfHiddenErrors() fieldReport {
	// They count from the first transition on, which may come before play does.
	var failures, pauses atomic.Int64
	count := func(st reflector.Status) {
		if st.State == reflector.BackingOff {
			pauses.Add(1)
		}
		if st.State == reflector.BackingOff && st.Class == reflector.ClassExpired {
			failures.Add(1)
		}
	}
	return fieldReport{
		number:  19,
		symptom: "The errors within a watch are told to nobody, and a stale cache counts as synced",
		faults:  []fault.Fault{noStreams, {Verb: "watch", Cut: fault.CutError, Code: 410}},
		options: informer.Options[*corev1.ConfigMap]{Reflector: reflector.Options[*corev1.ConfigMap]{OnTransition: count}},
		before: func(*testing.T, *stage) {
			failures.Store(0)
			pauses.Store(0)
		},
		play: func(t *testing.T, s *stage) {
			time.Sleep(100 * time.Second)
			synctest.Wait()
			log := s.asked()
			watches := int64(len(log.Verb("watch")) - 1) // without the streaming list
			if watches < 5 || watches > 8 || failures.Load() != watches || pauses.Load() != watches {
				t.Errorf("%d watches, %d failures told, %d pauses", watches, failures.Load(), pauses.Load())
			}
			if st := s.informer.Status().Reader; st.State != reflector.BackingOff || st.Tries != int(watches)+1 || st.LastError == nil {
				t.Errorf("status: %+v", st)
			}
			s.Faults.Clear()
			time.Sleep(time.Minute)
		},
		pauses: []span{exactly(0), exactly(0), backoff(0), exactly(0), backoff(1), exactly(0), backoff(2), exactly(0), backoff(3)},
		told:   []string{"Added a=1", "Added b=1", "Added c=1"},
	}
}
