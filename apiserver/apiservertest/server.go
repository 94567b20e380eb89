package apiservertest

import (
	"context"
	"net"
	"net/http"
	"testing"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/fault"
)

// Agent is the user agent of the clients that a test has of this package:
// [Server.Client], [Server.Dynamic], [Server.Load] and [History.Replay].
// [Server.Log] leaves their requests out.
const Agent = "apiservertest"

// Server is a server that belongs to a test. Its methods end the test with
// t.Fatal if they cannot do what they are asked for, so they are for the
// goroutine of the test; those of [apiserver.Server] are for any.
type Server struct {
	*apiserver.Server
	// Faults is the script of what goes wrong: that of the options, or an
	// empty one. [Server.Break] adds to it.
	Faults *fault.Script

	t         testing.TB
	dial      func(ctx context.Context, network, addr string) (net.Conn, error)
	transport *http.Transport
}

// Start starts a server for a test and stops it at the end of the test, after
// the cleanup functions that were registered later, as those of clients are.
// Without a Listener in the options, connections are made in memory: then it
// can be called in a bubble of testing/synctest, too, and the server is reached
// by its Config alone. If the test fails, what clients asked for and what was
// written is logged.
func Start(t testing.TB, opts apiserver.Options) *Server {
	t.Helper()
	if opts.Faults == nil {
		opts.Faults = &fault.Script{}
	}
	s := &Server{Faults: opts.Faults, t: t, dial: (&net.Dialer{}).DialContext}
	if opts.Listener == nil {
		l := newListener()
		opts.Listener, s.dial = l, l.dial
	}
	// The context of a test ends before its cleanup functions are called, and
	// those may still need the server.
	server, err := apiserver.Start(context.WithoutCancel(t.Context()), opts)
	if err != nil {
		t.Fatal(err)
	}
	s.Server = server
	s.transport = &http.Transport{DialContext: s.dial, MaxIdleConnsPerHost: 100}
	t.Cleanup(s.end)
	return s
}

// end reports, stops the server, and closes the connections of clients that are
// idle, so that no goroutine is left of them.
func (s *Server) end() {
	if s.t.Failed() {
		s.report()
	}
	s.Stop()
	s.transport.CloseIdleConnections()
}

// Config returns a configuration for clients of the server, without a limit on
// their requests. Each call returns a new one, to be changed at will, but its
// Transport has to stay: it is the way to the server.
func (s *Server) Config() *rest.Config {
	config := s.Server.Config()
	config.Transport = s.transport
	return config
}

// Dial opens a connection to the server, for tests that speak HTTP themselves.
// The network and the address are ignored if the server listens in memory.
func (s *Server) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return s.dial(ctx, network, addr)
}

// ownConfig is a configuration for the test itself.
func (s *Server) ownConfig() *rest.Config {
	config := s.Config()
	config.UserAgent = Agent
	return config
}

// Client returns a typed client for the test itself.
func (s *Server) Client() kubernetes.Interface {
	s.t.Helper()
	client, err := kubernetes.NewForConfig(s.ownConfig())
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// Dynamic returns a dynamic client for the test itself.
func (s *Server) Dynamic() dynamic.Interface {
	s.t.Helper()
	client, err := dynamic.NewForConfig(s.ownConfig())
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// Break adds faults to the script of the server; see package fault for what
// they can be. s.Faults.Clear() ends them all.
func (s *Server) Break(faults ...fault.Fault) {
	s.t.Helper()
	if err := s.Faults.Add(faults...); err != nil {
		s.t.Fatal(err)
	}
}
