package apiserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"heliograph.example/apiserver"
)

// pipes is a listener whose connections are in memory, so that a server and its
// clients can live in a bubble of testing/synctest.
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

func TestAServerAndItsInformersLiveInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := newPipes()
		s, err := apiserver.Start(t.Context(), apiserver.Options{Listener: listener})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Stop()
		transport := &http.Transport{DialContext: listener.dial}
		defer transport.CloseIdleConnections()
		c, err := kubernetes.NewForConfigAndClient(s.Config(), &http.Client{Transport: transport})
		if err != nil {
			t.Fatal(err)
		}
		maps := c.CoreV1().ConfigMaps("a")
		if _, err := maps.Create(t.Context(), configMap("m"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		factory := informers.NewSharedInformerFactory(c, 0)
		informer := factory.Core().V1().ConfigMaps().Informer()
		stop := make(chan struct{})
		factory.Start(stop)
		defer factory.Shutdown()
		defer close(stop)
		cache.WaitForCacheSync(stop, informer.HasSynced)
		for hour := range 5 {
			time.Sleep(time.Hour)
			if _, err := maps.Create(t.Context(), configMap(fmt.Sprint("n", hour)), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if n := len(informer.GetStore().List()); n != 6 {
			t.Errorf("the informer has %d objects, want 6", n)
		}
		lists, watches := 0, 0
		for _, r := range s.Requests() {
			switch r.Verb {
			case "list":
				lists++
			case "watch":
				watches++
			}
		}
		// client-go ends its watches after 5 to 10 minutes.
		if lists != 0 || watches < 30 || watches > 65 {
			t.Errorf("%d lists and %d watches in five hours", lists, watches)
		}
	})
}

func TestAClientThatDoesNotReadCannotHoldTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := newPipes()
		s, err := apiserver.Start(t.Context(), apiserver.Options{Listener: listener})
		if err != nil {
			t.Fatal(err)
		}
		conn, err := listener.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET /api/v1/configmaps?watch=1&timeoutSeconds=600 HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		// A pipe has no buffer: the header is read, and no event is.
		head, err := bufio.NewReaderSize(conn, 16).ReadString('\n')
		if err != nil || !strings.HasPrefix(head, "HTTP/1.1 200") {
			t.Fatalf("%q, %v", head, err)
		}
		synctest.Wait()
		begin := time.Now()
		s.Stop()
		if d := time.Since(begin); d > time.Second {
			t.Errorf("it took %v, more than a second, of the time in the bubble", d)
		}
	})
}
