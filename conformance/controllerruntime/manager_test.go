package controllerruntime

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"heliograph.example/apiserver/endpoints"
)

// settle lets five minutes of the bubble's time pass, enough for every retry of
// reflectors and controllers, and then waits until nothing moves.
func settle() {
	time.Sleep(5 * time.Minute)
	synctest.Wait()
}

// user is somebody who writes Fleets and looks at what comes of it.
type user struct {
	t *testing.T
	client.Client
}

func newUser(t *testing.T, w *world) *user {
	t.Helper()
	c, err := client.New(w.config(t, "user"), client.Options{Scheme: w.scheme})
	if err != nil {
		t.Fatal(err)
	}
	return &user{t, c}
}

func (u *user) create(objs ...client.Object) {
	u.t.Helper()
	for _, obj := range objs {
		if err := u.Create(u.t.Context(), obj); err != nil {
			u.t.Fatal(err)
		}
	}
}

// order gives a fleet another size and color.
func (u *user) order(namespace, name string, ships int32, color string) {
	u.t.Helper()
	f := fleet(namespace, name, 0, "")
	patch := fmt.Sprintf(`{"spec":{"ships":%d,"color":%q}}`, ships, color)
	if err := u.Patch(u.t.Context(), f, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		u.t.Fatal(err)
	}
}

// sea describes everything there is, a line for each object, in order.
func sea(ctx context.Context, c client.Reader) ([]string, error) {
	var lines []string
	var fs FleetList
	var ds appsv1.DeploymentList
	var ms corev1.ConfigMapList
	for _, list := range []client.ObjectList{&fs, &ds, &ms} {
		if err := c.List(ctx, list); err != nil {
			return nil, err
		}
	}
	for _, f := range fs.Items {
		lines = append(lines, fmt.Sprintf("fleet %s/%s: %d of %d %s, current %t",
			f.Namespace, f.Name, f.Status.Ready, f.Spec.Ships, f.Spec.Color, f.Status.Observed == f.Generation))
	}
	for _, d := range ds.Items {
		lines = append(lines, fmt.Sprintf("deployment %s/%s: %d of %d, current %t",
			d.Namespace, d.Name, d.Status.ReadyReplicas, *d.Spec.Replicas, d.Status.ObservedGeneration == d.Generation))
	}
	for _, m := range ms.Items {
		lines = append(lines, fmt.Sprintf("ship %s/%s: %s", m.Namespace, m.Name, m.Data[colorLabel]))
	}
	slices.Sort(lines)
	return lines, nil
}

// wanted is what sea says once the controllers have done their work.
func wanted(fleets ...*Fleet) []string {
	var lines []string
	for _, f := range fleets {
		lines = append(lines,
			fmt.Sprintf("fleet %s/%s: %d of %d %s, current true", f.Namespace, f.Name, f.Spec.Ships, f.Spec.Ships, f.Spec.Color),
			fmt.Sprintf("deployment %s/%s: %d of %d, current true", f.Namespace, f.Name, f.Spec.Ships, f.Spec.Ships))
		for i := range f.Spec.Ships {
			lines = append(lines, fmt.Sprintf("ship %s/%s-%d: %s", f.Namespace, f.Name, i, f.Spec.Color))
		}
	}
	slices.Sort(lines)
	return lines
}

// expect compares what there is on the server, and in the cache of a manager
// unless it is nil, with what is wanted.
func (u *user) expect(m ctrl.Manager, fleets ...*Fleet) {
	u.t.Helper()
	want := wanted(fleets...)
	readers := map[string]client.Reader{"server": u}
	if m != nil {
		readers["cache"] = m.GetCache()
	}
	for name, reader := range readers {
		got, err := sea(u.t.Context(), reader)
		if err != nil {
			u.t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			u.t.Errorf("%s:\n got %s\nwant %s", name, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
}

// count is how many of the requests of a client are like this. No name means all
// clients.
func (w *world) count(agent string, like func(endpoints.Request) bool) int {
	n := 0
	for _, r := range w.Requests() {
		if (agent == "" || r.UserAgent == agent) && like(r) {
			n++
		}
	}
	return n
}

// did matches requests for one resource that have succeeded. A verb "stream" is
// a watch with initial events.
func did(verb string, resource schema.GroupResource) func(endpoints.Request) bool {
	return func(r endpoints.Request) bool {
		v := r.Verb
		if v == "watch" && strings.Contains(r.Query, "sendInitialEvents=true") {
			v = "stream"
		}
		return v == verb && r.Resource.GroupResource() == resource && r.Code < 300
	}
}

// writes matches every attempt to write but Events.
func writes(r endpoints.Request) bool {
	return r.Resource.Resource != "events" && r.Resource.Resource != "leases" && r.Verb != "get" && r.Verb != "list" && r.Verb != "watch"
}

// failed matches every request that did not succeed.
func failed(r endpoints.Request) bool { return r.Code >= 300 }

var watched = []schema.GroupResource{fleetResource, deploymentResource, configMapResource}

func TestAManagerBringsTheWorldIntoTheWantedState(t *testing.T) {
	for name, opts := range map[string]client.CacheOptions{
		"from a cache that may lag":              {},
		"from a cache that shows its own writes": {EnableReadYourWritesConsistency: new(true)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				u := newUser(t, w)
				m := newManager(t, w.config(t, "manager"), ctrl.Options{Scheme: w.scheme, Client: client.Options{Cache: &opts}})
				u.create(fleet("a", "early", 2, "red"))
				run(t, m)
				settle()
				u.create(fleet("b", "late", 3, "blue"))
				settle()
				u.expect(m, fleet("a", "early", 2, "red"), fleet("b", "late", 3, "blue"))
				for verb, counts := range map[string][]int{"create": {0, 2, 5}, "stream": {1, 1, 1}} {
					for i, resource := range watched {
						if n := w.count("manager", did(verb, resource)); n != counts[i] {
							t.Errorf("%d times %s %v, want %d", n, verb, resource, counts[i])
						}
					}
				}
				if n := w.count("manager", failed); n > 0 && opts.EnableReadYourWritesConsistency != nil {
					t.Errorf("%d requests failed, though the cache was never behind: %+v", n, w.Requests())
				}
				var events eventsv1.EventList
				if err := u.List(t.Context(), &events, client.MatchingFields{"reason": "Launched"}); err != nil || len(events.Items) != 2 {
					t.Errorf("events: %v, %v; want 2", events.Items, err)
				}
			})
		})
	}
}

func TestAManagerMendsWhatOthersBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		u := newUser(t, w)
		// A cache that lags may have it do some things twice, which does no harm
		// but would be counted here.
		consistent := client.CacheOptions{EnableReadYourWritesConsistency: new(true)}
		m := newManager(t, w.config(t, "manager"), ctrl.Options{Scheme: w.scheme, Client: client.Options{Cache: &consistent}})
		run(t, m)
		u.create(fleet("a", "f", 4, "red"))
		settle()
		before := w.count("manager", did("create", configMapResource))
		ctx := t.Context()
		if err := u.Delete(ctx, ship("a", "f-1")); err != nil {
			t.Fatal(err)
		}
		repainted := ship("a", "f-2")
		if err := u.Patch(ctx, repainted, client.RawPatch("application/json-patch+json",
			[]byte(`[{"op":"test","path":"/data/color","value":"red"},{"op":"replace","path":"/data/color","value":"pink"}]`))); err != nil {
			t.Fatal(err)
		}
		stranger := ship("a", "g-0")
		u.create(stranger)
		settle()
		if err := u.Delete(ctx, stranger); err != nil {
			t.Fatal(err)
		}
		u.expect(nil, fleet("a", "f", 4, "red"))
		if n := w.count("manager", did("create", configMapResource)) - before; n != 1 {
			t.Errorf("%d config maps were created again, want 1", n)
		}
		if n := w.count("manager", did("patch", configMapResource)); n != 1 {
			t.Errorf("%d config maps were patched, want 1", n)
		}
		u.order("a", "f", 1, "blue")
		settle()
		u.expect(m, fleet("a", "f", 1, "blue"))
		if n := w.count("manager", did("delete", configMapResource)); n != 3 {
			t.Errorf("%d config maps were deleted, want 3", n)
		}
	})
}

func TestFinalizersHoldObjectsUntilTheControllersHaveCleanedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		u := newUser(t, w)
		m := newManager(t, w.config(t, "manager"), ctrl.Options{Scheme: w.scheme})
		stop := run(t, m)
		kept := fleet("a", "kept", 1, "red")
		u.create(kept, fleet("a", "gone", 3, "red"), fleet("b", "gone", 2, "red"))
		settle()
		stop()
		if err := u.DeleteAllOf(t.Context(), &Fleet{}, client.InNamespace("a"), client.MatchingFields{"metadata.name": "gone"}); err != nil {
			t.Fatal(err)
		}
		var held Fleet
		if err := u.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: "gone"}, &held); err != nil || held.DeletionTimestamp == nil {
			t.Fatalf("without a controller: %+v, %v", held, err)
		}
		m = newManager(t, w.config(t, "manager"), ctrl.Options{Scheme: w.scheme})
		run(t, m)
		if err := u.Delete(t.Context(), fleet("b", "gone", 0, "")); err != nil {
			t.Fatal(err)
		}
		settle()
		u.expect(m, fleet("a", "kept", 1, "red"))
		for resource, n := range map[schema.GroupResource]int{fleetResource: 0, deploymentResource: 2} {
			if got := w.count("manager", did("delete", resource)); got != n {
				t.Errorf("%d deletes of %v, want %d", got, resource, n)
			}
		}
	})
}

func TestAQuietDayCostsNoListsAndNoWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		u := newUser(t, w)
		m := newManager(t, w.config(t, "manager"), ctrl.Options{Scheme: w.scheme})
		run(t, m)
		u.create(fleet("a", "f", 2, "red"))
		settle()
		wrote := w.count("manager", writes)
		time.Sleep(24 * time.Hour) // two resyncs, and hundreds of watches that end
		synctest.Wait()
		u.expect(m, fleet("a", "f", 2, "red"))
		if n := w.count("manager", writes) - wrote; n != 0 {
			t.Errorf("%d writes in a settled world", n)
		}
		for _, resource := range watched {
			if n := w.count("manager", did("stream", resource)); n != 1 {
				t.Errorf("%d streaming lists of %v, want 1", n, resource)
			}
			// Watches end after five to ten minutes.
			if n := w.count("manager", did("watch", resource)); n < 24*6 || n > 24*12 {
				t.Errorf("%d watches of %v in a day", n, resource)
			}
		}
		// A day's history is of no use to the watches, which bookmarks have moved on.
		if err := w.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.DropWatches(configMapResource)
		settle()
		most := 1
		if onOurs {
			// A watch that brings nothing has no bookmark either, as long as the version
			// is the one that it began with. After three such watches in a row our
			// reader asks where the server is, and if that has moved on, as it has by
			// the compaction, it reads once more: a watch that has lost its server looks
			// the same. How many watches there were by now is chance.
			most = 2
		}
		if n := w.count("manager", did("stream", configMapResource)); n < 1 || n > most {
			t.Errorf("the list was read %d times, want 1, or %d at most", n, most)
		}
	})
}
