// Command dropin shows what it takes to move a controller over from client-go: three
// import lines.
//
// before/welcome.go is a controller as it is written for client-go, with its informer
// factory, listers and rate limiting queue. after/welcome.go is the same file with other
// imports. The command runs both, each on an API server of its own, and prints how they
// differ.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	theirs "k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"heliograph.example/apiserver"
	ours "heliograph.example/clientgo/informers"
	after "heliograph.example/examples/dropin/after"
	before "heliograph.example/examples/dropin/before"
)

//go:embed before/welcome.go
var beforeText string

//go:embed after/welcome.go
var afterText string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// controller is what both are.
type controller interface {
	Run(ctx context.Context, workers int) error
}

// run runs the one and the other, and shows the difference.
func run(ctx context.Context, out io.Writer) error {
	for name, create := range map[string]func(kubernetes.Interface, theirs.SharedInformerFactory) (controller, error){
		"client-go": func(c kubernetes.Interface, f theirs.SharedInformerFactory) (controller, error) {
			return before.New(c, f)
		},
		"Heliograph": func(c kubernetes.Interface, f theirs.SharedInformerFactory) (controller, error) {
			return after.New(c, f)
		},
	} {
		factory := theirs.NewSharedInformerFactory
		if name == "Heliograph" {
			factory = ours.NewSharedInformerFactory
		}
		welcomed, err := try(ctx, factory, create)
		if err != nil {
			return fmt.Errorf("the controller over %s: %w", name, err)
		}
		fmt.Fprintf(out, "over %s: %d namespaces have their ConfigMap\n", name, welcomed)
	}
	for _, line := range difference(beforeText, afterText) {
		fmt.Fprintln(out, line)
	}
	return nil
}

// try runs a controller on a server with namespaces until each has its ConfigMap.
func try(ctx context.Context, factory func(kubernetes.Interface, time.Duration) theirs.SharedInformerFactory,
	create func(kubernetes.Interface, theirs.SharedInformerFactory) (controller, error)) (welcomed int, err error) {
	server, err := apiserver.Start(context.WithoutCancel(ctx), apiserver.Options{})
	if err != nil {
		return 0, err
	}
	defer server.Stop()
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		return 0, err
	}
	informers := factory(client, 0)
	defer informers.Shutdown()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := create(client, informers)
	if err != nil {
		return 0, err
	}
	informers.StartWithContext(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, 2) }()
	welcomed, err = populate(ctx, client)
	cancel()
	return welcomed, errors.Join(err, <-ended)
}

// populate creates namespaces, deletes one ConfigMap, and waits until all are there.
func populate(ctx context.Context, client kubernetes.Interface) (welcomed int, err error) {
	const namespaces = 10
	for n := range namespaces {
		namespace := namespaceOf(n)
		if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return 0, err
		}
	}
	complete := func(ctx context.Context) (bool, error) {
		list, err := client.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=welcome"})
		if err != nil {
			return false, err
		}
		welcomed = len(list.Items)
		return welcomed >= namespaces, nil
	}
	if err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, complete); err != nil {
		return welcomed, err
	}
	if err := client.CoreV1().ConfigMaps(namespaceOf(0).Name).Delete(ctx, "welcome", metav1.DeleteOptions{}); err != nil {
		return welcomed, err
	}
	return welcomed, wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, time.Minute, true, complete)
}

// difference has the lines that one text has and the other has not.
func difference(before, after string) (lines []string) {
	old, now := strings.Split(before, "\n"), strings.Split(after, "\n")
	for _, line := range old {
		if !slices.Contains(now, line) {
			lines = append(lines, "- "+strings.TrimSpace(line))
		}
	}
	for _, line := range now {
		if !slices.Contains(old, line) {
			lines = append(lines, "+ "+strings.TrimSpace(line))
		}
	}
	return lines
}

func namespaceOf(n int) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("team-%d", n)}}
}
