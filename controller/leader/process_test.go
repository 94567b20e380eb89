package leader

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
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
