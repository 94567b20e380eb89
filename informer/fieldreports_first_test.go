package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"heliograph.example/apiserver/fault"
	"heliograph.example/informer"
	"heliograph.example/reflector"
)

// noStreams plays a server without streaming lists.
var noStreams = fault.Fault{Streaming: true, Code: 422}

// reportsOfTheFirstState are those of informers that were never synced, too late,
// or with something old.
var reportsOfTheFirstState = []fieldReport{
	{
		number:  1,
		symptom: "A streaming list ends without its bookmark, and is asked for hundreds of thousands of times a second",
		faults:  []fault.Fault{{Streaming: true, Cut: fault.CutEnd, AfterEvents: 1}},
		play: func(t *testing.T, s *stage) {
			s.syncedWithin(span{0, 2 * time.Second})
			// What did not work is remembered.
			s.gap(func() { s.set("c", "2") })
		},
		requests: "3 stream, 1 list, 3 watch, 1 list, 1 watch",
		pauses:   []span{quarter(backoff(0)), quarter(backoff(1)), exactly(0), exactly(0)},
		told:     []string{"Added a=1", "Added b=1", "Added c=1", "Updated c=2"},
	},
	{
		number:  2,
		symptom: "A server that ignores sendInitialEvents sends no bookmark and no end, and the sync waits for ever",
		faults:  []fault.Fault{{Streaming: true, NoInitialEnd: true}},
		play: func(t *testing.T, s *stage) {
			s.syncedWithin(exactly(reflector.DefaultStreamingTimeout))
			if why := s.informer.Status().Reader.Fallback; !strings.Contains(why, "no initial-events bookmark") {
				t.Errorf("the reason is %q", why)
			}
		},
		requests: "1 stream, 1 list, 1 watch",
		pauses:   []span{exactly(reflector.DefaultStreamingTimeout), exactly(0)},
	},
	{
		number:   3,
		symptom:  "A streaming list demands the newest state of a cache that lags, and meets 429 without end",
		faults:   []fault.Fault{{Streaming: true, Code: 429}},
		requests: "3 stream, 1 list, 1 watch",
		pauses:   []span{backoff(0), backoff(1), exactly(0), exactly(0)},
	},
	{
		number:   3,
		symptom:  "The same, and the server says how long to wait",
		faults:   []fault.Fault{{Streaming: true, Code: 429, RetryAfter: 5 * time.Second}},
		requests: "3 stream, 1 list, 1 watch",
		pauses:   []span{exactly(5 * time.Second), exactly(5 * time.Second), exactly(5 * time.Second), exactly(0)},
	},
	{
		number:  5,
		symptom: "The server ends a slow streaming list in the middle",
		faults:  []fault.Fault{{Streaming: true, Times: 2, Cut: fault.CutReset, AfterEvents: 2}},
		play: func(t *testing.T, s *stage) {
			time.Sleep(100 * time.Millisecond) // within the first pause
			if n := s.informer.Store().Len(); n != 0 || len(s.log()) != 0 {
				t.Errorf("of a list that broke off, %d objects are seen, and %q told", n, s.log())
			}
			s.synced()
		},
		requests: "3 stream",
		pauses:   []span{quarter(backoff(0)), quarter(backoff(1))},
		told:     []string{"Added a=1", "Added b=1", "Added c=1"},
	},
	{
		number:  6,
		symptom: "A server that is behind answers 'Too large resource version', and is asked for that without end",
		before: func(t *testing.T, s *stage) {
			if err := s.Freeze(t.Context(), configMapsResource); err != nil {
				t.Fatal(err)
			}
			s.set("a", "2")
		},
		play: func(t *testing.T, s *stage) {
			s.synced()
			if err := s.Thaw(); err != nil {
				t.Fatal(err)
			}
			s.set("b", "2")
			time.Sleep(time.Minute)
		},
		requests: "3 stream, 1 list, 1 watch",
		// The server looks three seconds for what its cache lacks, each time.
		pauses: []span{backoff(0).plus(3 * time.Second), backoff(1).plus(3 * time.Second), exactly(3 * time.Second), exactly(0)},
		told:   []string{"Added a=2", "Added b=1", "Added c=1", "Updated b=2"},
	},
	{
		number:  7,
		symptom: "After a restart, a stale replica shows a world of the past, and what was undone long ago is done again",
		before: func(t *testing.T, s *stage) {
			if err := s.Freeze(t.Context(), configMapsResource); err != nil {
				t.Fatal(err)
			}
			s.set("a", "2")
			s.remove("b")
		},
		play: func(t *testing.T, s *stage) {
			s.synced()
			if err := s.Thaw(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		},
		requests: "3 stream, 1 list, 1 watch",
		told:     []string{"Added a=2", "Added c=1"},
	},
	{
		number:  7,
		symptom: "The same, for a user who accepts a stale start, but none before what the last run has seen",
		options: informer.Options[*corev1.ConfigMap]{Reflector: reflector.Options[*corev1.ConfigMap]{
			// a, b and c are versions 2 to 4.
			StaleStart: true, MinimumResourceVersion: "6",
		}},
		before: func(t *testing.T, s *stage) {
			if err := s.Freeze(t.Context(), configMapsResource); err != nil {
				t.Fatal(err)
			}
			s.set("a", "2")
			s.remove("b")
		},
		play: func(t *testing.T, s *stage) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := s.informer.Wait(ctx); err == nil || !strings.Contains(err.Error(), string(reflector.ClassTooLarge)) {
				t.Errorf("before the server is there: %v", err)
			}
			if n := len(s.log()); n != 0 {
				t.Errorf("told %q", s.log())
			}
			if n := len(s.asked()); n > 9 {
				t.Errorf("%d requests in a minute", n)
			}
			if err := s.Thaw(); err != nil {
				t.Fatal(err)
			}
			s.synced()
		},
		told: []string{"Added a=2", "Added c=1"},
	},
	{
		number:  18,
		symptom: "A missing permission shows as 'timed out', and everything looks healthy",
		faults:  []fault.Fault{{Code: 403, Times: 4}},
		play: func(t *testing.T, s *stage) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
			defer cancel()
			err := s.informer.Wait(ctx)
			if !apierrors.IsForbidden(err) || !errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "configmaps: forbidden: ") {
				t.Errorf("Wait: %v", err)
			}
			if st := s.informer.Status().Reader; st.State != reflector.Forbidden || st.Class != reflector.ClassForbidden || st.NextTry.IsZero() {
				t.Errorf("status: %+v", st)
			}
			s.synced()
		},
		requests: "5 stream",
		pauses:   []span{backoff(0), backoff(1), backoff(2), backoff(3)},
	},
	{
		number:  26,
		symptom: "A stop is not heeded in a pause, for up to a minute",
		faults:  []fault.Fault{{Streaming: true, Times: 1, Code: 429, RetryAfter: time.Hour}},
		play: func(t *testing.T, s *stage) {
			time.Sleep(time.Second)
			began := time.Now()
			s.factory.Stop()
			if d := time.Since(began); d != 0 {
				t.Errorf("the stop took %v", d)
			}
			if st := s.informer.Status().Reader; st.State != reflector.Stopped {
				t.Errorf("after the stop: %v", st)
			}
			s.factory.Start(t.Context())
			s.synced()
		},
		requests: "2 stream",
		pauses:   []span{exactly(time.Second)},
	},
	reportOfAPoisonObject(),
	{
		number:  42,
		symptom: "The end of an object whose last state is not known makes the handler panic",
		options: informer.Options[*corev1.ConfigMap]{Transform: func(m *corev1.ConfigMap) (*corev1.ConfigMap, error) {
			if m.Name == "bad" {
				return nil, nil
			}
			return m, nil
		}},
		objects: []string{"bad", "good"},
		play: func(t *testing.T, s *stage) {
			s.synced()
			s.remove("bad")
			time.Sleep(time.Minute)
			if st := s.informer.Status(); st.Handlers[0].Panics != 0 || st.Reader.Broken != 0 {
				t.Errorf("status: %+v", st)
			}
		},
		requests: "1 stream",
		told:     []string{"Added good=1"},
	},
	{
		number:  64,
		symptom: "A limit on the time of the first sync makes a large cluster a crash loop: a slow streaming list",
		objects: names(40),
		faults:  []fault.Fault{{Streaming: true, Pause: 2 * time.Second}},
		play: func(t *testing.T, s *stage) {
			s.syncedWithin(exactly(41 * 2 * time.Second))
		},
		requests: "1 stream",
	},
	{
		number:  64,
		symptom: "The same with slow pages",
		options: informer.Options[*corev1.ConfigMap]{Reflector: reflector.Options[*corev1.ConfigMap]{PageSize: 1}},
		objects: names(40),
		faults:  []fault.Fault{noStreams, {Verb: "list", Delay: 2 * time.Second}},
		play: func(t *testing.T, s *stage) {
			s.syncedWithin(exactly(40 * 2 * time.Second))
		},
		requests: "1 stream, 40 list, 1 watch",
	},
	{
		number:  64,
		symptom: "Without such a limit, a list that stalls is waited for without end",
		faults:  []fault.Fault{{Streaming: true, Cut: fault.CutStall, AfterEvents: 2}},
		play: func(t *testing.T, s *stage) {
			s.syncedWithin(exactly(10 * time.Second))
		},
		requests: "1 stream, 1 list, 1 watch",
	},
}

