package controllerruntime

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr/funcr"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/fault"
	"heliograph.example/contrib/controllerruntime"
)

// detector is read by client-go when it is loaded, which is before any test
// could set it.
const detector = "KUBE_WATCHLIST_INCONSISTENCY_DETECTOR"

// logger is quiet but for the differences that the detector has found: its panic
// does not say them.
var logger = funcr.New(func(_, line string) {
	if strings.Contains(line, `"diff"=`) {
		fmt.Fprintln(os.Stderr, line)
	}
}, funcr.Options{})

// subject is read from the environment: with "heliograph", managers and caches run
// on our informers and queues.
const subject = "SUBJECT"

// onOurs says that they do.
var onOurs = os.Getenv(subject) == "heliograph"

// use lets a manager and its controllers run on what is asked for.
func use(m *ctrl.Options, controllers ...*controller.Options) {
	if onOurs {
		controllerruntime.Use(m, controllers...)
	}
}

// TestMain starts the program once more with the detector on, and before that with
// the other subject.
func TestMain(m *testing.M) {
	if os.Getenv(detector) == "" {
		program, err := os.Executable()
		if err != nil {
			fmt.Fprintf(os.Stderr, "start again with %s: %v\n", detector, err)
			os.Exit(1)
		}
		environ := append(os.Environ(), detector+"=true")
		if os.Getenv(subject) == "" {
			fmt.Println("on Heliograph's informers and queues:")
			other := exec.Command(program, os.Args[1:]...)
			other.Env, other.Stdout, other.Stderr = append(environ, subject+"=heliograph"), os.Stdout, os.Stderr
			if err := other.Run(); err != nil {
				fmt.Fprintf(os.Stderr, "on Heliograph's informers and queues: %v\n", err)
				os.Exit(1)
			}
			fmt.Println("on controller-runtime's own:")
		}
		err = syscall.Exec(program, os.Args, environ)
		fmt.Fprintf(os.Stderr, "start again with %s: %v\n", detector, err)
		os.Exit(1)
	}
	// Among the handlers is one that sleeps until an interval after the last
	// error of the process, which in a bubble is decades away.
	utilruntime.ErrorHandlers = nil
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	goleak.VerifyTestMain(m)
}

// newScheme knows the built-in kinds and Fleet.
func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	addFleet(s)
	return s
}

// start starts a server on a port, with Fleet as a custom resource of the given
// scheme, that ends with the test.
func start(t *testing.T, scheme *runtime.Scheme) *apiserver.Server {
	t.Helper()
	s, err := apiserver.Start(t.Context(), apiserver.Options{Scheme: scheme, Resources: []apiserver.Resource{fleets}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// world is a server in a bubble, reached by connections in memory.
type world struct {
	*apiserver.Server
	faults *fault.Script
	scheme *runtime.Scheme
	pipes  *pipes
}

// newWorld starts a server in the bubble of t.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{faults: &fault.Script{}, scheme: newScheme(t), pipes: newPipes()}
	s, err := apiserver.Start(t.Context(), apiserver.Options{
		Listener: w.pipes, Faults: w.faults, Scheme: w.scheme, Resources: []apiserver.Resource{fleets},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	w.Server = s
	return w
}

// config is for a client with a name, by which its requests can be told from
// those of others.
func (w *world) config(t *testing.T, name string) *rest.Config {
	transport := &http.Transport{DialContext: w.pipes.dial}
	t.Cleanup(transport.CloseIdleConnections)
	c := w.Config()
	c.Transport = transport
	c.UserAgent = name
	return c
}

// disconnect ends the watches of a resource, and refuses new ones until
// reconnect is called. A reflector that is refused for an overload keeps its
// version and asks again.
func (w *world) disconnect(t *testing.T, resources ...schema.GroupResource) {
	t.Helper()
	for _, resource := range resources {
		err := w.faults.Add(fault.Fault{Verb: "watch", Resource: resource, Code: http.StatusTooManyRequests})
		if err != nil {
			t.Fatal(err)
		}
		if n := w.DropWatches(resource); n != 1 {
			t.Errorf("%d watches of %v were dropped, want 1", n, resource)
		}
	}
}

// reconnect takes all faults away and lets everybody catch up.
func (w *world) reconnect() {
	w.faults.Clear()
	settle()
}

// stopBeforeMetadata stops the server while metadata clients still watch. If
// they end their watches themselves, they may leave a goroutine behind: what
// reads the stream reports the end to watch.Filter of apimachinery, which sends
// it on to nobody.
func (w *world) stopBeforeMetadata() {
	w.Stop()
	synctest.Wait()
}

// pipes is a listener of connections in memory.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe.test" }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
