package controllerruntime

import (
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var leaseResource = coordinationv1.Resource("leases")

func TestAFollowerTakesOverWhenTheLeaderIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		release bool
		within  time.Duration
	}{
		"after it has released the lease": {true, 5 * time.Second},
		"after the lease has run out":     {false, 25 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				u := newUser(t, w)
				opts := ctrl.Options{
					Scheme: w.scheme, LeaderElection: true, LeaderElectionID: "sea", LeaderElectionNamespace: "system",
					LeaderElectionReleaseOnCancel: c.release,
				}
				stop := run(t, newManager(t, w.config(t, "first"), opts))
				settle()
				second := newManager(t, w.config(t, "second"), opts)
				run(t, second)
				u.create(fleet("a", "f", 2, "red"))
				settle()
				u.expect(second, fleet("a", "f", 2, "red"))
				if n := w.count("second", writes); n != 0 {
					t.Errorf("the follower wrote %d times", n)
				}
				stop()
				wrote := w.count("first", writes)
				u.order("a", "f", 3, "blue")
				time.Sleep(c.within)
				synctest.Wait()
				u.expect(second, fleet("a", "f", 3, "blue"))
				if n := w.count("first", writes); n != wrote {
					t.Errorf("the first manager wrote %d times after its end", n-wrote)
				}
				var lease coordinationv1.Lease
				if err := u.Get(t.Context(), client.ObjectKey{Namespace: "system", Name: "sea"}, &lease); err != nil {
					t.Fatal(err)
				}
				if n := lease.Spec.LeaseTransitions; n == nil || *n < 1 {
					t.Errorf("transitions of the lease: %+v", lease.Spec)
				}
				if n := w.count("", did("create", leaseResource)); n != 1 {
					t.Errorf("the lease was created %d times", n)
				}
			})
		})
	}
}
