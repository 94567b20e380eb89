package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"heliograph.example/indexer"
)

// errDiffers is returned when the store and the server do not agree.
var errDiffers = errors.New("the store differs from the server")

// comparison is what a LIST of the server says beside what the stores hold.
type comparison struct {
	deployments, pods, maps int
	difference              string
}

// settle compares again and again until store and server agree, ctx ends, or
// patience does.
func (r *readyCounter) settle(ctx context.Context, namespace string, patience time.Duration) (comparison, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := r.compare(ctx, namespace)
		if err == nil && c.difference == "" {
			return c, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if c.difference != "" {
				err = fmt.Errorf("%w: %s", errDiffers, c.difference)
			}
			return c, errors.Join(err, context.Cause(ctx))
		}
	}
}

// compare lists the server once and looks for a difference: in the stores, object
// by object and version by version, and in the ConfigMaps that the controller has
// written.
func (r *readyCounter) compare(ctx context.Context, namespace string) (comparison, error) {
	var c comparison
	deployments, err := r.client.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return c, err
	}
	pods, err := r.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return c, err
	}
	c.deployments, c.pods = len(deployments.Items), len(pods.Items)
	ready := make(map[string]int, c.deployments)
	versions := make(map[types.NamespacedName]string, c.deployments)
	for _, d := range deployments.Items {
		ready[d.Name] = 0
		versions[types.NamespacedName{Namespace: d.Namespace, Name: d.Name}] = d.ResourceVersion
	}
	c.difference = differs("Deployments", versions, r.deployments.Store())
	clear(versions)
	for _, p := range pods.Items {
		versions[types.NamespacedName{Namespace: p.Namespace, Name: p.Name}] = p.ResourceVersion
		if _, ok := ready[p.Labels[deploymentLabel]]; ok && isReady(&p) {
			ready[p.Labels[deploymentLabel]]++
		}
	}
	if c.difference == "" {
		c.difference = differs("Pods", versions, r.pods.Store())
	}
	if c.difference == "" {
		c.maps, c.difference, err = checkMaps(ctx, r.client, namespace, ready)
	}
	return c, err
}

// differs says how the store differs from the versions that a LIST gave, or "".
func differs[T any](what string, listed map[types.NamespacedName]string, store indexer.Reader[T]) string {
	held := 0
	for e := range store.Entries() {
		held++
		if v, ok := listed[e.Key]; !ok {
			return fmt.Sprintf("%s: the store has %s, the server has not", what, e.Key)
		} else if v != e.Version {
			return fmt.Sprintf("%s: the store has %s at version %s, the server at %s", what, e.Key, e.Version, v)
		}
	}
	if held != len(listed) {
		return fmt.Sprintf("%s: the store has %d objects, the server %d", what, held, len(listed))
	}
	return ""
}

// checkMaps compares what the controller has written with what it should have.
func checkMaps(ctx context.Context, client kubernetes.Interface, namespace string, ready map[string]int) (int, string, error) {
	maps, err := client.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, "", err
	}
	found := make(map[string]string, len(maps.Items))
	for _, m := range maps.Items {
		if n, ok := m.Data["ready"]; ok {
			found[m.Name] = n
		}
	}
	for name, n := range ready {
		if got := found[mapName(name)]; got != strconv.Itoa(n) {
			return len(found), fmt.Sprintf("Deployment %s has %d ready Pods, its ConfigMap says %q", name, n, got), nil
		}
	}
	if len(found) != len(ready) {
		return len(found), fmt.Sprintf("%d ConfigMaps for %d Deployments", len(found), len(ready)), nil
	}
	return len(found), "", nil
}

// summary prints what was compared and what was survived. On the embedded server
// it fails if the disturbances have left no trace: then nothing was shown.
func (w walker) summary(c comparison) error {
	fmt.Fprintf(w.out, "\n  server       %d Deployments, %d Pods, %d ConfigMaps written by the controller\n", c.deployments, c.pods, c.maps)
	fmt.Fprintf(w.out, "  store        equal to a LIST, object by object and version by version\n")
	for _, s := range w.factory.Status() {
		fmt.Fprintf(w.out, "  informer     %s\n", s)
		fmt.Fprintf(w.out, "               %d streaming lists, %d pages, %d watches resumed\n", s.Reader.Streams, s.Reader.Pages, s.Reader.Watches)
	}
	s := w.ready.Status()
	fmt.Fprintf(w.out, "  controller   %d reconciles, %d errors retried, %d panics\n", s.Reconciles, s.Errors, s.Panics)
	if w.server == nil {
		return nil
	}
	if w.counter.pods.Status().Reader.Watches == 0 {
		return errors.New("the dropped watch has left no trace")
	}
	if r := w.counter.deployments.Status().Reader; r.Streams+r.Pages < 2 {
		return errors.New("the 410 has left no trace")
	}
	return nil
}
