package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	"heliograph.example/apiserver"
	"heliograph.example/e2e/harness"
)

const (
	// serveVariable makes this program one of the servers, and binaryVariable
	// is where its kube-apiserver is.
	serveVariable  = "HELIOGRAPH_THROUGHPUT_SERVE"
	binaryVariable = "HELIOGRAPH_THROUGHPUT_BINARY"

	genuineServer = "kube-apiserver"
	ourServer     = "heliograph"

	// readyLimit is ample for a kube-apiserver that needs ten seconds on an
	// idle machine.
	readyLimit = 3 * time.Minute
)

// endpoint is how clients reach a server, and which process it is.
type endpoint struct {
	Host  string
	Token string
	CA    []byte
	PID   int
}

// config returns a configuration for clients. It is the same for both servers
// but for the address.
func (e endpoint) config(media string) *rest.Config {
	return &rest.Config{
		Host: e.Host, BearerToken: e.Token, QPS: -1, DisableCompression: true,
		TLSClientConfig: rest.TLSClientConfig{CAData: e.CA, NextProtos: []string{"http/1.1"}},
		ContentConfig:   rest.ContentConfig{ContentType: media, AcceptContentTypes: media},
	}
}

// serve runs a server until in ends: it ends with the process that started it.
// Where the server is it writes to out.
func serve(ctx context.Context, which, binary string, in io.Reader, out io.Writer) (err error) {
	var e endpoint
	switch which {
	case genuineServer:
		ctx, cancel := context.WithTimeout(ctx, readyLimit)
		defer cancel()
		cluster, startErr := harness.Start(ctx, binary, harness.Options{})
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, cluster.Stop()) }()
		config := cluster.Config()
		e.Host, e.Token = config.Host, config.BearerToken
		if e.CA, err = os.ReadFile(config.CAFile); err != nil {
			return err
		}
	case ourServer:
		var stop func()
		if e, stop, err = startOurs(ctx); err != nil {
			return err
		}
		defer stop()
	default:
		return fmt.Errorf("no server is called %q", which)
	}
	e.PID = os.Getpid()
	if err := json.NewEncoder(out).Encode(e); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// startOurs starts the embedded server behind TLS, as the other one is.
func startOurs(ctx context.Context) (endpoint, func(), error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return endpoint{}, nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return endpoint{}, nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return endpoint{}, nil, err
	}
	secure := tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}})
	server, err := apiserver.Start(ctx, apiserver.Options{Listener: secure})
	if err != nil {
		return endpoint{}, nil, errors.Join(err, listener.Close())
	}
	return endpoint{Host: "https://" + server.Addr(), CA: certificate, PID: os.Getpid()}, server.Stop, nil
}

// child is a server in a process of its own.
type child struct {
	endpoint endpoint
	cmd      *exec.Cmd
	in       io.Closer
}

// startServer starts this program again as a server, and waits until it serves.
func startServer(ctx context.Context, which, binary string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.CommandContext(ctx, self)}
	c.cmd.Cancel = func() error { return c.in.Close() }
	c.cmd.WaitDelay = 30 * time.Second
	c.cmd.Env = append(os.Environ(), serveVariable+"="+which, binaryVariable+"="+binary)
	errs := new(bytes.Buffer)
	c.cmd.Stderr = errs
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &c.endpoint)
	}
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("starting %s: %w: %s", which, err, strings.TrimSpace(errs.String()))
	}
	return c, nil
}

// stop ends the server and waits for it. How it ends does not matter any more.
func (c *child) stop() {
	_ = c.in.Close()
	_ = c.cmd.Wait()
}
