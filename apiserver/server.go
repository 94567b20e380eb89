package apiserver

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"heliograph.example/apiserver/cacher"
	"heliograph.example/apiserver/endpoints"
	"heliograph.example/apiserver/fault"
	"heliograph.example/apiserver/storage"
)

// stopGrace is how long Stop waits for requests to end by themselves before it
// closes their connections. Watches end at once; what may take longer is a
// client that does not read its answer.
const stopGrace = 2 * time.Second

// Server is a running API server: see the package documentation. Its methods
// are safe for concurrent use.
type Server struct {
	handler  *endpoints.Handler
	stores   *stores
	network  *fault.Network
	http     *http.Server
	conns    *connections
	cancel   context.CancelFunc
	detach   func() bool // from the context of Start
	serving  sync.WaitGroup
	stopping sync.Once
	stopped  chan struct{}
}

// Start starts a server. It runs until [Server.Stop] is called or ctx ends. An
// error means that the options make no sense or that there is no port to
// listen on; then nothing runs.
func Start(ctx context.Context, opts Options) (*Server, error) {
	if opts.Scheme == nil {
		opts.Scheme = scheme.Scheme
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start an API server: %w", err)
	}
	if opts.WatchBacklog < 0 {
		return nil, fmt.Errorf("start an API server: %w: backlog of %d events", cacher.ErrInvalidOptions, opts.WatchBacklog)
	}
	serverCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &Server{
		stores:  newStores(serverCtx, opts.Scheme),
		conns:   newConnections(),
		cancel:  cancel,
		stopped: make(chan struct{}),
	}
	s.stores.backlog = opts.WatchBacklog
	if err := s.prepare(opts); err != nil {
		cancel()
		return nil, err
	}
	s.http = &http.Server{
		Handler:     s.handler,
		BaseContext: func(net.Listener) context.Context { return serverCtx },
		ConnContext: fault.ConnContext,
		ConnState:   s.conns.track,
		ErrorLog:    quietLog(serverCtx),
	}
	s.serving.Go(func() {
		err := s.http.Serve(s.network)
		if !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			klog.FromContext(serverCtx).Error(err, "The listener of an API server failed", "addr", s.Addr())
		}
	})
	s.detach = context.AfterFunc(ctx, s.shutdown)
	return s, nil
}

// prepare makes the handler and the listener.
func (s *Server) prepare(opts Options) error {
	handler, err := endpoints.NewHandler(endpoints.Config{
		Scheme: opts.Scheme, Storage: s.stores.open, Faults: opts.Faults, ShardSelector: opts.ShardSelector,
	})
	if err != nil {
		return fmt.Errorf("start an API server: %w", err)
	}
	s.handler = handler
	if err := handler.Register(builtinResources(opts.Scheme)...); err != nil {
		return fmt.Errorf("start an API server: %w", err)
	}
	if err := s.Register(opts.Resources...); err != nil {
		return fmt.Errorf("start an API server: %w", err)
	}
	listener := opts.Listener
	if listener == nil {
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return fmt.Errorf("start an API server: %w", err)
		}
	}
	s.network = fault.NewNetwork(listener)
	return nil
}

// Register serves more custom resources from now on. If one of them makes no
// sense or is served already, the error says which, and none is added.
func (s *Server) Register(resources ...Resource) error {
	described := make([]endpoints.Resource, 0, len(resources))
	for _, r := range resources {
		d, err := r.served()
		if err != nil {
			return err
		}
		described = append(described, d)
	}
	return s.handler.Register(described...)
}

// Addr is the address that the server listens on, as host and port.
func (s *Server) Addr() string { return s.network.Addr().String() }

// Config returns a configuration for clients of the server, without a limit
// on their requests. Each call returns a new one, to be changed at will.
func (s *Server) Config() *rest.Config {
	return &rest.Config{Host: "http://" + s.Addr(), QPS: -1}
}

// Stop stops the server and waits until all its goroutines have ended. Open
// watches end cleanly. It may be called more than once, also after the context
// of [Start] has ended.
func (s *Server) Stop() {
	s.detach()
	s.shutdown()
}

// shutdown does the work of Stop, once; every caller waits for it.
func (s *Server) shutdown() {
	s.stopping.Do(func() {
		defer close(s.stopped)
		// Requests end with their context. What they answered has to go out
		// before connections are closed, so that watches end cleanly.
		s.http.SetKeepAlivesEnabled(false)
		s.cancel()
		// Closing a listener fails only if it is closed already.
		_ = s.network.Close()
		// What is in a black hole would never end.
		s.network.Abandon()
		late := make(chan struct{})
		timer := time.AfterFunc(stopGrace, func() { close(late) })
		wait(s.conns.quiet, late)
		timer.Stop()
		_ = s.http.Close()
		s.network.Abandon()
		wait(s.conns.none, nil)
		s.serving.Wait()
		s.stores.wait()
	})
	<-s.stopped
}

// Requests returns the requests to resources that were answered so far, in the
// order in which the answers began; a watch is there as soon as it is open. Of
// very many only the newest are kept (at least 10,000).
func (s *Server) Requests() []endpoints.Request { return s.handler.Requests() }

// CatchUp waits until every open watch whose request which accepts (nil means
// all of them) has been told everything that was committed before the call, and
// returns the newest resource version of that moment. Watches that permit
// bookmarks are sent one, so that clients know the version, too, if they have
// not been told of it by an event. A client that has no watch open at the moment
// is not waited for. If ctx ends, the error names the watches that lag.
func (s *Server) CatchUp(ctx context.Context, which func(endpoints.Request) bool) (version uint64, err error) {
	version, err = s.stores.backend.CurrentRevision(ctx)
	if err == nil {
		err = s.handler.CatchUp(ctx, version, which)
	}
	if err != nil {
		return 0, fmt.Errorf("catch up: %w", err)
	}
	return version, nil
}

// Backend is the storage below all resources, for tests that want to look at
// it.
func (s *Server) Backend() storage.Backend { return s.stores.backend }

// quietLog is a logger for net/http, whose messages are about clients that went
// away and connections that a fault has reset.
func quietLog(ctx context.Context) *log.Logger {
	return log.New(logWriter{klog.FromContext(ctx)}, "", 0)
}

// logWriter sends lines of net/http to the log of a context.
type logWriter struct{ logger klog.Logger }

// Write logs one line.
func (w logWriter) Write(line []byte) (int, error) {
	w.logger.V(2).Info(strings.TrimSpace(string(line)))
	return len(line), nil
}
