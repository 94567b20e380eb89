package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"heliograph.example/apiserver"
	"heliograph.example/apiserver/fault"
	"heliograph.example/controller"
	"heliograph.example/informer"
)

// patience is how long the store may take to settle after the last write.
const patience = time.Minute

type options struct {
	kubeconfig  string
	deployments int
	podsEach    int
	workers     int
}

// run is the whole program. It returns when everything it started has ended.
func run(ctx context.Context, opts options, out io.Writer) error {
	if opts.deployments < 1 || opts.podsEach < 1 {
		return fmt.Errorf("-deployments is %d and -pods is %d; both must be at least 1", opts.deployments, opts.podsEach)
	}
	p := newProgress(out)
	faults := &fault.Script{}
	config, server, err := connect(ctx, opts, faults, p)
	if err != nil {
		return err
	}
	if server != nil {
		defer server.Stop()
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory, err := informer.NewFactory(config, informer.FactoryOptions{})
	if err != nil {
		return err
	}
	w := world{client: client, namespace: fmt.Sprintf("quickstart-%x", time.Now().UnixNano()), progress: p}
	if err := w.createNamespace(ctx); err != nil {
		return err
	}
	defer cleanUp(ctx, w, p)
	counter, err := newReadyCounter(ctx, factory, client, w.namespace)
	if err != nil {
		return err
	}
	ready, err := counter.controller(opts.workers)
	if err != nil {
		return err
	}
	return walker{p, server, faults, factory, w, counter, ready}.walk(ctx, opts)
}

// connect starts the embedded server, or finds the cluster of the kubeconfig, for
// which the returned server is nil.
func connect(ctx context.Context, opts options, faults *fault.Script, p *progress) (*rest.Config, *apiserver.Server, error) {
	if opts.kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", opts.kubeconfig)
		if err == nil {
			p.step("using the cluster at %s", config.Host)
		}
		return config, nil, err
	}
	// The server outlives ctx, so that an interrupted run can still end cleanly.
	began := time.Now()
	server, err := apiserver.Start(context.WithoutCancel(ctx), apiserver.Options{Faults: faults})
	if err != nil {
		return nil, nil, err
	}
	config := server.Config()
	p.step("embedded API server at %s, started in %v", config.Host, time.Since(began).Round(10*time.Microsecond))
	return config, server, nil
}

// cleanUp deletes the namespace, also after an interrupt.
func cleanUp(ctx context.Context, w world, p *progress) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := w.deleteNamespace(ctx); err != nil {
		p.step("could not delete namespace %s: %v", w.namespace, err)
	}
}

// walker is what a walk needs. server and faults are nil on a cluster.
type walker struct {
	*progress
	server  *apiserver.Server
	faults  *fault.Script
	factory *informer.Factory
	world   world
	counter *readyCounter
	ready   *controller.Controller
}

// walk runs informers and controller, changes the world under them, and compares.
func (w walker) walk(ctx context.Context, opts options) error {
	running, stop := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer func() {
		stop()
		background.Wait()
		w.factory.Stop()
	}()
	w.factory.Start(running)
	if err := w.factory.Wait(ctx); err != nil {
		return err
	}
	w.step("the informers for Deployments and Pods are synced")
	ended := make(chan error, 1)
	background.Go(func() { ended <- w.ready.Run(running) })
	background.Go(func() { w.every(running, w.line) })
	if err := w.play(ctx, opts); err != nil {
		return err
	}
	w.step("%s", w.line())
	c, err := w.counter.settle(ctx, w.world.namespace, patience)
	if err != nil {
		return err
	}
	w.step("store and server agree")
	if err := w.summary(c); err != nil {
		return err
	}
	stop()
	return <-ended
}

// play changes the world, and lets the embedded server do the same to the
// informers.
func (w walker) play(ctx context.Context, opts options) error {
	n, pods := opts.deployments, opts.podsEach
	w.step("creating %d Deployments with %d Pods each", n, pods)
	if err := w.world.populate(ctx, 0, n/2, pods); err != nil {
		return err
	}
	if w.server != nil {
		w.step("the server drops the watch on Pods")
		w.server.DropWatches(schema.GroupResource{Resource: "pods"})
	}
	if err := w.world.populate(ctx, n/2, n, pods); err != nil {
		return err
	}
	if w.server != nil {
		w.step("the server drops the watch on Deployments and refuses others: what happens now is missed")
		if err := w.interrupt(schema.GroupResource{Group: "apps", Resource: "deployments"}); err != nil {
			return err
		}
	}
	w.step("deleting some of them")
	if err := w.world.thin(ctx, n, pods); err != nil || w.server == nil {
		return err
	}
	w.step("the server forgets its history: the watch on Deployments will meet a 410")
	if err := w.server.Compact(ctx); err != nil {
		return err
	}
	w.faults.Clear()
	return nil
}

// interrupt ends the watches on a resource and refuses others with 503 until the
// faults are cleared. To refuse a number of them would not do: on a slow machine
// the last retry could come while the history is still there.
func (w walker) interrupt(resource schema.GroupResource) error {
	if err := w.faults.Add(fault.Fault{Verb: "watch", Resource: resource, Code: http.StatusServiceUnavailable}); err != nil {
		return err
	}
	w.server.DropWatches(resource)
	return nil
}

// line says how far things are.
func (w walker) line() string {
	s := w.ready.Status()
	return fmt.Sprintf("%d writes; the store has %d Deployments and %d Pods; %d reconciles, %d retries",
		w.writes.Load(), w.counter.deployments.Store().Len(), w.counter.pods.Store().Len(), s.Reconciles, s.Errors)
}
