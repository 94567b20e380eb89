// Command tail prints every change of a resource, with the fields that differ, as
// "kubectl get -w" should: it survives whatever happens to the connection, tells each
// change once, and says what changed.
//
//	go run ./examples/tail                                   # a world of its own
//	go run ./examples/tail -kubeconfig ~/.kube/config -n shop deploy
//	go run ./examples/tail -kubeconfig ~/.kube/config -A -l app=web pods
//
// Without -kubeconfig it starts an API server of its own, in which some Deployments change
// for a few seconds. With it, it runs until it is interrupted.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	var f filter
	kubeconfig := flag.String("kubeconfig", "", "follow the cluster of this kubeconfig, until interrupted")
	flag.StringVar(&f.namespace, "n", "default", "namespace")
	all := flag.Bool("A", false, "all namespaces")
	flag.StringVar(&f.labels, "l", "", "label selector")
	flag.StringVar(&f.fields, "field-selector", "", "field selector")
	flag.Usage = func() {
		fmt.Fprintf(flag.CommandLine.Output(), "usage: tail [flags] [resource]\n")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *all {
		f.namespace = ""
	}
	f.resource = "deployments"
	switch flag.NArg() {
	case 0:
	case 1:
		f.resource = flag.Arg(0)
	default:
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *kubeconfig, f); err != nil {
		fmt.Fprintln(os.Stderr, "tail:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string, f filter) error {
	if kubeconfig == "" {
		return demonstrate(ctx, f, os.Stdout)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	return tail(ctx, config, f, os.Stdout, announce(os.Stdout))
}

// announce says what is followed.
func announce(out io.Writer) func(n int, of schema.GroupResource) {
	return func(n int, of schema.GroupResource) { fmt.Fprintf(out, "following %d %s\n", n, of) }
}
