package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/apiserver/endpoints"
	"heliograph.example/apiserver/storage"
)

// list returns the names that a list shows.
func list(t *testing.T, s *apiservertest.Server, opts metav1.ListOptions) ([]string, metav1.ListMeta, error) {
	t.Helper()
	l, err := s.Client().CoreV1().ConfigMaps("a").List(t.Context(), opts)
	var names []string
	for i := range l.Items {
		names = append(names, l.Items[i].Name)
	}
	return names, l.ListMeta, err
}

// isTooLarge reports whether an error is the 504 for a version not reached.
func isTooLarge(err error) bool {
	return apierrors.IsTimeout(err) && apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

func TestCompactionIsA410ForWatchesExactListsAndLaterPages(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiservertest.Server) {
		_, page, err := list(t, s, metav1.ListOptions{Limit: 1})
		if err != nil || page.Continue == "" {
			t.Fatalf("%+v, %v", page, err)
		}
		create(t, s, "m3")
		if err := s.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, opts := range map[string]metav1.ListOptions{
			"exact": {ResourceVersion: page.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact},
			"limit": {ResourceVersion: page.ResourceVersion, Limit: 1},
		} {
			if _, _, err := list(t, s, opts); !apierrors.IsResourceExpired(err) {
				t.Errorf("a list, %s: %v", name, err)
			}
		}
		_, _, err = list(t, s, metav1.ListOptions{Limit: 1, Continue: page.Continue})
		var status apierrors.APIStatus
		if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) || status.Status().Continue == "" {
			t.Fatalf("the next page: %v", err)
		}
		// The token in the answer goes on in the newest state.
		names, _, err := list(t, s, metav1.ListOptions{Continue: status.Status().Continue})
		if err != nil || !slices.Equal(names, []string{"m1", "m2", "m3"}) {
			t.Errorf("the rest: %v, %v", names, err)
		}
		got := ask(t, s, http.MethodGet, probePath+"?watch=1&timeoutSeconds=60&resourceVersion="+page.ResourceVersion, nil)
		if want := []string{"0s 200 ", "0s ERROR Expired", "0s end"}; !slices.Equal(got.arrived, want) {
			t.Errorf("a watch: %q", got.arrived)
		}
	})
}

// What a quiet resource answers from its cache after a compaction must not be
// forgotten already, or a client could not go on from it.
func TestACompactionLeavesNoCacheBehind(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiservertest.Server) {
		secrets := s.Client().CoreV1().Secrets("a")
		if _, err := secrets.List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			create(t, s, fmt.Sprint("late", i))
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			cached, err := secrets.List(t.Context(), metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				t.Fatal(err)
			}
			exact := metav1.ListOptions{ResourceVersion: cached.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
			if _, err := secrets.List(t.Context(), exact); err != nil {
				t.Errorf("the state of the cache, version %s, read again: %v", cached.ResourceVersion, err)
			}
			names, _, err := list(t, s, metav1.ListOptions{ResourceVersion: "0"})
			if want := fmt.Sprint("late", i); err != nil || !slices.Contains(names, want) {
				t.Errorf("in the cache: %v, %v; want %s, too", names, err, want)
			}
		}
	})
}

func TestAFrozenServerIsAStaleReplica(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiservertest.Server) {
		if err := s.Freeze(t.Context(), configMaps); err != nil {
			t.Fatal(err)
		}
		maps := s.Client().CoreV1().ConfigMaps("a")
		w, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "4", AllowWatchBookmarks: true})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		created := create(t, s, "m3")
		if names, meta, err := list(t, s, metav1.ListOptions{ResourceVersion: "0"}); err != nil || len(names) != 3 || meta.ResourceVersion != "4" {
			t.Errorf("any state: %v at %s, %v", names, meta.ResourceVersion, err)
		}
		begin := time.Now()
		got := ask(t, s, http.MethodGet, probePath+"?resourceVersion="+created.ResourceVersion, nil)
		if want := []string{"3s 504 1", "3s Status Timeout", "3s end"}; !slices.Equal(got.arrived, want) {
			t.Errorf("a list from the future: %q", got.arrived)
		}
		got = ask(t, s, http.MethodGet, probeWatch+"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", nil)
		if len(got.arrived) != 6 || got.arrived[1] != "0s ADDED m0" {
			t.Errorf("a streaming list of any state: %q", got.arrived)
		}
		got = ask(t, s, http.MethodGet, probePath+"?watch=1&timeoutSeconds=60&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", nil)
		if want := []string{"3s 200 ", "3s ERROR Timeout", "3s end"}; !slices.Equal(got.arrived, want) {
			t.Errorf("a streaming list of the newest state: %q", got.arrived)
		}
		if names, _, err := list(t, s, metav1.ListOptions{}); err != nil || len(names) != 4 {
			t.Errorf("the newest state: %v, %v", names, err)
		}
		if _, err := maps.Get(t.Context(), "m3", metav1.GetOptions{}); err != nil {
			t.Errorf("a get: %v", err)
		}
		if time.Since(begin) > time.Minute+10*time.Second {
			t.Errorf("that took %v", time.Since(begin))
		}
		time.Sleep(20 * time.Minute)
		select {
		case e := <-w.ResultChan():
			t.Errorf("the watch told %+v", e)
		default:
		}
		// Other resources go on.
		if _, err := s.Client().CoreV1().Secrets("a").List(t.Context(), metav1.ListOptions{ResourceVersion: created.ResourceVersion}); err != nil {
			t.Errorf("secrets: %v", err)
		}
		if err := s.Thaw(configMaps); err != nil {
			t.Fatal(err)
		}
		if e := <-w.ResultChan(); e.Object == nil || e.Object.(*corev1.ConfigMap).Name != "m3" {
			t.Errorf("after the thaw the watch tells %+v", e)
		}
		if names, _, err := list(t, s, metav1.ListOptions{ResourceVersion: created.ResourceVersion}); err != nil || len(names) != 4 {
			t.Errorf("after the thaw: %v, %v", names, err)
		}
	})
}