// reportOfAPoisonObject has a transform that fails at first, and again for each
// run of the test.
func reportOfAPoisonObject() fieldReport {
	var healed atomic.Bool
	return fieldReport{
		number:  29,
		symptom: "One object that cannot be transformed makes every list fail, and the informer is never synced",
		options: informer.Options[*corev1.ConfigMap]{Transform: func(m *corev1.ConfigMap) (*corev1.ConfigMap, error) {
			if m.Name == "bad" && !healed.Load() {
				return nil, errors.New("no")
			}
			return m, nil
		}},
		objects: []string{"bad", "good"},
		before:  func(*testing.T, *stage) { healed.Store(false) },
		play: func(t *testing.T, s *stage) {
			s.syncedWithin(exactly(0))
			bad := types.NamespacedName{Namespace: namespace, Name: "bad"}
			if b, ok := s.informer.IsBroken(bad); !ok || b.Err.Stage != reflector.StageTransform || len(s.informer.Broken()) != 1 {
				t.Errorf("broken: %+v", s.informer.Broken())
			}
			if got := s.log(); !slices.Equal(got, []string{"Added good=1"}) {
				t.Errorf("told %q", got)
			}
			healed.Store(true)
			time.Sleep(time.Minute)
		},
		// Once it is good, it is read by its name.
		requests: "1 stream, 1 read",
		pauses:   []span{{30 * time.Second, 45 * time.Second}},
		told:     []string{"Added good=1", "Added bad=1"},
	}
}

func names(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("m%02d", i)
	}
	return out
}
