package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/apiservertest"
	"heliograph.example/apiserver/fault"
	"heliograph.example/apiserver/storage"
)

const (
	resource = "configmaps"
	prefix   = "/core/v1/" + resource + "/"
)

var configMaps = schema.GroupResource{Resource: resource}

// world is the server, which may stop and come back, with the history of all
// that it ever had.
type world struct {
	t         *testing.T
	script    *fault.Script
	truth     *Truth
	transport *http.Transport

	// ctx ends the followers of the storage; the goroutine of the simulation
	// waits for them.
	ctx       context.Context
	following sync.WaitGroup

	mu     sync.Mutex
	server *apiservertest.Server // nil while it is down
	// last is what the server had when it stopped.
	last *storage.Snapshot
	// trouble is why the history is not complete.
	trouble error
}

// backup is a snapshot, and the epoch it was made in.
type backup struct {
	*storage.Snapshot
	epoch int
}

func newWorld(ctx context.Context, t *testing.T) (*world, error) {
	w := &world{t: t, ctx: ctx, script: &fault.Script{}, truth: newTruth()}
	w.transport = &http.Transport{DialContext: w.dial, MaxIdleConnsPerHost: 100}
	return w, w.up()
}

// config leads clients to the server, whichever it is.
func (w *world) config() *rest.Config {
	return &rest.Config{Host: "http://simulation.test", QPS: -1, Transport: w.transport}
}

// coreClient makes a client that speaks protobuf.
func coreClient(config *rest.Config, agent string) (*corev1client.CoreV1Client, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = agent
	config.ContentType = runtime.ContentTypeProtobuf
	return corev1client.NewForConfig(config)
}

func (w *world) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if server := w.running(); server != nil {
		return server.Dial(ctx, network, addr)
	}
	return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
}

// running is the server, nil while it is down.
func (w *world) running() *apiservertest.Server {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.server
}

// up starts a server that has what the one before had.
func (w *world) up() error {
	if w.running() != nil {
		return nil
	}
	server := apiservertest.Start(w.t, apiserver.Options{Faults: w.script})
	if w.last != nil {
		if err := server.Restore(w.last); err != nil {
			return err
		}
	}
	if err := w.follow(server); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.server = server
	return nil
}

// down stops the server.
func (w *world) down() {
	server := w.running()
	if server == nil {
		return
	}
	w.mu.Lock()
	w.server = nil
	w.mu.Unlock()
	server.Stop()
	w.last = server.Snapshot()
	w.transport.CloseIdleConnections()
}

// follow puts all that is written from now on into the history.
func (w *world) follow(server *apiservertest.Server) error {
	after := server.Snapshot().Revision()
	watch, err := server.Backend().Watch(w.ctx, prefix, after)
	if err != nil {
		return fmt.Errorf("follow the storage: %w", err)
	}
	epoch := w.truth.now()
	w.following.Go(func() {
		defer watch.Stop()
		for {
			batch, err := watch.Next()
			if err == nil {
				err = w.note(epoch, batch.Changes)
			}
			if errors.Is(err, io.EOF) || w.ctx.Err() != nil {
				return
			}
			if err != nil {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.trouble = fmt.Errorf("follow the storage: %w", err)
				return
			}
		}
	})
	return nil
}

// note puts changes of the storage into the history.
func (w *world) note(epoch int, changes []storage.BackendChange) error {
	for _, c := range changes {
		namespace, name, _ := strings.Cut(strings.TrimPrefix(c.Key, prefix), "/")
		p := Point{Epoch: epoch, Key: types.NamespacedName{Namespace: namespace, Name: name}}
		if !c.Deleted {
			obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(c.Value, nil, nil)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Key, err)
			}
			p.State = stateOf(obj.(*corev1.ConfigMap))
		}
		p.Version = c.Revision
		w.truth.add(p)
	}
	return nil
}

// revision is that of the newest write.
func (w *world) revision() uint64 {
	if server := w.running(); server != nil {
		return server.Snapshot().Revision()
	}
	return w.last.Revision()
}

// backup keeps the present state. No write may be under way.
func (w *world) backup() backup {
	return backup{w.running().Snapshot(), w.truth.now()}
}

// restore goes back to a backup. No write may be under way.
func (w *world) restore(b backup) error {
	synctest.Wait()
	server := w.running()
	if err := server.Restore(b.Snapshot); err != nil {
		return err
	}
	w.truth.goBack(b.epoch, b.Revision())
	return w.follow(server)
}

// restart stops the server and starts one that has a backup, after a while.
func (w *world) restart(b backup, after time.Duration) error {
	synctest.Wait()
	w.down()
	time.Sleep(after)
	w.last = b.Snapshot
	w.truth.goBack(b.epoch, b.Revision())
	return w.up()
}

// mend ends everything that is wrong with the server.
func (w *world) mend() error {
	if err := w.up(); err != nil {
		return err
	}
	w.script.Clear()
	server := w.running()
	server.BlackHole(false)
	return server.Thaw()
}
