package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"heliograph.example/e2e/harness"
	"heliograph.example/e2e/kubeapi"
)

// cluster is the one API server of this test run.
var cluster *harness.Cluster

// options are those of the cluster: the tests count what the server is asked, and
// one of them wants to meet etcd without a cache in between.
var options = harness.Options{Audit: true, Uncached: []string{podTemplates.plural}}

// readyLimit is ample for a server that needs ten seconds on an idle machine.
const readyLimit = 3 * time.Minute

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	binary, err := kubeapi.Binary(context.Background(), os.Stderr)
	if err != nil {
		return 1, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyLimit)
	defer cancel()
	began := time.Now()
	if cluster, err = harness.Start(ctx, binary, options); err != nil {
		return 1, err
	}
	fmt.Printf("kube-apiserver and etcd are ready after %v\n", time.Since(began).Round(time.Millisecond))
	code = m.Run()
	if code != 0 {
		fmt.Println(cluster.Log())
	}
	return code, cluster.Stop()
}
