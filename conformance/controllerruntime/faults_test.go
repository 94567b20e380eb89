package controllerruntime

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"heliograph.example/apiserver/fault"
)

func TestAManagerResumesDroppedWatchesAndReadsAgainAfterACompaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		u := newUser(t, w)
		m := newManager(t, w.config(t, "manager"), ctrl.Options{Scheme: w.scheme})
		run(t, m)
		u.create(fleet("a", "f", 2, "red"), fleet("b", "f", 2, "red"))
		settle()
		wrote := w.count("manager", writes)
		w.disconnect(t, watched...)
		u.order("a", "f", 4, "green")
		settle()
		if n := w.count("manager", writes); n != wrote {
			t.Errorf("%d writes while nothing could be seen", n-wrote)
		}
		w.reconnect()
		u.expect(m, fleet("a", "f", 4, "green"), fleet("b", "f", 2, "red"))
		for _, resource := range watched {
			if n := w.count("manager", did("stream", resource)); n != 1 {
				t.Errorf("after a drop: %d streaming lists of %v, want 1", n, resource)
			}
		}

		w.disconnect(t, watched...)
		u.order("b", "f", 3, "blue")
		u.create(fleet("c", "f", 1, "gray"))
		if err := w.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.reconnect()
		u.expect(m, fleet("a", "f", 4, "green"), fleet("b", "f", 3, "blue"), fleet("c", "f", 1, "gray"))
		if n := w.count("manager", did("stream", fleetResource)); n != 2 {
			t.Errorf("after the compaction: %d streaming lists of fleets, want 2", n)
		}
	})
}

func TestAManagerReachesTheWantedStateThroughFaults(t *testing.T) {
	for name, faults := range map[string][]fault.Fault{
		"no streaming lists": {{Streaming: true, Code: http.StatusUnprocessableEntity}},
		"streaming lists that break off": {
			{Streaming: true, Resource: fleetResource, Times: 2, Cut: fault.CutReset, AfterEvents: 1},
			{Streaming: true, Resource: deploymentResource, Times: 1, Cut: fault.CutEnd},
			{Streaming: true, Resource: configMapResource, Times: 1, Cut: fault.CutReset},
		},
		"a streaming list that never ends": {{Streaming: true, Resource: deploymentResource, Times: 1, NoBookmarks: true}},
		"watches that are reset every few events": {
			{Verb: "watch", Resource: configMapResource, Times: 8, Cut: fault.CutReset, AfterEvents: 3},
			{Verb: "watch", Resource: deploymentResource, Times: 8, Cut: fault.CutReset, AfterEvents: 2},
		},
		"watches that are told to be too old": {
			{Verb: "watch", Resource: deploymentResource, Times: 3, Cut: fault.CutError, Code: http.StatusGone, AfterEvents: 3},
			{Verb: "watch", Resource: fleetResource, Times: 3, Cut: fault.CutError, Code: http.StatusGone, AfterEvents: 3},
		},
		"watches without bookmarks": {
			{Streaming: true, Code: http.StatusBadRequest},
			{Verb: "watch", NoBookmarks: true},
		},
		"an overloaded server": {
			{Verb: "create", Resource: configMapResource, Times: 4, Code: http.StatusTooManyRequests, RetryAfter: time.Second},
			{Verb: "watch", Resource: configMapResource, Times: 3, Code: http.StatusTooManyRequests},
			{Verb: "patch", Resource: deploymentResource, Times: 1, Code: http.StatusServiceUnavailable},
		},
		"writes that fail": {
			{Verb: "create", Resource: configMapResource, Times: 3, Code: http.StatusInternalServerError},
			{Verb: "create", Resource: deploymentResource, Times: 2, Code: http.StatusForbidden},
			{Verb: "update", Resource: deploymentResource, Times: 3, Code: http.StatusConflict},
			{Verb: "patch", Resource: deploymentResource, Times: 2, Code: http.StatusGatewayTimeout},
			{Verb: "delete", Resource: configMapResource, Times: 2, Code: http.StatusInternalServerError},
			{Verb: "deletecollection", Times: 2, Code: http.StatusInternalServerError},
		},
		"a slow server": {{Resource: configMapResource, Delay: 2 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				u := newUser(t, w)
				u.create(fleet("a", "f", 3, "red"), fleet("a", "g", 2, "red"))
				if err := w.faults.Add(faults...); err != nil {
					t.Fatal(err)
				}
				m := newManager(t, w.config(t, "manager"), ctrl.Options{Scheme: w.scheme})
				run(t, m)
				// A watch that is stuck ends by its own timeout.
				time.Sleep(20 * time.Minute)
				settle()
				u.expect(m, fleet("a", "f", 3, "red"), fleet("a", "g", 2, "red"))
				u.order("a", "f", 1, "blue")
				u.create(fleet("b", "h", 2, "green"))
				if err := u.Delete(t.Context(), fleet("a", "g", 0, "")); err != nil {
					t.Fatal(err)
				}
				settle()
				w.faults.Clear()
				u.expect(m, fleet("a", "f", 1, "blue"), fleet("b", "h", 2, "green"))
			})
		})
	}
}
