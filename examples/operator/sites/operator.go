// Package sites is a small but whole operator: for each Site it keeps a ConfigMap with
// the page, a Deployment that serves it and a Service in front, and reports in the status
// of the site how that goes.
package sites

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"

	"heliograph.example/controller"
	"heliograph.example/controller/health"
	"heliograph.example/controller/leader"
	"heliograph.example/examples/operator/site"
	"heliograph.example/informer"
)

// Options say how an operator runs.
type Options struct {
	// Namespace is where the Lease is. It must be set.
	Namespace string
	// Workers is the number of sites that are worked on at the same time.
	Workers int
	// Lease is how long others wait after the last renewal of the lease before one
	// of them takes over, in whole seconds. 0 means 15 seconds.
	Lease time.Duration
}

// Operator keeps sites served.
type Operator struct {
	// Register has the pages that are served.
	Register Register

	client      kubernetes.Interface
	custom      *site.Client
	factory     *informer.Factory
	sites       *informer.Informer[*site.Site]
	configMaps  *informer.Informer[*corev1.ConfigMap]
	services    *informer.Informer[*corev1.Service]
	deployments *informer.Informer[*appsv1.Deployment]
	controller  *controller.Controller
	election    *leader.Election
	broadcaster events.EventBroadcaster
	recorder    events.EventRecorder
}

// New makes an operator for the server that config leads to. The server must know the
// kind Site already.
func New(ctx context.Context, config *rest.Config, opts Options) (*Operator, error) {
	// No limit on this side: the server has one, and renewals of the lease must not wait
	// behind other writes.
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	o := &Operator{client: client}
	if o.custom, err = site.NewClient(config); err != nil {
		return nil, err
	}
	if o.factory, err = informer.NewFactory(config, informer.FactoryOptions{Scheme: site.Scheme}); err != nil {
		return nil, err
	}
	if err := o.informers(ctx); err != nil {
		return nil, err
	}
	o.election, err = leader.New(leader.Options{
		Leases: client.CoordinationV1(), Namespace: opts.Namespace, Name: "site-operator", LeaseDuration: opts.Lease,
	})
	if err != nil {
		return nil, err
	}
	o.controller, err = controller.New("sites", o.reconcile, controller.Options{
		Workers: opts.Workers, Timeout: time.Minute, StopTimeout: 30 * time.Second, Leadership: o.election,
	})
	if err != nil {
		return nil, err
	}
	o.broadcaster = events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	o.recorder = o.broadcaster.NewRecorder(site.Scheme, "site-operator")
	if err := o.watch(); err != nil {
		o.broadcaster.Shutdown()
		return nil, err
	}
	return o, nil
}

// informers asks for the informers of sites and of what they own.
func (o *Operator) informers(ctx context.Context) (err error) {
	if o.sites, err = informer.For(ctx, o.factory, informer.Options[*site.Site]{}); err != nil {
		return err
	}
	if o.configMaps, err = informer.For(ctx, o.factory, informer.Options[*corev1.ConfigMap]{}); err != nil {
		return err
	}
	if o.services, err = informer.For(ctx, o.factory, informer.Options[*corev1.Service]{}); err != nil {
		return err
	}
	o.deployments, err = informer.For(ctx, o.factory, informer.Options[*appsv1.Deployment]{})
	return err
}

// watch says which changes lead to which sites. A change of its own is no news to a
// site, and a change of its status does not ask for anything.
func (o *Operator) watch() error {
	owner := site.Kind.GroupKind()
	return errors.Join(
		controller.WatchWith(o.controller, o.sites, controller.Self, controller.WatchOptions[*site.Site]{
			SkipOwn: true,
			Where: controller.Or(controller.GenerationChanged[*site.Site], controller.FieldChanged(func(s *site.Site) []string {
				return s.Finalizers
			})),
		}),
		controller.WatchWith(o.controller, o.configMaps, controller.Owner[*corev1.ConfigMap](owner), controller.WatchOptions[*corev1.ConfigMap]{SkipOwn: true}),
		controller.WatchWith(o.controller, o.services, controller.Owner[*corev1.Service](owner), controller.WatchOptions[*corev1.Service]{SkipOwn: true}),
		controller.WatchWith(o.controller, o.deployments, controller.Owner[*appsv1.Deployment](owner), controller.WatchOptions[*appsv1.Deployment]{SkipOwn: true}),
	)
}

// Run runs the operator until ctx ends, or until it leads no longer. When ctx ends, it
// finishes what it is at, gives back the lease, and returns nil.
func (o *Operator) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Caches and events outlive the workers: what ends last was begun first.
	caches, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	o.factory.Start(caches)
	defer o.factory.Stop()
	if err := o.broadcaster.StartRecordingToSinkWithContext(caches); err != nil {
		return fmt.Errorf("events: %w", err)
	}
	defer o.broadcaster.Shutdown()

	var parts sync.WaitGroup
	errs := make([]error, 2)
	for n, run := range []func(context.Context) error{o.election.Run, o.controller.Run} {
		parts.Go(func() {
			defer cancel() // neither goes on without the other
			errs[n] = run(ctx)
		})
	}
	parts.Wait()
	return errors.Join(errs...)
}

// Leads reports whether this process is the one that acts.
func (o *Operator) Leads() bool { return o.election.Leads() }

// Status is that of the controller.
func (o *Operator) Status() controller.Status { return o.controller.Status() }

// Handler answers /healthz and /readyz.
func (o *Operator) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/healthz", health.Handler(
		health.Check{Name: "sites", Func: func() error { return o.controller.Healthy(10 * time.Minute) }},
	))
	mux.Handle("/readyz", health.Handler(
		health.Check{Name: "caches", Func: health.Synced(o.factory)},
		health.Check{Name: "sites", Func: o.controller.Ready},
		health.Check{Name: "election", Func: o.election.Healthy},
	))
	return mux
}

// tell makes an event of a site.
func (o *Operator) tell(s *site.Site, kind, reason, format string, args ...any) {
	o.recorder.Eventf(s, nil, kind, reason, "Reconcile", format, args...)
}
