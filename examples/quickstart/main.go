// Command quickstart shows the whole walk of an object: from an API server
// through an informer and its store to handlers, a work queue and workers.
//
// It counts, for each Deployment, the Pods that are ready, and writes the count
// to a ConfigMap. Without flags it starts an API server of its own and fills it
// with Deployments and Pods while the controller runs; on the way it loses a
// watch and meets a 410. With -kubeconfig it does the same in a namespace of its
// own on a cluster. It ends with a summary that compares the store with a LIST of
// the server, and exits with 0 only if they are equal.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	var opts options
	flag.StringVar(&opts.kubeconfig, "kubeconfig", "", "use the cluster of this kubeconfig instead of the embedded server")
	flag.IntVar(&opts.deployments, "deployments", 60, "number of Deployments to create")
	flag.IntVar(&opts.podsEach, "pods", 5, "number of Pods to create for each Deployment")
	flag.IntVar(&opts.workers, "workers", 4, "number of workers of the controller")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(exitCode(ctx, run(ctx, opts, os.Stdout), os.Stderr))
}

// exitCode reports err, and tells an interrupt from a failure.
func exitCode(ctx context.Context, err error, w io.Writer) int {
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(w, "interrupted; everything has been stopped")
		return 130
	default:
		fmt.Fprintln(w, "quickstart:", err)
		return 1
	}
}