func TestAServerThatIsNotReadyAsksForMoreAndMorePatience(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiservertest.Server) {
		open, err := s.Client().CoreV1().ConfigMaps("a").Watch(t.Context(), metav1.ListOptions{ResourceVersion: "4"})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Unready(); err != nil {
			t.Fatal(err)
		}
		if e, ok := <-open.ResultChan(); ok {
			t.Errorf("the open watch tells %+v", e)
		}
		for _, c := range []struct {
			after time.Duration
			retry string
		}{{0, "1"}, {30 * time.Second, "6"}, {time.Minute, "30"}} {
			time.Sleep(c.after)
			for _, path := range []string{probePath, probeWatch} {
				want := []string{"0s 429 " + c.retry, "0s Status TooManyRequests", "0s end"}
				if got := ask(t, s, http.MethodGet, path, nil); !slices.Equal(got.arrived, want) {
					t.Errorf("%s: %q, want %q", path, got.arrived, want)
				}
			}
		}
		create(t, s, "m3")
		if names, _, err := list(t, s, metav1.ListOptions{Limit: 10}); err != nil || len(names) != 4 {
			t.Errorf("a page: %v, %v", names, err)
		}
		if err := s.Thaw(); err != nil {
			t.Fatal(err)
		}
		if names, _, err := list(t, s, metav1.ListOptions{}); err != nil || len(names) != 4 {
			t.Errorf("when it is ready: %v, %v", names, err)
		}
	})
}

func TestARestoredServerGoesBackInTime(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiservertest.Server) {
		snapshot := s.Snapshot()
		lost := create(t, s, "lost")
		w, err := s.Client().CoreV1().ConfigMaps("a").Watch(t.Context(), metav1.ListOptions{ResourceVersion: lost.ResourceVersion})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Restore(snapshot); err != nil {
			t.Fatal(err)
		}
		if e, ok := <-w.ResultChan(); ok {
			t.Errorf("the open watch tells %+v", e)
		}
		for _, version := range []string{"", "0"} {
			names, meta, err := list(t, s, metav1.ListOptions{ResourceVersion: version})
			if err != nil || !slices.Equal(names, []string{"m0", "m1", "m2"}) || meta.ResourceVersion != "4" {
				t.Errorf("a list at %q: %v at %s, %v", version, names, meta.ResourceVersion, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err = s.Client().CoreV1().ConfigMaps("a").List(ctx, metav1.ListOptions{ResourceVersion: lost.ResourceVersion})
		if !isTooLarge(err) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a list at a lost version: %v", err)
		}
		silent, err := s.Client().CoreV1().ConfigMaps("a").Watch(t.Context(), metav1.ListOptions{ResourceVersion: lost.ResourceVersion})
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Stop()
		if again := create(t, s, "x"); again.ResourceVersion != lost.ResourceVersion {
			t.Errorf("the next write has version %s, the lost one had %s", again.ResourceVersion, lost.ResourceVersion)
		}
		create(t, s, "y")
		if e := <-silent.ResultChan(); e.Object == nil || e.Object.(*corev1.ConfigMap).Name != "y" {
			t.Errorf("a watch from a lost version tells %+v", e)
		}
	})
}

func TestASnapshotFillsAnotherServer(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiservertest.Server) {
		snapshot := s.Snapshot()
		other := apiservertest.Start(t, apiserver.Options{})
		if err := other.Restore(snapshot); err != nil {
			t.Fatal(err)
		}
		if names, _, err := list(t, other, metav1.ListOptions{}); err != nil || len(names) != 3 {
			t.Errorf("%v, %v", names, err)
		}
	})
}

func TestFaultsOfAServerRefuseWhatMakesNoSense(t *testing.T) {
	bubble(t, func(t *testing.T, s *apiservertest.Server) {
		unknown := schema.GroupResource{Resource: "gadgets"}
		for name, err := range map[string]error{
			"freeze":  s.Freeze(t.Context(), unknown),
			"unready": s.Unready(configMaps, unknown),
			"thaw":    s.Thaw(unknown),
		} {
			if !errors.Is(err, endpoints.ErrNotServed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := s.Restore(nil); !errors.Is(err, storage.ErrInvalidOptions) {
			t.Errorf("restore: %v", err)
		}
		if names, _, err := list(t, s, metav1.ListOptions{}); err != nil || len(names) != 3 {
			t.Errorf("afterwards: %v, %v", names, err)
		}
		if err := s.Unready(configMaps); err != nil {
			t.Fatal(err)
		}
		if err := s.Freeze(t.Context(), configMaps); !apierrors.IsTooManyRequests(err) {
			t.Errorf("a freeze without a state: %v", err)
		}
	})
}
