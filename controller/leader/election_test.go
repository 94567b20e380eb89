package leader

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/controller"
)

func TestOneProcessLeads(t *testing.T) {
	bubble(t, "and another takes over at once when it stops", func(t *testing.T, server *apiservertest.Server) {
		a, b := newProcess(t, server, "a"), newProcess(t, server, "b")
		a.start()
		first := a.term()
		b.start()
		time.Sleep(time.Hour)
		synctest.Wait()
		if !first.Valid() || !a.Leads() || b.Leads() {
			t.Fatalf("after an hour: a %v, b %v", a.Status(), b.Status())
		}
		if s := b.Status(); s.Phase != Candidate || s.Holder != "a" {
			t.Errorf("b: %+v", s)
		}
		first.Leave(true)
		start := time.Now()
		if err := a.end(); err != nil {
			t.Error(err)
		}
		second := b.term()
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("b leads %v after the release", took)
		}
		second.Leave(true)
		if err := b.end(); err != nil {
			t.Error(err)
		}
		if holder := lease(t, server).Spec.HolderIdentity; holder != nil && *holder != "" {
			t.Errorf("released, but held by %q", *holder)
		}
	})
	bubble(t, "and renews its lease until everybody has left", func(t *testing.T, server *apiservertest.Server) {
		a, b := newProcess(t, server, "a"), newProcess(t, server, "b")
		a.start()
		term := a.term()
		b.start()
		a.stop()
		time.Sleep(2 * time.Second)
		select {
		case <-term.Lost():
			if term.Valid() || !errors.Is(term.Err(), ErrEnded) {
				t.Errorf("valid %v, error %v", term.Valid(), term.Err())
			}
		default:
			t.Error("who does not stop is not told that the term is over")
		}
		time.Sleep(time.Minute)
		if b.Leads() || *lease(t, server).Spec.HolderIdentity != "a" {
			t.Error("b leads while work goes on under a")
		}
		term.Leave(true)
		term.Leave(true) // does no harm
		if err := <-a.done; err != nil {
			t.Error(err)
		}
		b.term().Leave(true)
		if err := b.end(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "and lets the lease run out if work goes on that cannot be stopped", func(t *testing.T, server *apiservertest.Server) {
		a, b := newProcess(t, server, "a"), newProcess(t, server, "b")
		a.start()
		term := a.term()
		b.start()
		time.Sleep(betweenRenewals)
		renewed := a.Status().Renewed
		a.stop()
		synctest.Wait()
		term.Leave(false)
		if err := <-a.done; err != nil {
			t.Error(err)
		}
		b.term().Leave(true)
		if waited := time.Since(renewed); waited < 15*time.Second {
			t.Errorf("b leads %v after the last renewal of a", waited)
		}
		if err := b.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestALeaderThatCannotRenewLeadsNoLonger(t *testing.T) {
	bubble(t, "after its deadline, and before anybody else leads", func(t *testing.T, server *apiservertest.Server) {
		a, b := newProcess(t, server, "a"), newProcess(t, server, "b")
		a.start()
		term := a.term()
		b.start()
		time.Sleep(betweenRenewals)
		mend := a.wire.sever()
		renewed := a.Status().Renewed
		<-term.Lost()
		if after := time.Since(renewed); after != 10*time.Second {
			t.Errorf("the term ended %v after the last renewal", after)
		}
		if term.Valid() || a.Leads() || b.Leads() {
			t.Errorf("a valid %v, leads %v; b leads %v", term.Valid(), a.Leads(), b.Leads())
		}
		err := <-a.done
		if !errors.Is(err, controller.ErrNotLeading) || !strings.Contains(err.Error(), "default/test") {
			t.Errorf("the run ended with %v", err)
		}
		if _, err := a.Lead(t.Context()); !errors.Is(err, ErrEnded) || !errors.Is(err, controller.ErrNotLeading) {
			t.Errorf("Lead afterwards: %v", err)
		}
		if err := a.Healthy(); !errors.Is(err, controller.ErrNotLeading) {
			t.Errorf("healthy: %v", err)
		}
		other := b.term()
		if after := time.Since(renewed); after < 15*time.Second {
			t.Errorf("b leads %v after the last renewal of a", after)
		}
		mend()
		time.Sleep(time.Minute)
		if !other.Valid() {
			t.Error(other.Err())
		}
		other.Leave(true)
		if err := b.end(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "but a short cut does no harm", func(t *testing.T, server *apiservertest.Server) {
		a := newProcess(t, server, "a")
		a.start()
		term := a.term()
		for range 20 {
			mend := a.wire.sever()
			time.Sleep(6 * time.Second)
			mend()
			time.Sleep(20 * time.Second)
		}
		if !term.Valid() {
			t.Error(term.Err())
		}
		term.Leave(true)
		if err := a.end(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "at once where another process has taken the lease by force", func(t *testing.T, server *apiservertest.Server) {
		a := newProcess(t, server, "a")
		a.start()
		term := a.term()
		time.Sleep(betweenRenewals)
		l := lease(t, server)
		l.Spec.HolderIdentity = new(string)
		*l.Spec.HolderIdentity = "thief"
		if _, err := server.Client().CoordinationV1().Leases("default").Update(t.Context(), l, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		<-term.Lost()
		if took := time.Since(start); took > 4*time.Second || !errors.Is(term.Err(), errTaken) {
			t.Errorf("noticed after %v: %v", took, term.Err())
		}
		if err := <-a.done; !errors.Is(err, controller.ErrNotLeading) {
			t.Error(err)
		}
		if holder := *lease(t, server).Spec.HolderIdentity; holder != "thief" {
			t.Errorf("the holder is %q", holder)
		}
	})
	bubble(t, "by its clock, even if its timers sleep", func(t *testing.T, server *apiservertest.Server) {
		a := newProcess(t, server, "a")
		awake := make(chan struct{})
		a.hook = func() { <-awake }
		a.start()
		term := a.term()
		mend := a.wire.sever()
		time.Sleep(10*time.Second - time.Nanosecond)
		if !term.Valid() {
			t.Error("not valid before the deadline")
		}
		time.Sleep(time.Nanosecond)
		if term.Valid() {
			t.Error("valid at the deadline")
		}
		close(awake)
		mend()
		if err := <-a.done; !errors.Is(err, controller.ErrNotLeading) {
			t.Error(err)
		}
	})
}

func TestAnElectionThatEndsBeforeItWasWonLeavesNothing(t *testing.T) {
	bubble(t, "and can be run again", func(t *testing.T, server *apiservertest.Server) {
		a, b := newProcess(t, server, "a"), newProcess(t, server, "b")
		a.start()
		term := a.term()
		b.start()
		time.Sleep(time.Minute)
		if err := b.Run(t.Context()); !errors.Is(err, ErrRunning) {
			t.Errorf("a second run: %v", err)
		}
		if err := b.end(); err != nil {
			t.Error(err)
		}
		b.start()
		term.Leave(true)
		if err := a.end(); err != nil {
			t.Error(err)
		}
		b.term().Leave(true)
		if err := b.end(); err != nil {
			t.Error(err)
		}
	})
	bubble(t, "and tells those who wait", func(t *testing.T, server *apiservertest.Server) {
		a := newProcess(t, server, "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := a.Lead(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("before a run: %v", err)
		}
		mend := a.wire.sever()
		a.start()
		time.Sleep(time.Minute)
		if err := a.Healthy(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("healthy although no request is answered: %v", err)
		}
		if err := a.end(); err != nil {
			t.Error(err)
		}
		mend()
		if _, err := a.Lead(t.Context()); !errors.Is(err, ErrEnded) {
			t.Errorf("after a run: %v", err)
		}
	})
}

func TestALeaseThatIsWonAfterTheEndIsNobodys(t *testing.T) {
	e, err := New(Options{Leases: &coordinationclient.CoordinationV1Client{}, Namespace: "n", Name: "l", Identity: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.begin(); err != nil {
		t.Fatal(err)
	}
	if !e.withdraw() {
		t.Fatal("there is no tenure yet")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	// The answer to a request that was sent before comes now.
	if err := (lock{nil, e}).renewed(time.Now()); err != nil {
		t.Fatal(err)
	}
	defer e.tenure.timer.Stop()
	if _, ok := e.tenure.admit(); ok || !isClosed(e.tenure.left) {
		t.Error("somebody begins under a lease that is about to be released")
	}
}
