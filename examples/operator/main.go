// Command operator is a small but whole operator: for each Site, a custom resource, it
// keeps a ConfigMap, a Deployment and a Service, and tells in the status of the site how
// that goes.
//
// Without flags it starts an API server of its own, shows what the operator does with a
// few sites in some seconds, and ends. With -kubeconfig it installs the
// CustomResourceDefinition on a cluster and runs until it is interrupted; several copies
// elect one that acts.
//
//	go run ./examples/operator
//	go run ./examples/operator -kubeconfig ~/.kube/config -namespace default
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"heliograph.example/examples/operator/sites"
)

type options struct {
	kubeconfig string
	health     string
	operator   sites.Options
}

func main() {
	var opts options
	flag.StringVar(&opts.kubeconfig, "kubeconfig", "", "run on the cluster of this kubeconfig, until interrupted")
	flag.StringVar(&opts.health, "health", "127.0.0.1:0", "address that answers /healthz and /readyz")
	flag.StringVar(&opts.operator.Namespace, "namespace", "default", "namespace of the Lease")
	flag.IntVar(&opts.operator.Workers, "workers", 4, "number of sites that are worked on at the same time")
	flag.DurationVar(&opts.operator.Lease, "lease", 0, "duration of the lease, in whole seconds; 0 means 15s")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	run := demonstrate
	if opts.kubeconfig != "" {
		run = serve
	}
	if err := run(ctx, opts, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "operator:", err)
		os.Exit(1)
	}
}

// serve runs the operator on a cluster.
func serve(ctx context.Context, opts options, out io.Writer) error {
	config, err := clientcmd.BuildConfigFromFlags("", opts.kubeconfig)
	if err != nil {
		return err
	}
	if err := install(ctx, config); err != nil {
		return err
	}
	o, err := sites.New(ctx, config, opts.operator)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", opts.health)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: o.Handler(), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	fmt.Fprintf(out, "operator on %s, health at http://%s/readyz\n", config.Host, listener.Addr())
	err = o.Run(ctx)
	err = errors.Join(err, server.Close())
	if failed := <-served; !errors.Is(failed, http.ErrServerClosed) {
		err = errors.Join(err, failed)
	}
	if err == nil {
		fmt.Fprintln(out, "stopped; the lease is free")
	}
	return err
}
