package harness

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/client-go/rest"
)

// Cluster is a running API server with its etcd. Its methods may be called by
// one goroutine at a time, except Config, Compact and Received, which may be
// called by any.
type Cluster struct {
	binary   string
	options  Options
	dir      string
	port     int
	token    string
	etcd     *embed.Etcd
	endpoint string
	server   *process // nil while the server is stopped
}

// Options change how the server runs. The zero value leaves it as it comes.
type Options struct {
	// Audit has the server write down what it is asked; see Cluster.Received.
	Audit bool
	// Uncached names resources, such as "podtemplates", that the server reads
	// from etcd each time: it keeps no watch cache of them.
	Uncached []string
}

// Start starts etcd and kube-apiserver and returns when the server is ready and
// the namespace "default" exists. binary is the path of kube-apiserver, see
// kubeapi.Binary. If ctx ends before, all is stopped again and the error carries
// the end of the server's log.
func Start(ctx context.Context, binary string, options Options) (*Cluster, error) {
	if binary == "" {
		return nil, errors.New("harness: no path of a kube-apiserver")
	}
	// A short path: the sockets of etcd live here. TMPDIR is often too long.
	dir, err := os.MkdirTemp("", "hg")
	if err != nil {
		return nil, fmt.Errorf("harness: %w", err)
	}
	c := &Cluster{binary: binary, options: options, dir: dir, token: rand.Text()}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("harness: %w", err), c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) (err error) {
	if err := writeCredentials(c.dir, c.token); err != nil {
		return err
	}
	if c.port, err = freePort(); err != nil {
		return err
	}
	if c.etcd, c.endpoint, err = startEtcd(ctx, c.dir); err != nil {
		return err
	}
	return c.StartServer(ctx)
}

// Config returns a new configuration for clients, with the rights of a cluster
// administrator, JSON as its format and no limit on the rate of requests.
func (c *Cluster) Config() *rest.Config {
	return &rest.Config{
		Host:        fmt.Sprintf("https://127.0.0.1:%d", c.port),
		BearerToken: c.token,
		QPS:         -1,
		TLSClientConfig: rest.TLSClientConfig{
			// The server signs its own certificate when it first starts.
			CAFile: filepath.Join(c.dir, "certs", "apiserver.crt"),
		},
	}
}

// StartServer starts kube-apiserver again after [Cluster.StopServer] and waits
// until it is ready. It listens where it did before.
func (c *Cluster) StartServer(ctx context.Context) error {
	if c.server != nil {
		return errors.New("kube-apiserver is running already")
	}
	flags, err := c.flags()
	if err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	server, err := startProcess(c.binary, flags, filepath.Join(c.dir, "kube-apiserver.log"))
	if err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	if err := server.waitReady(ctx, c.Config()); err != nil {
		return errors.Join(fmt.Errorf("kube-apiserver: %w", err), server.stop())
	}
	c.server = server
	return nil
}

// StopServer ends kube-apiserver and breaks its connections; etcd and the data
// stay. Stopping a stopped server does nothing.
func (c *Cluster) StopServer() error {
	if c.server == nil {
		return nil
	}
	server := c.server
	c.server = nil
	return server.stop()
}

// KillServer ends kube-apiserver without a word to its clients, as a crash does.
// For a stopped server it does nothing.
func (c *Cluster) KillServer() error {
	if c.server == nil {
		return nil
	}
	server := c.server
	c.server = nil
	return server.kill()
}

// Log returns the end of kube-apiserver's log, for the message of a failed test.
func (c *Cluster) Log() string {
	return logTail(filepath.Join(c.dir, "kube-apiserver.log"))
}

// Stop ends kube-apiserver and etcd and removes their data.
func (c *Cluster) Stop() error {
	err := c.StopServer()
	if c.etcd != nil {
		c.etcd.Close()
		c.etcd = nil
	}
	return errors.Join(err, os.RemoveAll(c.dir))
}

func (c *Cluster) flags() ([]string, error) {
	key := filepath.Join(c.dir, keyFile)
	flags := []string{
		"--etcd-servers=" + c.endpoint,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		fmt.Sprintf("--secure-port=%d", c.port),
		"--cert-dir=" + filepath.Join(c.dir, "certs"),
		"--token-auth-file=" + filepath.Join(c.dir, tokenFile),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + key,
		"--service-account-signing-key-file=" + key,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--endpoint-reconciler-type=none",
		"--disable-admission-plugins=ServiceAccount",
		"--enable-priority-and-fairness=false",
		"--max-requests-inflight=0",
		"--max-mutating-requests-inflight=0",
	}
	for _, resource := range c.options.Uncached {
		flags = append(flags, "--watch-cache-sizes="+resource+"#0")
	}
	if !c.options.Audit {
		return flags, nil
	}
	audit, err := auditFlags(c.dir)
	return append(flags, audit...), err
}

// freePort returns a port on which nobody listens now.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}

// readyPoll is the pause between two questions whether the server is ready.
const readyPoll = 50 * time.Millisecond
