package leader

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/controller"
)

// process is one of several that stand for election.
type process struct {
	*Election
	t    *testing.T
	stop context.CancelFunc
	done chan error
	wire *wire
}

// wire is the connection of a process, which can be cut.
type wire struct {
	next http.RoundTripper
	mu   sync.Mutex
	cut  chan struct{} // closed when the cut has an end; nil if it is not cut
	gate *gate         // of the process, nil if it is never stopped
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.pass()
	defer w.pass()
	w.mu.Lock()
	cut := w.cut
	w.mu.Unlock()
	if cut != nil {
		select {
		case <-cut:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return w.next.RoundTrip(r)
}

func (w *wire) pass() {
	if w.gate != nil {
		w.gate.pass()
	}
}

// sever cuts the wire until mend is called.
func (w *wire) sever() (mend func()) {
	cut := make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.cut = nil
		close(cut)
	}
}

// newProcess makes a process that does not stand for election yet.
func newProcess(t *testing.T, server *apiservertest.Server, identity string) *process {
	t.Helper()
	p := &process{t: t, wire: &wire{}}
	config := rest.CopyConfig(server.Config())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		p.wire.next = next
		return p.wire
	})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	p.Election, err = New(Options{Leases: client.CoordinationV1(), Namespace: "default", Name: "test", Identity: identity})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// start runs the election of a process.
func (p *process) start() {
	ctx, stop := context.WithCancel(p.t.Context())
	p.stop, p.done = stop, make(chan error, 1)
	go func() { p.done <- p.Run(ctx) }()
}

// end stops a process and returns the error of its run.
func (p *process) end() error {
	p.stop()
	return <-p.done
}

// betweenRenewals is a time after the start at which no process sends anything.
const betweenRenewals = time.Minute + time.Second/2

// term waits for the process to lead.
func (p *process) term() controller.Term {
	p.t.Helper()
	t, err := p.Lead(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return t
}

// lease reads the Lease from the server.
func lease(t *testing.T, server *apiservertest.Server) *coordinationv1.Lease {
	t.Helper()
	l, err := server.Client().CoordinationV1().Leases("default").Get(t.Context(), "test", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// bubble runs a test in virtual time, with a server.
func bubble(t *testing.T, name string, test func(t *testing.T, server *apiservertest.Server)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { test(t, apiservertest.Start(t, apiserver.Options{})) })
	})
}

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

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	good := Options{Leases: client.CoordinationV1(), Namespace: "n", Name: "l"}
	if e, err := New(good); err != nil || e.Identity() == "" {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Options){
		"Leases is nil":               func(o *Options) { o.Leases = nil },
		`Namespace ""`:                func(o *Options) { o.Namespace = "" },
		`Name ""`:                     func(o *Options) { o.Name = "" },
		"whole seconds":               func(o *Options) { o.LeaseDuration = 1500 * time.Millisecond },
		"LeaseDuration -1s":           func(o *Options) { o.LeaseDuration = -time.Second },
		"RenewDeadline 15s":           func(o *Options) { o.RenewDeadline = 15 * time.Second },
		"RenewDeadline -1s":           func(o *Options) { o.RenewDeadline = -time.Second },
		"RetryPeriod 9s: 1.2 times":   func(o *Options) { o.RetryPeriod = 9 * time.Second },
		"RetryPeriod -1ns: 1.2 times": func(o *Options) { o.RetryPeriod = -1 },
	} {
		opts := good
		spoil(&opts)
		if _, err := New(opts); !errors.Is(err, errInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	e, err := New(good)
	if err != nil {
		t.Fatal(err)
	}
	var none context.Context
	if err := e.Run(none); !errors.Is(err, errInvalid) {
		t.Error(err)
	}
	if _, err := e.Lead(none); !errors.Is(err, errInvalid) {
		t.Error(err)
	}
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
