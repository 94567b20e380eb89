// Command build makes sure that the cache holds a kube-apiserver and prints its
// path. It exists so that "make e2e" can build before the clock of the tests
// starts to run.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"heliograph.example/e2e/kubeapi"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	path, err := kubeapi.Binary(ctx, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(path)
}
